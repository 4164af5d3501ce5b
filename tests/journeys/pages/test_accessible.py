"""axe-core over every page and state, light and dark, wide and narrow (04 §5.18, U-02)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page

from tests.journeys.deployment import Deployment, deployment
from tests.journeys.losses import conversation, lose_an_original
from tests.journeys.pages.conftest import sign_in
from tools.pictured import ALARM, EMPTY, PAGES
from tools.pictured_presets import PRESETS

pytestmark = pytest.mark.browser

LOOKS = (("light", 1440), ("dark", 390))
GRAVE = {"serious", "critical"}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """One that has seen nothing; its tests run in the order in which its life goes on."""
    with deployment(tmp_path_factory.mktemp("accessible")) as running:
        yield running


@pytest.fixture(scope="module")
def person(chromium: Browser, served: Deployment) -> Iterator[Page]:
    opened = chromium.new_context(base_url=served.url, reduced_motion="reduce")
    page = opened.new_page()
    sign_in(page)
    yield page
    opened.close()


@pytest.fixture(scope="module")
def lived_in(served: Deployment) -> None:
    served.ask("", messages=conversation(8, "invoice"))


@pytest.fixture(scope="module")
def alarmed(served: Deployment, lived_in: None) -> None:
    lose_an_original(served.url, served.key, served.folder)


def findings(page: Page) -> list[str]:
    """What axe-core says against the page in any look, serious or worse."""
    found = []
    for scheme, width in LOOKS:
        page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
        page.set_viewport_size({"width": width, "height": 900})
        for each in Axe().run(page).response["violations"]:
            if each["impact"] in GRAVE:
                places = [node["html"][:160] for node in each["nodes"]]
                found.append(f"{scheme} {width}: {each['id']}: {each['help']}: {places}")
    return found


@pytest.mark.parametrize("name", EMPTY)
def test_axe_finds_nothing_serious_before_the_first_request(person: Page, name: str) -> None:
    EMPTY[name](person)

    assert findings(person) == []


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.usefixtures("lived_in")
def test_axe_finds_nothing_serious_on_a_page_with_life(person: Page, name: str) -> None:
    PAGES[name](person)

    assert findings(person) == []


@pytest.mark.parametrize("name", ALARM)
@pytest.mark.usefixtures("alarmed")
def test_axe_finds_nothing_serious_after_a_loss(person: Page, name: str) -> None:
    ALARM[name](person)

    assert findings(person) == []


# Last, because opening some of them changes what the tenant runs.
@pytest.mark.parametrize("name", PRESETS)
@pytest.mark.usefixtures("lived_in")
def test_axe_finds_nothing_serious_on_a_page_of_presets(person: Page, name: str) -> None:
    PRESETS[name](person)

    assert findings(person) == []


def test_axe_finds_nothing_serious_at_the_door(chromium: Browser, served: Deployment) -> None:
    opened = chromium.new_context(base_url=served.url, reduced_motion="reduce")
    page = opened.new_page()
    page.goto("/login")

    assert findings(page) == []
    opened.close()
