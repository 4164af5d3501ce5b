"""Single keys: what they reach, and that they stay out of the way (04 §5.0, 5.18: U-03)."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.journeys.deployment import Deployment, deployment
from tests.journeys.losses import SESSION, lose_an_original
from tests.journeys.pages.conftest import sign_in

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    with deployment(tmp_path_factory.mktemp("keys")) as running:
        lose_an_original(running.url, running.key, running.folder)
        yield running


@pytest.fixture
def page(chromium: Browser, served: Deployment) -> Iterator[Page]:
    opened = chromium.new_context(base_url=served.url)
    page = opened.new_page()
    sign_in(page)
    yield page
    opened.close()


def press(page: Page, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


def test_from_anywhere_to_the_lost_marker_without_a_mouse(page: Page) -> None:
    expect(page.locator("#calls")).to_contain_text("1 original lost")
    press(page, "g", "a")
    page.wait_for_url("**/alarms")
    press(page, "j", "Enter")
    expect(page.get_by_role("heading", level=1)).to_contain_text("1 original lost")

    press(page, "a")
    expect(page.get_by_label("Comment")).to_be_focused()
    page.keyboard.type("looking at it, gone a bit")
    expect(page.get_by_label("Comment")).to_have_value("looking at it, gone a bit")
    press(page, "Tab", "Tab", "Enter")
    expect(page.get_by_text("You have it now.")).to_be_visible()

    press(page, "g", "e")
    page.wait_for_url("**/sessions")
    press(page, "j", "Enter")
    page.wait_for_url(f"**/{SESSION}")
    press(page, "3")
    expect(page.get_by_role("heading", name="What was taken out")).to_be_focused()


def test_the_question_mark_lists_what_the_page_answers_to_and_switches_it_off(page: Page) -> None:
    page.goto("/components/mask")
    expect(page.locator("#live")).to_have_text("Live")
    press(page, "?")
    listed = page.get_by_role("dialog", name="Keys of this page")
    for words in ("Overview", "Pause the live figures", "The same figures as a table"):
        expect(listed).to_contain_text(words)

    listed.get_by_role("checkbox").uncheck()
    listed.get_by_role("button", name="Close").click()
    press(page, "p", "g", "o")
    expect(page.locator("#live")).to_have_text("Live")
    expect(page).to_have_url(re.compile("/components/mask"))

    press(page, "?")
    listed.get_by_role("checkbox").check()
    press(page, "Escape", "g", "o")
    expect(page).to_have_url(re.compile("/$"))


def test_a_reader_pauses_the_figures_and_misses_none(page: Page, served: Deployment) -> None:
    page.goto("/components/mask?window=86400")
    gate = page.locator("#gate-within_keep_recent")
    expect(page.locator("#live")).to_have_text("Live")
    press(page, "p")
    expect(page.locator("#live")).to_have_text("Paused")
    before = gate.inner_text()

    served.ask("Meanwhile")
    page.wait_for_timeout(2500)
    assert gate.inner_text() == before
    press(page, "p")

    expect(page.locator("#live")).to_have_text("Live")
    expect(gate).not_to_have_text(before)


def test_a_chart_has_keys_for_its_table_its_unit_and_its_window(page: Page) -> None:
    page.goto("/components/mask")
    press(page, "t")
    expect(page.locator("#declines-candidates-table")).to_be_visible()
    press(page, "u")
    page.wait_for_url("**unit=requests")
    press(page, "w")
    page.wait_for_url("**window=21600**")
