"""Pictures of the pages for docs/screenshots, from a running gateway.

python tools/screenshots.py --url http://127.0.0.1:8000 --email … --password … [--empty]
Needs Playwright and a Chromium. --empty: the gateway has seen no traffic; only that page is taken.
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
WRONG = "pipeline:\n  - mask\n  - dedupe\ncomponents:\n  mask:\n    keep_recent: -1\n"
CHROMIUM = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]

Prepare = Callable[[Page], None]


def open_overview(page: Page) -> None:
    page.goto("/")


def open_tenants(page: Page) -> None:
    page.goto("/tenants")


def open_tenant(page: Page) -> None:
    open_tenants(page)
    page.locator("tbody th a").first.click()
    page.wait_for_load_state()


def refuse_document(page: Page) -> None:
    open_tenant(page)
    page.get_by_label("Document, YAML").fill(WRONG)
    page.get_by_label("Message").fill("keep less, and remove duplicates")
    page.get_by_role("button", name="Save version").click()
    page.wait_for_load_state()


PAGES: dict[str, Prepare] = {
    "overview": open_overview,
    "tenants": open_tenants,
    "tenant": open_tenant,
    "document-refused": refuse_document,
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
    if not options.empty:
        take(page, f"login-{suffix}")
    page.get_by_label("E-mail").fill(options.email)
    page.get_by_label("Password").fill(options.password)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url("**/")
    wanted = {"overview-empty": open_overview} if options.empty else PAGES
    for name, prepare in wanted.items():
        prepare(page)
        take(page, f"{name}-{suffix}")
    context.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("url", "email", "password"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--empty", action="store_true")
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
