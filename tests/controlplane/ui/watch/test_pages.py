"""Sessions and requests through the client (04 §5.6, 5.7, 5.8)."""

from __future__ import annotations

import re

import pytest
from django.test import Client

from controlplane.accounts.models import Tenant
from controlplane.telemetry.queries.windows import now_ms
from dataplane.adapters.request_ids import new_request_id
from tests.controlplane.ui.reading import text_of
from tests.controlplane.ui.watched import a_request, a_session, a_stream

pytestmark = pytest.mark.django_db(databases=["default", "telemetry"])


def test_a_session_shows_its_turns_and_what_was_taken_out(everyone: Client, tenant: Tenant) -> None:
    a_session(tenant.uid)

    assert "s1" in text_of(everyone, "/sessions")
    page = text_of(everyone, f"/sessions/{tenant.uid}/s1")
    assert page.count('<td class="tiers">') == 3
    assert "&lt;&lt;cg:c9f0f895fb98ab91&gt;&gt;" in page


def test_a_session_names_what_its_savings_are_a_share_of(everyone: Client, tenant: Tenant) -> None:
    a_session(tenant.uid, attempted_tokens=40_000, fresh_input=1_000, cache_write=5_014)
    a_session(tenant.uid, "s2", turns=1, attempted_tokens=None, cache_read=0)

    page = text_of(everyone, f"/sessions/{tenant.uid}/s1")
    shares = re.findall(r'class="v">([\d.]+)<', page)
    assert shares == ["75.0", "50.0", "33.3", "6.7"]
    assert "of the 40,000 tokens it was allowed to touch" in page
    older = text_of(everyone, f"/sessions/{tenant.uid}/s2").split('id="ratios"')[1]
    assert older.split("</section>")[0].count("no data") == 2


def test_filters_that_hide_everything_say_so(everyone: Client, tenant: Tenant) -> None:
    a_session(tenant.uid)

    assert "No session matches" in text_of(everyone, "/sessions", search="zzz")
    assert "No request matches" in text_of(everyone, "/requests", model="zzz")


def test_the_id_in_the_header_of_an_answer_finds_its_request(
    everyone: Client, tenant: Tenant
) -> None:
    said = new_request_id()
    row = a_request(tenant.uid, "s1", 1, uid=said, model="the-one")
    a_request(tenant.uid, "s1", 2, model="another")

    for spelt in (said, f" {said.upper()} ", said.removeprefix("req_")):
        page = text_of(everyone, "/requests", request=spelt)
        assert "the-one" in page
        assert "another" not in page
    assert said in text_of(everyone, f"/requests/{said.removeprefix('req_')}")
    assert row.uid == said


def test_requests_are_paged_without_a_gap(everyone: Client, tenant: Tenant) -> None:
    a_session(tenant.uid, turns=60)
    first = text_of(everyone, "/requests")
    older = re.findall(r'href="(/requests\?[^"]*)">Older', first)[0].replace("&amp;", "&")
    second = text_of(everyone, older)

    uids = re.findall(r'href="/requests/(01kb\d+)"', first + second)
    assert len(uids) == len(set(uids)) == 60


def test_a_request_without_usage_or_price_shows_words_and_no_zero(
    everyone: Client, tenant: Tenant
) -> None:
    row = a_request(
        tenant.uid, "s1", 1, accounting="missing", cost_usd=None, fresh_input=0, shaped=False,
        bypassed="observe",
    )  # fmt: skip

    page = text_of(everyone, f"/requests/{row.uid}")

    assert "no data" in page
    assert "unknown" in page
    assert "$0.00" not in page
    assert "as sent" in page


def test_figures_that_are_a_lower_bound_say_so(everyone: Client, tenant: Tenant) -> None:
    a_session(tenant.uid)
    a_stream("node-a")
    a_stream("node-d", last_at=now_ms() - 60_000)

    assert "1 of 2" in text_of(everyone, "/sessions")
    assert "lower bound" in text_of(everyone, "/sessions")
