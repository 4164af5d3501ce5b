"""make screenshots: pictures of every page for docs/screenshots, in one run.

Starts a deployment of its own in a temporary folder, takes its pages before the first request,
replays the repository's sessions as make demo does, takes every page, removes an original that a
model then asks for, and takes the pages that say so. Each in light and dark, wide and narrow.
Pictures of pages that are gone are deleted. --only: pages by name. --url with --email and
--password: only the picture of the README, of a gateway that runs, such as the one of make demo.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Page, ViewportSize, sync_playwright

from tests.journeys.deployment import EMAIL, PASSWORD, Deployment, deployment
from tests.journeys.losses import lose_an_original
from tools.demo import DOCUMENT, replays
from tools.pictured import ALARM, EMPTY, PAGES, Prepare
from tools.pictured_presets import PRESETS

OUT = Path(__file__).resolve().parent.parent / "docs" / "screenshots"
MOST_BYTES = 150_000
SIZES = (ViewportSize(width=1440, height=900), ViewportSize(width=390, height=844))
SCHEMES = ("light", "dark")
CHROMIUM = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]
SPEED = 40
HERO = "hero"
LOST = "-alarm"  # what is added to the names of pages that are not about alarms anyway


def main() -> None:
    options = arguments()
    OUT.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        found = shutil.which("chromium")
        browser = playwright.chromium.launch(executable_path=found, args=CHROMIUM)
        if options.url:
            picture_hero(browser, options)
        else:
            taken = life(browser, options)
            if not options.only:
                delete_stale(taken)
        browser.close()


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make screenshots", description=__doc__)
    parser.add_argument("--only", nargs="*", default=[], help="pages by name; else all of them")
    parser.add_argument("--url", default="", help="of a gateway that runs")
    parser.add_argument("--email", default=EMAIL)
    parser.add_argument("--password", default=PASSWORD)
    return parser.parse_args()


def picture_hero(browser: Browser, options: argparse.Namespace) -> None:
    page = open_page(browser, options.url, SIZES[0], SCHEMES[0])
    sign_in(page, options.email, options.password)
    PAGES["overview"](page)
    page.screenshot(path=OUT / f"{HERO}.png")


def chosen(pages: Mapping[str, Prepare], options: argparse.Namespace) -> dict[str, Prepare]:
    return {name: pages[name] for name in pages if not options.only or name in options.only}


def life(browser: Browser, options: argparse.Namespace) -> set[str]:
    """The names of the pictures of a deployment, from its start to its first alarm."""
    taken = {HERO}
    who = (EMAIL, PASSWORD)
    with temporary() as served:
        taken |= tours(browser, served.url, who, chosen(EMPTY, options), "-empty")
        taken |= door(browser, served.url)
        replay(served)
        taken |= tours(browser, served.url, who, chosen(PAGES | PRESETS, options))
        lose_an_original(served.url, served.key, served.folder)
        taken |= tours(browser, served.url, who, chosen(ALARM, options), LOST)
    return taken


@contextmanager
def temporary() -> Iterator[Deployment]:
    with (
        tempfile.TemporaryDirectory() as folder,
        deployment(Path(folder), DOCUMENT, HEADRACE_TEST_CLOCK="1") as served,
    ):
        yield served


def replay(served: Deployment) -> None:
    """All sessions at once, as make demo sends them."""
    command = [sys.executable, "-m", "dataplane.replay", "--url", served.url, "--key", served.key]
    timing = ["--named", "--speed", str(SPEED)]
    running = [
        subprocess.Popen(  # noqa: S603
            [*command, *timing, *sent, str(file)], stdout=subprocess.DEVNULL
        )
        for file, sent in replays()
    ]
    for child in running:
        child.wait()


def tours(
    browser: Browser, url: str, who: tuple[str, str], pages: Mapping[str, Prepare], state: str = ""
) -> set[str]:
    """Of the pages in every look; each is named by its page, its state, scheme and width."""
    taken = set()
    for size in SIZES:
        for scheme in SCHEMES:
            page = open_page(browser, url, size, scheme)
            sign_in(page, *who)
            for name, prepare in pages.items():
                prepare(page)
                shown = name if state == LOST and name.startswith("alarm") else f"{name}{state}"
                taken.add(take(page, f"{shown}-{scheme}-{size['width']}"))
            page.context.close()
    return taken


def door(browser: Browser, url: str) -> set[str]:
    taken = set()
    for size in SIZES:
        for scheme in SCHEMES:
            page = open_page(browser, url, size, scheme)
            page.goto("/login")
            taken.add(take(page, f"login-{scheme}-{size['width']}"))
            page.context.close()
    return taken


def open_page(browser: Browser, url: str, size: ViewportSize, scheme: str) -> Page:
    is_dark = scheme == "dark"
    context = browser.new_context(
        base_url=url, viewport=size, color_scheme="dark" if is_dark else "light"
    )
    return context.new_page()


def sign_in(page: Page, email: str, password: str) -> None:
    page.goto("/login")
    page.get_by_label("E-mail").fill(email)
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url("**/")


def take(page: Page, name: str) -> str:
    """The whole page, or its first screen where the whole would be a heavy file."""
    picture = page.screenshot(full_page=True)
    if len(picture) > MOST_BYTES:
        picture = page.screenshot()
    (OUT / f"{name}.png").write_bytes(picture)
    return name


def delete_stale(taken: set[str]) -> None:
    for path in OUT.glob("*.png"):
        if path.stem not in taken:
            path.unlink()


if __name__ == "__main__":
    main()
