"""What an operator does in a real browser, with script and without it (04 §5.18)."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.journeys.pages.conftest import Gateway, promised_s, shown_after_s, sign_in

pytestmark = pytest.mark.browser

with_script = pytest.mark.parametrize("context", [True], indirect=True, ids=["with script"])


def test_a_key_is_seen_once_and_then_only_its_start(page: Page) -> None:
    page.goto("/tenants/orchid")
    page.get_by_label("New key for").fill("laptop")
    page.get_by_role("button", name="Issue a key").click()

    plaintext = page.locator("#plaintext").inner_text()
    assert re.fullmatch(r"cg_live_[A-Z2-7]{26}", plaintext)

    page.get_by_role("link", name="Done, the key is kept").click()
    expect(page.get_by_text(f"cg_live_{plaintext[8:16]}…").first).to_be_visible()
    assert plaintext not in page.content()

    row = page.get_by_role("row").filter(has_text=f"cg_live_{plaintext[8:16]}…")
    row.get_by_role("link", name="Revoke").click()
    page.get_by_role("button", name="Revoke the key").click()
    expect(page.get_by_text("The key laptop is revoked.")).to_be_visible()


def test_the_theme_is_chosen_and_stays(page: Page) -> None:
    page.get_by_label(re.compile("^Theme")).click()
    page.get_by_role("button", name="Dark").click()

    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    page.goto("/")
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")


def test_signing_out_closes_the_pages(page: Page) -> None:
    page.get_by_label(re.compile("^Account")).click()
    page.get_by_role("button", name="Sign out").click()
    page.goto("/tenants")

    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()


def test_the_overview_shows_the_first_request_within_five_seconds_of_its_answer(
    chromium: Browser, fresh_gateway: Gateway
) -> None:
    opened = chromium.new_context(base_url=fresh_gateway.url)
    page = opened.new_page()
    sign_in(page)
    page.goto("/")
    expect(page.get_by_text("Nothing observed yet")).to_be_visible()

    took_s = []
    for n in range(1, 4):
        fresh_gateway.ask(f"Question {n}")
        took_s.append(shown_after_s(page.locator("#requests"), str(n)))

    expect(page.locator("#loss-words")).to_have_text("Nothing lost")
    assert min(took_s) < promised_s(page, 5)
    opened.close()


@with_script
def test_a_refresh_moves_neither_the_focus_nor_an_open_note_nor_the_scroll(
    page: Page, gateway: Gateway
) -> None:
    gateway.ask("Hello")
    page.goto("/")
    before = page.locator("#requests").inner_text()
    page.get_by_label("About gross").click()
    page.evaluate("scrollTo(0, 200)")

    gateway.ask("And again")

    # One that was asked before may only be counted now, too.
    expect(page.locator("#requests")).not_to_have_text(before)
    expect(page.get_by_text("History is re-sent each turn")).to_be_visible()
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == "About gross"
    assert page.evaluate("scrollY") == 200


def test_a_gateway_that_is_gone_is_said(chromium: Browser, gateway: Gateway) -> None:
    opened = chromium.new_context(base_url=gateway.url)
    page = opened.new_page()
    sign_in(page)
    page.goto("/")
    expect(page.locator("#live")).to_have_text("Live")

    opened.set_offline(True)

    expect(page.locator("#live")).to_contain_text("Offline since")
    opened.set_offline(False)
    expect(page.locator("#live")).to_have_text("Live")
    opened.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1440])
def test_no_page_scrolls_sideways(
    chromium: Browser, gateway: Gateway, width: int, scheme: str
) -> None:
    gateway.ask("Hello")
    opened = chromium.new_context(
        base_url=gateway.url,
        viewport={"width": width, "height": 844},
        color_scheme="dark" if scheme == "dark" else "light",
    )
    page = opened.new_page()
    sign_in(page)

    for path in ("/", "/tenants", "/tenants/orchid", "/nowhere"):
        page.goto(path)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path
    opened.close()
