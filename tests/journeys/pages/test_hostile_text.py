"""What an agent, a model or a provider can name is shown as it is, and does nothing (04 §8.2)."""

from __future__ import annotations

import urllib.error
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from dataplane.simulator.script import script_header
from tests.journeys.deployment import Deployment, deployment
from tests.journeys.losses import conversation
from tests.journeys.pages.conftest import sign_in

pytestmark = pytest.mark.browser

OVERRIDE = "\u202e"  # turns what follows around on a screen
NAME = (
    f"<script>window.hurt = 1</script>'\"><img src=x onerror=hurt=1>{OVERRIDE}\u0000{{{{ 7*7 }}}}"
)
# A NUL is what databases do not take, so another character stands for it.
SHOWN = NAME.replace(OVERRIDE, "⟨U+202E⟩").replace("\0", "\N{REPLACEMENT CHARACTER}")
PLACES = ("/", "/components/mask", "/alarms?state=", "/sessions", "/requests", "/nodes", "/system")


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """One whose agent, model and provider all say what would hurt a careless page."""
    with deployment(tmp_path_factory.mktemp("hostile")) as running:
        invented = {"type": "tool_use", "id": "toolu_1", "name": "context_guru_expand"}
        asks = {"content": [{**invented, "input": {"id": NAME}}], "stop_reason": "tool_use"}
        tools = [{"name": NAME, "description": NAME, "input_schema": {"type": "object"}}]
        running.ask(
            NAME,
            NAME,
            {"x-sim-script": script_header(asks, {"content": NAME}, id="asks")},
            tools=tools,
            messages=conversation(8, NAME),
        )
        fails = {"status": 400, "error": {"type": NAME, "message": NAME}}
        with pytest.raises(urllib.error.HTTPError):
            running.ask(NAME, NAME, {"x-sim-script": script_header(fails, id="fails")})
        yield running


@pytest.fixture(scope="module")
def page(chromium: Browser, served: Deployment) -> Iterator[Page]:
    opened = chromium.new_context(base_url=served.url)
    page = opened.new_page()
    sign_in(page)
    yield page
    opened.close()


def is_unhurt(page: Page) -> bool:
    return bool(page.evaluate("window.hurt === undefined && !document.querySelector('img[src=x]')"))


@pytest.mark.parametrize("place", PLACES)
def test_no_page_runs_what_an_agent_named(page: Page, place: str) -> None:
    page.goto(place)

    assert is_unhurt(page)
    assert OVERRIDE not in page.content()


def test_a_models_name_is_read_letter_by_letter_in_every_list(page: Page) -> None:
    for place in ("/requests", "/sessions"):
        page.goto(place)
        expect(page.get_by_role("cell", name=SHOWN).first).to_be_visible()


def test_the_page_of_a_request_shows_the_name_the_error_and_the_handle_it_was_asked_for(
    page: Page,
) -> None:
    page.goto("/requests")
    for n in range(page.locator("tbody th a").count()):
        page.goto("/requests")
        page.locator("tbody th a").nth(n).click()
        expect(page.get_by_text(SHOWN).first).to_be_visible()
        assert is_unhurt(page)


def test_a_session_and_the_original_of_its_hostile_text_are_inert(page: Page) -> None:
    page.goto("/sessions")
    page.locator("tbody th a").last.click()
    expect(page.get_by_text(SHOWN).first).to_be_visible()
    page.get_by_role("link", name="Open…").first.click()
    page.get_by_role("button", name="Open the original").click()

    text = page.locator("pre").first
    expect(text).to_contain_text("⟨U+202E⟩")
    expect(text).to_contain_text("<script>window.hurt = 1</script>")
    assert is_unhurt(page)


LISTENS = """() => {
  const stream = new EventSource('/live/stream?topics=component.mask');
  window.told = new Promise(told => stream.addEventListener('bucket', () => told(true)));
  return new Promise(opened => stream.addEventListener('hello', () => opened(true)));
}"""


@pytest.mark.parametrize("place", ["/", "/components/mask"])
def test_case_r_22_what_arrives_while_a_page_is_open_does_nothing_either(
    page: Page, served: Deployment, place: str
) -> None:
    page.goto(place)
    page.evaluate(LISTENS)

    served.ask(NAME, NAME, {}, messages=conversation(8, NAME))

    assert page.evaluate("window.told")
    page.wait_for_timeout(500)  # what the page's own script makes of it
    assert is_unhurt(page)
    assert OVERRIDE not in page.content()
