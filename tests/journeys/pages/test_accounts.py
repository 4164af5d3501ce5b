"""Connecting an agent, inviting a colleague, losing a machine, in a browser (04 §5.13, 5.16)."""

from __future__ import annotations

import dataclasses
import re

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.journeys.pages.conftest import Gateway, sign_in
from tests.patience import blocking_until

pytestmark = pytest.mark.browser

with_script = pytest.mark.parametrize("context", [True], indirect=True, ids=["with script"])


def issue_key(page: Page) -> str:
    """The text of a new key, on the page that shows it once."""
    page.goto("/connect")
    page.get_by_label("New key for").fill("laptop")
    page.get_by_role("button", name="Issue a key").click()
    return page.locator("#plaintext").inner_text()


@with_script
def test_the_first_request_of_a_new_key_appears_by_itself(page: Page, gateway: Gateway) -> None:
    plaintext = issue_key(page)
    expect(page.get_by_text("Waiting for the first request")).to_be_visible()

    dataclasses.replace(gateway, key=plaintext).ask("Hello")

    expect(page.get_by_text(re.compile(r"First request arrived \d\d:\d\d:\d\d"))).to_be_visible()
    expect(page.locator("#arrival").get_by_text("claude-sonnet-5")).to_be_visible()


def test_without_script_one_looks_again(page: Page, gateway: Gateway) -> None:
    plaintext = issue_key(page)
    dataclasses.replace(gateway, key=plaintext).ask("Hello")

    def has_arrived() -> bool:
        """Nodes report twice a second, so the first look may be too soon."""
        page.get_by_role("link", name="Look again").click()
        return page.get_by_text("First request arrived").is_visible()

    blocking_until(has_arrived)
    assert plaintext not in page.content()


def test_each_client_shows_its_lines_and_hides_the_others(page: Page, gateway: Gateway) -> None:
    plaintext = issue_key(page)
    expect(page.locator("#setup-claude-code")).to_contain_text(plaintext)

    page.get_by_text("Codex CLI", exact=True).first.click()

    expect(page.locator("#setup-codex")).to_contain_text(f"{gateway.url}/openai/v1")
    expect(page.locator("#setup-claude-code")).to_be_hidden()


def test_an_invited_colleague_makes_an_account_and_sees_the_tenant(
    page: Page, chromium: Browser, gateway: Gateway, context: BrowserContext
) -> None:
    email = f"colleague-{id(context)}@example.com"
    page.goto("/members/main")
    page.get_by_label("E-mail").fill(email)
    page.get_by_label("Role").select_option("viewer")
    page.get_by_role("button", name="Make the invitation").click()
    link = page.locator("#plaintext").inner_text()

    theirs = chromium.new_context(base_url=gateway.url)
    door = theirs.new_page()
    door.goto(link)
    door.get_by_label("Your name").fill("Colleague")
    door.get_by_label("Password").fill("a password of my own")
    door.get_by_role("button", name="Make the account and join").click()
    door.wait_for_url("**/")
    door.goto("/tenants/orchid")

    expect(door.get_by_role("heading", name="orchid", exact=True)).to_be_visible()
    expect(door.get_by_role("button", name="Issue a key")).to_have_count(0)
    theirs.close()
    page.goto("/members/main")
    expect(page.get_by_text(email)).to_be_visible()


def test_another_machine_is_signed_out_from_ones_own_page(
    page: Page, chromium: Browser, gateway: Gateway
) -> None:
    lost = chromium.new_context(base_url=gateway.url)
    there = lost.new_page()
    sign_in(there)
    there.goto("/me")

    page.goto("/me")
    page.get_by_role("button", name="Sign out every other machine").click()
    expect(page.get_by_text("Every other machine is signed out.")).to_be_visible()
    there.goto("/tenants")

    expect(there.get_by_role("heading", name="Sign in")).to_be_visible()
    lost.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1440])
def test_no_page_about_accounts_scrolls_sideways(
    chromium: Browser, gateway: Gateway, width: int, scheme: str
) -> None:
    opened = chromium.new_context(
        base_url=gateway.url,
        viewport={"width": width, "height": 844},
        color_scheme="dark" if scheme == "dark" else "light",
    )
    page = opened.new_page()
    sign_in(page)

    for path in (
        "/connect", "/members", "/me", "/me/second-factor", "/tokens", "/upstreams", "/secrets",
        "/prices", "/prices?edit", "/audit?verify=1",
    ):  # fmt: skip
        page.goto(path)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path
    opened.close()
