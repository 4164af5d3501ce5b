"""Editing documents and presets in a real browser, with script and without (04 §5.0, 5.9)."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.journeys.pages.conftest import Gateway, sign_in

pytestmark = pytest.mark.browser

RIGHT = "# ours\npipeline:\n  - mask\n"
SWEEP = """\
# coding agents, long sessions
pipeline:
  - mask
components:
  extract_llm:
    per_output: false   # from the old days
    min_tokens: 4000
  extract_llm_sweep:
    # the cheap judge
    model: {source: config}
    min_inventory: 10
"""
COMMENTS = ("# coding agents, long sessions", "# from the old days", "# the cheap judge")
with_script = pytest.mark.parametrize("context", [True], indirect=True, ids=["with script"])
without_script = pytest.mark.parametrize("context", [False], indirect=True, ids=["without script"])


def open_text(page: Page, path: str = "/config/orchid") -> None:
    """The document's own text, without a draft."""
    page.goto(path)
    for button in ("Customise", "Discard draft"):
        if page.get_by_role("button", name=button).count():
            page.get_by_role("button", name=button).click()
            page.wait_for_load_state()


def write(page: Page, text: str) -> None:
    """Replaces the text, by keyboard where the editor is mounted."""
    editor = page.locator(".cm-content")
    if not editor.count():
        page.get_by_label("Document, YAML").fill(text)
        return
    editor.click()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(text)


def text_of(page: Page) -> str:
    found: str = page.locator("#source").evaluate("area => area.value")
    return found


def is_checked(page: Page) -> None:
    """Until the problem list is the one of what was typed last."""
    with page.expect_response(lambda answer: answer.url.endswith("/check")):
        page.keyboard.type(" ")


def save(page: Page, message: str) -> None:
    page.get_by_label("Message").fill(message)
    page.get_by_role("button", name="Save version").click()


def test_a_wrong_text_is_refused_and_a_right_one_runs_on_the_node(page: Page) -> None:
    open_text(page)
    write(page, "pipeline:\n  - msk\n")
    if page.locator(".cm-content").count():
        expect(page.get_by_text("1 error blocks saving.")).to_be_visible()
        expect(page.get_by_role("button", name="Save version")).to_be_disabled()
    else:
        save(page, "mask alone")
        expect(page.get_by_role("heading", name="Not saved")).to_be_visible()
    expect(page.get_by_text("line 2:5")).to_be_visible()

    write(page, f"{RIGHT}# {page.locator('.cm-content').count()}\n")
    expect(page.get_by_role("button", name="Save version")).to_be_enabled()
    save(page, "mask alone")

    expect(page.get_by_text(re.compile(r"Version \d+ is saved and published"))).to_be_visible()
    expect(page.locator("#answer")).to_have_text("running on 1 node")


@with_script
def test_the_editor_marks_the_two_errors_of_the_sweep_block_and_fixes_both(page: Page) -> None:
    open_text(page)
    write(page, SWEEP)

    expect(page.locator(".cm-lintRange-error")).to_have_text(["per_output", "model"])
    expect(page.locator(".cm-problems .sign.error")).to_have_text(["E", "E"])
    expect(page.locator("#tally")).to_contain_text("2 errors")
    for key in ("per_output", "model"):
        page.get_by_role("button", name=re.compile(f"^Apply fix: delete {key}")).click()
        expect(page.locator(".cm-lintRange-error", has_text=key)).to_have_count(0)

    expect(page.locator("#problem-list")).to_have_attribute("data-errors", "0")
    assert all(comment in text_of(page) for comment in COMMENTS)
    assert "min_inventory: 10" in text_of(page)
    save(page, "the sweep of today")
    expect(page.get_by_text(re.compile(r"Version \d+ is saved"))).to_be_visible()


@without_script
def test_without_script_a_fix_is_a_form_post(page: Page) -> None:
    open_text(page)
    write(page, SWEEP)
    save(page, "the sweep, without script")

    for key in ("per_output", "model"):
        page.get_by_role("button", name=re.compile(f"^Apply fix: delete {key}")).click()
        expect(page.locator("#said")).to_contain_text(f"delete {key}")
    assert all(comment in text_of(page) for comment in COMMENTS)
    expect(page.get_by_label("Message")).to_have_value("the sweep, without script")


