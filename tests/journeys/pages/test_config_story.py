"""An administrator's first change of a preset, told by the pages alone (04 §5.9, 5.10)."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.journeys.deployment import ROOT
from tests.journeys.pages.conftest import Gateway

pytestmark = pytest.mark.browser

with_script = pytest.mark.parametrize("context", [True], indirect=True, ids=["with script"])
without_script = pytest.mark.parametrize("context", [False], indirect=True, ids=["without script"])
KEPT_HERE = "Object.keys(sessionStorage).filter((name) => name.startsWith('unsent'))"
OLD_BLOCK = """\
pipeline:
  - cachesplit
  - extract_llm_sweep  # new
components:
  extract_llm_sweep:
    # as in our old notes
    per_output: false  # sweep only
    model: {source: config}  # cheap
"""


def source_of(page: Page) -> str:
    found: str = page.locator("#source").evaluate("area => area.value")
    return found


def clone(page: Page, name: str) -> None:
    page.get_by_role("link", name="Presets").click()
    page.get_by_role("link", name="cache", exact=True).click()
    page.get_by_label("Name").fill(name)
    page.get_by_role("button", name="Clone").click()


def offered(page: Page, wanted: str) -> None:
    """Takes what the editor offers at the cursor."""
    page.locator(".cm-tooltip-autocomplete li", has_text=re.compile(f"^{wanted}")).first.click()


def fix_each(page: Page) -> None:
    for key in ("per_output", "model"):
        page.get_by_role("button", name=re.compile(f"^Apply fix: delete {key}")).click()
        expect(page.locator("#said")).to_contain_text(f"delete {key}")
    expect(page.locator("#problem-list")).to_have_attribute("data-errors", "0")


def save_and_promote(page: Page, name: str) -> None:
    page.get_by_label("Message").fill("add the sweep")
    page.get_by_role("button", name="Save version").click()
    expect(page.get_by_text("Version 2 is saved. It works for nobody")).to_be_visible()
    page.get_by_role("link", name=name, exact=True).click()
    page.get_by_role("link", name=re.compile("^Promote… version 2")).click()
    expect(page.locator("main")).to_contain_text("This build cannot run extract_llm_sweep")
    page.get_by_label("Message").fill("it was looked over")
    page.get_by_role("button", name="Promote").click()
    expect(page.get_by_text(f"Version 2 of {name} is in force.")).to_be_visible()


def listed(page: Page) -> list[tuple[str, ...]]:
    """Severity, place, code, message and what to write instead of each problem on the page."""
    rows = page.locator("li[id^=problem-]")
    return sorted(told(rows.nth(at)) for at in range(rows.count()))


def told(row: Locator) -> tuple[str, ...]:
    def said(selector: str) -> str:
        found = row.locator(selector)
        return (found.first.text_content() or "").strip() if found.count() else ""

    place = said("[data-place]").removeprefix("line ")
    severity = said(".sev").lower()
    return severity, place, said(".problem-head code"), said("[data-message]"), said(".fix")


def printed(source: str) -> list[tuple[str, ...]]:
    """The same of `headrace validate --offline`, which exits with 3."""
    command = ("-m", "controlplane.cli.main", "validate", "--offline", "--preset")
    run = subprocess.run(
        [sys.executable, *command, "--output", "json", "-"],
        input=source.encode(), capture_output=True, cwd=ROOT, check=False,
    )  # fmt: skip
    assert run.returncode == 3, run.stderr
    (file,) = json.loads(run.stdout)["files"]
    found: list[dict[str, Any]] = [*file["errors"], *file["warnings"], *file["advice"]]
    return sorted(
        (
            one["severity"],
            f"{one['line']}:{one['column']}",
            one["code"],
            one["message"],
            one["replacement"]["text"],
        )
        for one in found
    )


@with_script
def test_whoever_never_saw_it_adds_the_sweep_to_a_clone_by_what_the_page_says(page: Page) -> None:
    """Done when 2 and 5: components, keys and corrections are all offered on the page."""
    clone(page, "careful")
    expect(page.locator("#keys")).to_contain_text("says what may stand here")
    page.locator(".cm-content").click()
    page.keyboard.press("Control+End")
    page.keyboard.type("  - extract")
    offered(page, "extract_llm_sweep")
    expect(page.locator("#problem-list")).to_contain_text(
        "no tenant can follow it while it names what cannot run"
    )
    page.keyboard.type("  # new\n")
    page.keyboard.press("Shift+Tab")
    page.keyboard.type("comp")
    offered(page, "components")
    page.keyboard.type("extract_llm")
    offered(page, "extract_llm_sweep")
    page.keyboard.press("Control+Space")
    expect(page.locator(".cm-tooltip-autocomplete li")).to_contain_text(
        ["econ_trigger", "evidence", "min_inventory"]
    )
    page.keyboard.press("Escape")
    page.keyboard.type("per_output: false  # sweep only\nmodel: {source: config}  # cheap")

    expect(page.locator(".cm-lintRange-error")).to_have_text(["per_output", "model"])
    expect(page.get_by_role("button", name="Save version")).to_be_disabled()
    assert listed(page) == printed(source_of(page))
    fix_each(page)
    assert all(comment in source_of(page) for comment in ("# new", "# sweep only", "# cheap"))
    save_and_promote(page, "careful")


@without_script
def test_the_same_is_done_without_script(page: Page) -> None:
    clone(page, "careful-too")
    page.get_by_label("Document, YAML").fill(OLD_BLOCK)
    page.get_by_label("Message").fill("add the sweep")
    page.get_by_role("button", name="Save version").click()
    expect(page.get_by_role("heading", name="Not saved")).to_be_visible()

    assert listed(page) == printed(OLD_BLOCK)
    fix_each(page)
    for comment in ("# new", "# as in our old notes", "# sweep only", "# cheap"):
        assert comment in source_of(page)
    save_and_promote(page, "careful-too")


@with_script
def test_what_may_stand_at_the_cursor_is_offered_with_its_meaning(page: Page) -> None:
    page.goto("/config/orchid")
    for button in ("Customise", "Discard draft"):
        if page.get_by_role("button", name=button).count():
            page.get_by_role("button", name=button).click()
            page.wait_for_load_state()
    page.locator(".cm-content").click()
    choices = page.locator(".cm-tooltip-autocomplete li")
    for text, wanted in (
        ("pre", "preset"),
        ("preset: hou", "house"),
        ("pipeline:\n  - mas", "mask"),
        ("pipeline: [format, mas", "mask"),
        ("components:\n  mask:\n    keep_r", "keep_recent"),
        ("components:\n  mask:\n    marker_mode: su", "summary"),
        ("components:\n  extract:\n    trigger:\n      min_mes", "min_messages"),
        ("cache:\n  mo", "mode"),
        ("store:\n  enabled: fal", "false"),
    ):
        page.keyboard.press("Control+a")
        page.keyboard.insert_text(text[:-1])
        page.keyboard.type(text[-1])
        page.keyboard.press("Control+Space")
        expect(choices.first, text).to_contain_text(wanted)
    page.keyboard.press("Control+a")
    page.keyboard.insert_text("components:\n  mask:\n    keep_")
    page.keyboard.press("Control+Space")
    expect(choices.first).to_contain_text("integer, default 96")
    expect(page.locator(".cm-completionInfo")).not_to_be_empty()


@without_script
def test_a_document_that_the_node_refuses_is_shown_with_its_answer_and_agents_go_on(
    page: Page, gateway: Gateway
) -> None:
    """08 §K-13: this node has no Redis, so it cannot open such a store."""
    page.goto("/config/orchid")
    if page.get_by_role("button", name="Customise").count():
        page.get_by_role("button", name="Customise").click()
    for text, answer in (
        ("pipeline: [format]\n", "running on 1 node"),
        ("pipeline: [format]\nstore: {backend: redis}\n", "refused by the node"),
        ("pipeline: [format]\n# back\n", "running on 1 node"),
    ):
        page.get_by_label("Document, YAML").fill(text)
        page.get_by_label("Message").fill("another store")
        page.get_by_role("button", name="Save version").click()
        expect(page.get_by_text(re.compile(r"Version \d+ is saved and published"))).to_be_visible()
        expect(page.locator("#answer")).to_contain_text(answer)
        if "redis" in text:
            expect(page.locator(".refusal")).to_contain_text("Agents are served as before.")
            expect(page.locator(".refusal")).to_contain_text("store_unavailable")
        assert gateway.ask("hello")["content"]


@with_script
def test_a_text_that_the_server_could_not_be_given_is_kept_in_the_tab(page: Page) -> None:
    """04 §5.9, state error; a credential is not kept there either."""
    page.goto("/config/orchid")
    for button in ("Customise", "Discard draft"):
        if page.get_by_role("button", name=button).count():
            page.get_by_role("button", name=button).click()
            page.wait_for_load_state()
    page.route("**/check", lambda route: route.fulfill(status=408))
    page.locator(".cm-content").click()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text("# typed on a train\npipeline: [mask]\n")
    expect(page.locator("#save-why")).to_contain_text("Your text is kept in this tab")

    page.reload()
    expect(page.locator(".cm-content")).to_contain_text("# typed on a train")
    expect(page.locator("#save-why")).to_contain_text("does not answer")
    page.unroute("**/check")
    with page.expect_response("**/check"):
        page.locator(".cm-content").press("End")
        page.keyboard.type(" ")
    expect(page.locator("#save-why")).to_contain_text("Your draft is kept")
    assert page.evaluate(KEPT_HERE) == []

    page.route("**/check", lambda route: route.fulfill(status=408))
    page.keyboard.type("# sk-ant-api03-abcdefghijklmnop")
    expect(page.locator("#save-why")).to_contain_text("kept nowhere")
    assert page.evaluate(KEPT_HERE) == []
    page.unroute("**/check")
