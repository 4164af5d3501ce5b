"""A page that was left open over an upgrade says so, and keeps what is written on it (04 §6.4)."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.journeys.deployment import ROOT, Deployment, deployment
from tests.journeys.pages.conftest import sign_in

pytestmark = pytest.mark.browser

SETTINGS = "files_of_its_own"
WORDS = "A new release is running."


@pytest.fixture
def static(tmp_path: Path) -> Path:
    """Scripts and styles that only this test's gateway serves."""
    folder = tmp_path / "static"
    shutil.copytree(ROOT / "static", folder)
    settings = f"from controlplane.settings import *\n\nSTATICFILES_DIRS = [{str(folder)!r}]\n"
    (tmp_path / f"{SETTINGS}.py").write_text(settings, encoding="utf-8")
    return folder


@pytest.fixture
def gateway(tmp_path: Path, static: Path) -> Iterator[Deployment]:
    where = str(static.parent)
    with deployment(tmp_path, DJANGO_SETTINGS_MODULE=SETTINGS, PYTHONPATH=where) as running:
        yield running


def test_an_open_page_says_that_another_release_runs_and_is_reloaded_by_its_reader(
    chromium: Browser, gateway: Deployment, static: Path
) -> None:
    context = chromium.new_context(base_url=gateway.url)
    page, polling = context.new_page(), context.new_page()
    page.route("**/bell*", lambda asked: asked.abort())  # it has only its stream to hear it from
    polling.add_init_script("delete window.EventSource")
    sign_in(page)
    for opened, path in ((page, "/components/mask"), (polling, "/tenants")):
        opened.goto(path)
        opened.evaluate("window.isTheSame = true")
    expect(page.locator("#live")).to_have_text("Live")
    expect(page.get_by_text(WORDS)).to_have_count(0)

    gateway.end()
    with (static / "css/base.css").open("a") as style:
        style.write("/* another release */\n")
    gateway.start()

    for opened in (page, polling):
        expect(notice(opened)).to_contain_text(WORDS)
        assert opened.evaluate("window.isTheSame")
    notice(page).get_by_role("button", name="Reload").click()
    page.wait_for_function("!window.isTheSame")
    expect(page.locator("#live")).to_have_text("Live")
    expect(page.get_by_text(WORDS)).to_have_count(0)
    context.close()


def notice(page: Page) -> Locator:
    return page.locator("#other-release")
