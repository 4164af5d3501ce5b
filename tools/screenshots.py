"""Pictures of the pages for docs/screenshots, from a running gateway.

python tools/screenshots.py --url http://127.0.0.1:8000 --email … --password …
Needs Playwright and a Chromium. --empty: the gateway has seen no traffic; only pages that say so.
--only: pages by name. --state: what they show, such as alarm.
"""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Browser, Page, ViewportSize, sync_playwright

OUT = Path(__file__).resolve().parent.parent / "docs" / "screenshots"
MOST_BYTES = 200_000
SIZES = (ViewportSize(width=1440, height=900), ViewportSize(width=390, height=844))
SETTLES_MS = 700
KEPT = """\
# coding agents, long sessions
pipeline:
  - format
  - dedup       # one copy stays
  - mask
  - cachesplit
components:
  mask:
    keep_recent: 4
    min_tokens: 200
mode: sync
"""
DRAFT = KEPT.replace("  - dedup       # one copy stays\n", "").replace(
    "keep_recent: 4", "keep_recent: 6   # they look back"
)
WRONG = """\
# coding agents, long sessions
pipeline:
  - mask
  - cachesplit
components:
  mask:
    keep_recent: 4
  extract_llm:
    per_output: false   # from the old days
    min_tokens: 4000
  extract_llm_sweep:
    # the cheap judge
    model: {source: config}
    min_inventory: 10
"""
CHROMIUM = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]

Prepare = Callable[[Page], None]


def open_overview(page: Page) -> None:
    page.goto("/")


def open_component(name: str, window: int) -> Prepare:
    """With the chart drawn and the stream open."""

    def prepare(page: Page) -> None:
        page.goto(f"/components/{name}?window={window}")
        page.wait_for_timeout(SETTLES_MS)

    return prepare


def open_tenants(page: Page) -> None:
    page.goto("/tenants")


def open_tenant(page: Page) -> None:
    open_tenants(page)
    page.locator("tbody th a").first.click()
    page.wait_for_load_state()


def open_document(page: Page) -> None:
    """The tenant's own document, which begins here if it has none."""
    page.goto("/config")
    page.locator("tbody th a").last.click()
    page.wait_for_load_state()
    for name in ("Customise", "Discard draft"):
        button = page.get_by_role("button", name=name)
        if button.count():
            button.click()
            page.wait_for_load_state()


def write_document(text: str, *, is_kept: bool = False) -> Prepare:
    """In the editor; saved when is_kept."""

    def prepare(page: Page) -> None:
        open_document(page)
        page.locator(".cm-content").click()
        page.keyboard.press("Control+a")
        with page.expect_response("**/check"):
            page.keyboard.insert_text(text)
        if is_kept:
            page.get_by_label("Message").fill("keep four outputs")
            page.get_by_role("button", name="Save version").click()
        page.wait_for_timeout(SETTLES_MS)

    return prepare


def open_view(name: str) -> Prepare:
    """A tab of the document, with the last draft."""

    def prepare(page: Page) -> None:
        write_document(DRAFT)(page)
        page.get_by_role("navigation", name="Views of the document").get_by_text(name).click()
        page.wait_for_load_state()

    return prepare


def open_form(page: Page) -> None:
    open_view("Form")(page)
    page.locator(".component.is-used details summary").nth(1).click()


def connect_agent(page: Page) -> None:
    """With a key of its own, whose first request has not come."""
    page.goto("/connect")
    page.get_by_label("New key for").fill("a picture")
    page.get_by_role("button", name="Issue a key").click()
    page.wait_for_load_state()


def refuse_upstream(page: Page) -> None:
    page.goto("/upstreams")
    page.get_by_label("Name").fill("metadata")
    page.get_by_label("Address").fill("https://169.254.169.254")
    page.get_by_role("button", name="Add the upstream").click()
    page.wait_for_load_state()


def open_member(page: Page) -> None:
    page.goto("/members")
    page.locator("tbody th a").first.click()
    page.wait_for_load_state()


def go_to(path: str) -> Prepare:
    def prepare(page: Page) -> None:
        page.goto(path)

    return prepare


def first_of(path: str) -> Prepare:
    """The page behind the first row of a list."""

    def prepare(page: Page) -> None:
        page.goto(path)
        page.locator("tbody th a").first.click()
        page.wait_for_load_state()

    return prepare


PAGES: dict[str, Prepare] = {
    "alarms": go_to("/alarms"),
    "alarm": first_of("/alarms"),
    "sessions": go_to("/sessions"),
    "session": first_of("/sessions"),
    "requests": go_to("/requests"),
    "request": first_of("/requests"),
    "nodes": go_to("/nodes"),
    "node": first_of("/nodes"),
    "system": go_to("/system"),
    "channels": go_to("/settings/channels"),
    "connect": connect_agent,
    "members": go_to("/members"),
    "member": open_member,
    "account": go_to("/me"),
    "tokens": go_to("/tokens"),
    "upstreams": go_to("/upstreams"),
    "upstream-refused": refuse_upstream,
    "secrets": go_to("/secrets"),
    "prices": go_to("/prices?model=claude-opus-4-5"),
    "prices-edit": go_to("/prices?edit"),
    "audit": go_to("/audit?verify=1"),
    "overview": open_overview,
    "components": go_to("/components"),
    "component": open_component("mask", 900),
    "tenants": open_tenants,
    "tenant": open_tenant,
    "config": go_to("/config"),
    "config-text": write_document(KEPT, is_kept=True),
    "config-problems": write_document(WRONG),
    "config-form": open_form,
    "config-effective": open_view("Effective"),
    "config-versions": open_view("Versions"),
    "config-diff": open_view("Diff"),
    "presets": go_to("/presets"),
    "preset": go_to("/presets/housellm"),
    "error-code": go_to("/docs/errors/config.refused_key"),
}


EMPTY: dict[str, Prepare] = {
    "overview-empty": open_overview,
    "components-empty": go_to("/components"),
    "component-empty": open_component("mask", 900),
}


def take(page: Page, name: str) -> None:
    """The whole page, or its first screen where the whole would be a heavy file."""
    picture = page.screenshot(full_page=True)
    if len(picture) > MOST_BYTES:
        picture = page.screenshot()
    (OUT / f"{name}.png").write_bytes(picture)


def tour(browser: Browser, options: argparse.Namespace, size: ViewportSize, scheme: str) -> None:
    is_dark = scheme == "dark"
    context = browser.new_context(
        base_url=options.url, viewport=size, color_scheme="dark" if is_dark else "light"
    )
    page = context.new_page()
    suffix = f"{scheme}-{size['width']}"
    page.goto("/login")
    if not options.empty and not options.only:
        take(page, f"login-{suffix}")
    page.get_by_label("E-mail").fill(options.email)
    page.get_by_label("Password").fill(options.password)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url("**/")
    chosen = {name: PAGES[name] for name in options.only} or PAGES
    wanted = EMPTY if options.empty else chosen
    for name, prepare in wanted.items():
        prepare(page)
        state = f"-{options.state}" if options.state else ""
        take(page, f"{name}{state}-{suffix}")
    context.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("url", "email", "password"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--empty", action="store_true")
    parser.add_argument("--only", nargs="*", default=[], help="pages by name; else all of them")
    parser.add_argument("--state", default="", help="what the pages show, for the file names")
    options = parser.parse_args()
    OUT.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=CHROMIUM
        )
        for size in SIZES:
            for scheme in ("light", "dark"):
                tour(browser, options, size, scheme)
        browser.close()


if __name__ == "__main__":
    main()
