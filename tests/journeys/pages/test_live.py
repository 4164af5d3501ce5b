"""The gate chart is live, survives a restart, and says what /stats says (04 §5.2, 6.4)."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect

from tests.journeys.deployment import Deployment, deployment
from tests.journeys.pages.conftest import promised_s, shown_after_s, sign_in
from tests.patience import blocking_until

pytestmark = pytest.mark.browser

GATE = "within_keep_recent"  # a request without tool outputs meets it once
MASK = "/components/mask?window=86400"
LIVE_S = 2


@pytest.fixture
def gateway(tmp_path: Path) -> Iterator[Deployment]:
    with deployment(tmp_path) as running:
        yield running


@pytest.fixture
def context(chromium: Browser, gateway: Deployment) -> Iterator[BrowserContext]:
    opened = chromium.new_context(base_url=gateway.url)
    yield opened
    opened.close()


@pytest.fixture
def page(context: BrowserContext) -> Iterator[Page]:
    opened = context.new_page()
    faults: list[str] = []
    opened.on("pageerror", lambda error: faults.append(str(error)))
    sign_in(opened)
    yield opened
    assert faults == []


def count(page: Page) -> Locator:
    return page.locator(f"#gate-{GATE}")


def in_the_chart(page: Page) -> int:
    """The sum of the gate's column, which the drawing is made of."""
    return int(
        page.evaluate(
            """gate => {
              const table = document.querySelector("#declines-candidates table");
              const heads = [...table.tHead.rows[0].cells];
              const at = heads.findIndex((head) => head.dataset.key === gate);
              const cells = [...table.tBodies[0].rows].map((row) => row.cells[at]);
              const numbers = cells.map((cell) => Number(cell.textContent));
              return numbers.filter((n) => !Number.isNaN(n)).reduce((sum, n) => sum + n, 0);
            }""",
            GATE,
        )
    )


def counted(gateway: Deployment) -> int:
    gates = gateway.stats()["components"]["mask"]["gates"]
    return int(gates.get(GATE, 0))


def test_a_gate_count_climbs_and_is_there_again_after_the_server_was_killed(
    page: Page, gateway: Deployment
) -> None:
    gateway.ask("Hello")
    page.goto(MASK)
    expect(page.locator("#live")).to_have_text("Live")
    expect(count(page)).to_have_text("1")

    took_s = []
    for n in range(2, 5):
        gateway.ask(f"Question {n}")
        took_s.append(shown_after_s(count(page), str(n)))
    assert min(took_s) < promised_s(page, LIVE_S)
    blocking_until(lambda: in_the_chart(page) == 4)
    assert counted(gateway) == 4

    gateway.end(signal.SIGKILL)
    expect(page.locator("#live")).to_have_text(re.compile("Reconnecting|Offline since"))
    expect(count(page)).to_have_text("4")
    gateway.start()
    expect(page.locator("#live")).to_have_text("Live")

    gateway.ask("After the restart")

    expect(count(page)).to_have_text("5")
    assert counted(gateway) == 1
    blocking_until(lambda: in_the_chart(page) == 5)
    page.reload()
    expect(count(page)).to_have_text("5")
    assert in_the_chart(page) == 5


def test_a_hidden_tab_reads_nothing_and_a_shown_one_has_missed_nothing(
    page: Page, gateway: Deployment
) -> None:
    gateway.ask("Hello")
    page.goto(MASK)
    expect(count(page)).to_have_text("1")

    hide(page, hidden=True)
    expect(page.locator("#live")).to_have_text("Paused")
    gateway.ask("Unseen")
    hide(page, hidden=False)

    expect(page.locator("#live")).to_have_text("Live")
    expect(count(page)).to_have_text("2")


def hide(page: Page, *, hidden: bool) -> None:
    page.evaluate(
        """hidden => {
          Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
          document.dispatchEvent(new Event("visibilitychange"));
        }""",
        hidden,
    )


def test_a_chart_is_read_with_the_keys_and_its_legend_switches_series(
    page: Page, gateway: Deployment
) -> None:
    gateway.ask("Hello")
    page.goto("/components/mask?window=900")
    expect(count(page)).to_have_text("1")
    figure = page.locator("#declines-candidates")

    figure.locator(".plot").focus()
    page.keyboard.press("ArrowLeft")

    reading = figure.locator(".reading")
    expect(reading).to_have_attribute("aria-live", "polite")
    expect(reading.locator("b").last).to_have_text(re.compile(r"\d\d:\d\d:\d\d"))
    page.keyboard.press("Tab")
    expect(reading.locator(".at-cursor")).to_have_count(0)

    switch = figure.locator(".legend button").first
    switch.click()
    expect(switch).to_have_attribute("aria-pressed", "false")
    page.get_by_text("The same figures as a table").first.click()
    expect(page.locator("#declines-candidates-table")).to_be_visible()


def test_candidates_and_requests_are_a_switch_that_works_without_script(
    chromium: Browser, gateway: Deployment
) -> None:
    opened = chromium.new_context(base_url=gateway.url, java_script_enabled=False)
    page = opened.new_page()
    sign_in(page)
    gateway.ask("Hello")
    page.goto("/components/mask")
    page.get_by_role("link", name="Requests", exact=True).last.click()

    expect(page.locator("#declines-requests")).to_be_visible()
    expect(page.get_by_role("navigation", name="Unit").get_by_text("Requests")).to_have_attribute(
        "aria-current", "true"
    )
    page.get_by_text("The same figures as a table").first.click()
    expect(page.locator("#declines-requests-table")).to_be_visible()
    opened.close()


def test_signing_out_elsewhere_ends_the_stream_and_asks_to_sign_in(
    page: Page, context: BrowserContext, gateway: Deployment
) -> None:
    page.goto(MASK)
    expect(page.locator("#live")).to_have_text("Live")
    other = context.new_page()
    other.goto("/")
    other.get_by_label(re.compile("^Account")).click()
    other.get_by_role("button", name="Sign out").click()

    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()


def test_a_list_says_how_many_are_new_and_does_not_move(page: Page, gateway: Deployment) -> None:
    gateway.ask("First")
    gateway.wait_for_reports(1)
    page.goto("/sessions")
    expect(page.locator("#live")).to_have_text("Live")
    before = page.locator("main tbody tr").count()

    for n in range(2):
        gateway.ask(f"Another conversation {n}")

    newer = page.get_by_role("link", name="2 new, show")
    expect(newer).to_be_visible()
    assert page.locator("main tbody tr").count() == before
    newer.click()
    expect(page.locator("main tbody tr")).to_have_count(before + 2)


def test_an_open_session_grows_by_its_turns(page: Page, gateway: Deployment) -> None:
    named = {"x-context-guru-session": "grows"}
    gateway.ask("First", headers=named)
    gateway.wait_for_reports(1)
    page.goto("/sessions")
    page.get_by_role("link", name="grows").click()
    expect(page.locator("#live")).to_have_text("Live")
    expect(page.locator("#turns tbody tr")).to_have_count(1)

    gateway.ask("Second", headers=named)

    expect(page.locator("#turns tbody tr")).to_have_count(2)
    expect(page.get_by_role("heading", name="Before and after")).to_be_visible()