@with_script
def test_one_undo_takes_a_fix_back(page: Page) -> None:
    open_text(page)
    write(page, SWEEP)
    page.get_by_role("button", name=re.compile("^Apply fix: delete model")).click()
    expect(page.locator("#said")).to_contain_text("delete model")

    page.keyboard.press("Control+z")

    assert text_of(page) == SWEEP


@with_script
def test_f8_walks_the_problems_and_escape_gives_tab_back(page: Page) -> None:
    open_text(page)
    write(page, SWEEP)
    expect(page.locator(".cm-lintRange-error")).to_have_count(2)
    page.get_by_label("Message").focus()

    page.keyboard.press("F8")
    expect(page.locator(".cm-tooltip-lint, .cm-lintRange-active").first).to_be_visible()
    inside = "document.activeElement.shadowRoot !== null"
    assert page.evaluate(inside)
    page.keyboard.press("Escape")
    page.keyboard.press("Tab")

    assert not page.evaluate(inside)


@with_script
def test_tab_indents_inside_the_editor(page: Page) -> None:
    open_text(page)
    write(page, "mode: sync")
    page.keyboard.press("Tab")

    assert text_of(page) == "  mode: sync"


@with_script
def test_nothing_moves_while_problems_come_and_go(page: Page) -> None:
    open_text(page)
    page.locator(".cm-content").click()
    before = page.locator(".editor").bounding_box()

    write(page, SWEEP)
    expect(page.locator(".cm-lintRange-error")).to_have_count(2)

    assert page.locator(".editor").bounding_box() == before
    assert page.evaluate("scrollY") == 0


@with_script
def test_the_policy_is_kept_whatever_is_done_in_the_editor(page: Page) -> None:
    page.add_init_script(
        "window.broken = []; document.addEventListener('securitypolicyviolation', (event) => "
        "window.broken.push(event.violatedDirective + ' ' + event.blockedURI));"
    )
    open_text(page)
    write(page, SWEEP)
    expect(page.locator(".cm-lintRange-error")).to_have_count(2)
    page.locator(".cm-lintRange-error").first.hover()
    expect(page.locator(".cm-tooltip")).to_be_visible()
    page.keyboard.press("Control+f")
    page.keyboard.type("model")
    page.keyboard.press("Escape")
    for key in ("Control+End", "Enter", "Backspace", "Control+Space"):
        page.keyboard.press(key)
    page.keyboard.type("mode: [observe")
    page.get_by_title("Fold line", exact=True).first.click()
    page.get_by_label("Explain config.removed_key").click()
    expect(page.locator("#explain")).to_contain_text("An error blocks saving")
    page.keyboard.press("Escape")

    assert page.evaluate("window.broken") == []


@with_script
def test_what_was_typed_is_there_after_leaving_the_page(page: Page) -> None:
    open_text(page)
    write(page, RIGHT + "# a draft")
    is_checked(page)

    page.goto("/config/orchid/diff")
    expect(page.get_by_role("combobox", name="to", exact=True)).to_have_value("draft")
    page.goto("/config/orchid")

    assert text_of(page).strip() == (RIGHT + "# a draft").strip()
    expect(page.get_by_role("button", name="Discard draft")).to_be_visible()


def test_every_view_has_an_address_and_tells_readers_which_it_is(page: Page) -> None:
    open_text(page)
    for name in ("Form", "Effective", "Versions", "Diff", "Text"):
        page.get_by_role("navigation", name="Views of the document").get_by_text(name).click()
        expect(page.locator(".tabs [aria-current=page]")).to_contain_text(name)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1440])
def test_no_page_of_the_configuration_scrolls_sideways(
    chromium: Browser, gateway: Gateway, width: int, scheme: str
) -> None:
    opened = chromium.new_context(
        base_url=gateway.url,
        viewport={"width": width, "height": 844},
        color_scheme="dark" if scheme == "dark" else "light",
    )
    page = opened.new_page()
    sign_in(page)
    open_text(page)
    tabs = [f"/config/orchid{tab}" for tab in ("", "/form", "/effective", "/versions", "/diff")]

    for path in ("/config", *tabs, "/presets", "/presets/housellm", "/docs/errors"):
        page.goto(path)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path
    opened.close()
