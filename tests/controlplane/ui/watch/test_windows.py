"""Windows of time in an address (04 §5.0)."""

from __future__ import annotations

import json
import re

import pytest
from django.test import Client

from controlplane.accounts.models import Tenant, User
from controlplane.telemetry.models import RequestRecord
from controlplane.telemetry.queries.windows import now_ms
from controlplane.ui.watch.windows import fixed_of, in_words, moment_of, seconds_of
from tests.controlplane.ui.conftest import Browser
from tests.controlplane.ui.watched import a_session

NOW = 1_796_000_000_000  # 30 Nov 2026, 00:53:20 UTC


@pytest.mark.parametrize(
    ("said", "moment"),
    [
        ("now", NOW),
        ("now-6h", NOW - 6 * 3_600_000),
        ("now-2d", NOW - 2 * 86_400_000),
        ("1795990000000", 1_795_990_000_000),
        ("2026-11-30T00:53:20", NOW),
        ("2026-11-30T02:53:20+02:00", NOW),
        ("yesterday", None),
        ("now-6w", None),
        ("-1", None),
        ("", None),
    ],
)
def test_an_end_of_a_window_is_now_or_before_it_or_a_moment(said: str, moment: int | None) -> None:
    assert moment_of(said, NOW) == moment


def test_a_window_without_a_second_end_ends_now() -> None:
    found = fixed_of({"from": "now-6h"}, NOW)

    assert found is not None
    assert (found.since, found.until) == (NOW - 21_600_000, NOW)
    assert in_words(found) == "29 Nov 18:53 to 30 Nov 00:53 UTC"


@pytest.mark.parametrize(
    "asked",
    [
        pytest.param({"from": "now", "to": "now-1h"}, id="backwards"),
        pytest.param({"from": "now-5s"}, id="shorter than a minute"),
        pytest.param({"from": "now-1h", "to": str(NOW + 3_600_000)}, id="in the future"),
        pytest.param({"from": "now-900d"}, id="before anything was kept"),
        pytest.param({"from": "<script>"}, id="no moment"),
    ],
)
def test_what_cannot_be_a_window_is_none(asked: dict[str, str]) -> None:
    assert fixed_of(asked, NOW) is None


def test_a_length_that_is_not_on_offer_is_an_hour() -> None:
    assert (seconds_of({"window": "900"}), seconds_of({"window": "7"})) == (900, 3600)


def test_a_page_of_a_window_that_stays_says_from_when_to_when_and_opens_no_stream(
    browser: Browser, admin: User, tenant: Tenant
) -> None:
    client = browser(admin)
    for path in ("/components", "/components/mask"):
        page = client.get(f"{path}?tenant=orchid&from=now-2h&to=now-1h").content.decode()

        assert re.search(r"\d+ \w{3} \d\d:\d\d to (\d+ \w{3} )?\d\d:\d\d UTC", page), path
        assert 'data-topics=""' in page
        assert "does not move" in page
        earlier = re.findall(r'href="([^"]*from=\d+[^"]*)" data-keys="\["', page)
        assert earlier, path
        assert "tenant=orchid" in earlier[0]
        assert client.get(earlier[0].replace("&amp;", "&")).status_code == 200


@pytest.fixture
def lists(browser: Browser, manager: User, tenant: Tenant) -> Client:
    now = now_ms()
    for name, turns, hours in (("new", 1, 0), ("old", 2, 5)):
        at = now - hours * 3_600_000
        a_session(tenant.uid, name, turns=turns, last_at=at)
        RequestRecord.objects.filter(session_uid=name).update(at=at)
    return browser(manager)


@pytest.mark.django_db(databases=["default", "telemetry"])
@pytest.mark.parametrize("path", ["/sessions", "/requests"])
@pytest.mark.parametrize(
    ("asked", "shown"),
    [
        ({}, {"new", "old"}),
        ({"window": "3600"}, {"new"}),
        ({"window": "21600"}, {"new", "old"}),
        ({"from": "now-6h", "to": "now-4h"}, {"old"}),
        ({"from": "now-20h", "to": "now-10h"}, set()),
    ],
)
def test_a_list_shows_what_lies_in_the_stretch_of_time(
    lists: Client, path: str, asked: dict[str, str], shown: set[str]
) -> None:
    page = lists.get(path, asked).content.decode()

    assert set(re.findall(r'href="/sessions/[^/"]+/(new|old)"', page)) == shown
    assert bool(shown) == ("The filters hide all." not in page)


@pytest.mark.django_db(databases=["default", "telemetry"])
def test_a_stretch_of_time_stays_in_every_link_of_the_page_and_so_do_the_filters(
    lists: Client,
) -> None:
    asked = {"window": "3600", "model": "claude-sonnet-4-5", "from": ""}
    page = lists.get("/requests", asked).content.decode().replace("&amp;", "&")

    assert '<input type="hidden" name="window" value="3600">' in page
    assert 'href="/requests?model=claude-sonnet-4-5&window=900"' in page
    assert 'href="/requests?model=claude-sonnet-4-5">Any time<' in page
    (export,) = re.findall(r'href="([^"]*format=ndjson)"', page)
    lines = lists.get(export).getvalue().splitlines()
    assert [json.loads(line)["session_uid"] for line in lines] == ["new"]
