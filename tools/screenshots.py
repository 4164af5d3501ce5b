"""make screenshots: pictures of every page in one run, and the gallery of docs/screenshots.

Starts a deployment of its own in a temporary folder, takes its pages before the first request,
replays the repository's sessions as make demo does, takes every page, removes an original that a
model then asks for, and takes the pages that say so. Each in light and dark, wide and narrow.
They go into --folder, which is not under version control; the gallery is made of them.
--only: pages by name. --url with --email and --password: only the picture of the README, of a
gateway that runs, such as the one of make demo. --gallery: take none, and make it of those there.
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
from tools.gallery import HERO, write_gallery
from tools.pictured import ALARM, EMPTY, PAGES, Prepare
from tools.pictured_presets import PRESETS

FOLDER = Path(__file__).resolve().parent.parent / "build" / "screenshots"
MOST_BYTES = 150_000
SIZES = (ViewportSize(width=1440, height=900), ViewportSize(width=390, height=844))
SCHEMES = ("light", "dark")
CHROMIUM = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]
SPEED = 40
LOST = "-alarm"  # what is added to the names of pages that are not about alarms anyway


def main() -> None:
    options = arguments()
    options.folder.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        found = shutil.which("chromium")
        browser = playwright.chromium.launch(executable_path=found, args=CHROMIUM)
        if options.url:
            picture_hero(browser, options)
        elif not options.gallery:
            life(browser, options)
        write_gallery(browser, options.folder)
        browser.close()


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make screenshots", description=__doc__)
    parser.add_argument("--only", nargs="*", default=[], help="pages by name; else all of them")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where the pictures go")
    parser.add_argument("--gallery", action="store_true", help="of the pictures that are there")
    parser.add_argument("--url", default="", help="of a gateway that runs")
    parser.add_argument("--email", default=EMAIL)
    parser.add_argument("--password", default=PASSWORD)
    return parser.parse_args()


def picture_hero(browser: Browser, options: argparse.Namespace) -> None:
    page = open_page(browser, options.url, SIZES[0], SCHEMES[0])
    sign_in(page, options.email, options.password)
    PAGES["overview"](page)
    page.screenshot(path=options.folder / f"{HERO}.png")


def chosen(pages: Mapping[str, Prepare], options: argparse.Namespace) -> dict[str, Prepare]:
    return {name: pages[name] for name in pages if not options.only or name in options.only}


def life(browser: Browser, options: argparse.Namespace) -> None:
    """A deployment is pictured from its start to its first alarm."""
    folder = options.folder
    with temporary() as served:
        tours(browser, served.url, folder, chosen(EMPTY, options), "-empty")
        door(browser, served.url, folder)
        replay(served)
        tours(browser, served.url, folder, chosen(PAGES | PRESETS, options))
        lose_an_original(served.url, served.key, served.folder)
        tours(browser, served.url, folder, chosen(ALARM, options), LOST)


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
    browser: Browser, url: str, folder: Path, pages: Mapping[str, Prepare], state: str = ""
) -> None:
    """Of the pages in every look; each is named by its page, its state, scheme and width."""
    for size in SIZES:
        for scheme in SCHEMES:
            page = open_page(browser, url, size, scheme)
            sign_in(page, EMAIL, PASSWORD)
            for name, prepare in pages.items():
                prepare(page)
                shown = name if state == LOST and name.startswith("alarm") else f"{name}{state}"
                take(page, folder / f"{shown}-{scheme}-{size['width']}.png")
            page.context.close()


def door(browser: Browser, url: str, folder: Path) -> None:
    for size in SIZES:
        for scheme in SCHEMES:
            page = open_page(browser, url, size, scheme)
            page.goto("/login")
            take(page, folder / f"login-{scheme}-{size['width']}.png")
            page.context.close()


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


def take(page: Page, file: Path) -> None:
    """The whole page, or its first screen where the whole would be a heavy file."""
    picture = page.screenshot(full_page=True)
    if len(picture) > MOST_BYTES:
        picture = page.screenshot()
    file.write_bytes(picture)


if __name__ == "__main__":
    main()
