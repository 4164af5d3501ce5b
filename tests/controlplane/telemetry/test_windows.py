"""Windows from their buckets, and pages of requests: each once, and no more read than shown."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connections

from controlplane.accounts.models import Tenant, User
from controlplane.accounts.scopes import Scope, scope_of_user
from controlplane.telemetry import queries
from controlplane.telemetry.actions import ingest
from controlplane.telemetry.queries import RequestFilter, Window
from controlplane.telemetry.queries.reach import Reach
from controlplane.telemetry.queries.requests import chosen
from controlplane.telemetry.resolutions import DAY_S, HOUR_S
from tests.controlplane.telemetry.batches import BUCKET, NOW, batch, delta, row


@pytest.fixture
def manager_scope(manager: User) -> Scope:
    return scope_of_user(manager)


MIDNIGHT = NOW - NOW % (DAY_S * 1000)


@pytest.mark.parametrize(
    ("since_s", "until_s"),
    [
        pytest.param(-2_700, 0, id="until midnight"),
        pytest.param(-4_500, -3_600, id="until a full hour"),
        pytest.param(-50, -30, id="within a minute"),
        pytest.param(-90_000, -7_200, id="a day until a full hour"),
        pytest.param(-3_600, 0, id="one whole hour"),
        pytest.param(-600, 120, id="past midnight"),
    ],
)
def test_a_window_that_ends_where_buckets_begin_counts_each_moment_once(
    since_s: int, until_s: int, manager_scope: Scope
) -> None:
    moments = [MIDNIGHT - at * 60_000 for at in range(-3, 1_560, 3)]
    deltas = [delta(1, bucket_at=at, components={}) for at in moments]
    ingest(batch(1, [], deltas), received_at=NOW)
    asked = Window(MIDNIGHT + since_s * 1000, MIDNIGHT + until_s * 1000, MIDNIGHT + 3 * 3_600_000)

    found = queries.totals(manager_scope, asked).requests

    finest_ms = asked.finest_s * 1000
    since = asked.since - asked.since % finest_ms
    assert found == sum(since <= at < asked.until for at in moments)


@pytest.mark.parametrize(
    ("seconds", "step_s"),
    [(900, 10), (HOUR_S, 10), (6 * HOUR_S, 60), (24 * HOUR_S, 300), (30 * DAY_S, HOUR_S)],
)
def test_a_chart_has_a_bounded_number_of_points(seconds: int, step_s: int) -> None:
    asked = Window.last(seconds, NOW + 5_000)

    assert asked.step_s == step_s
    assert len(asked.steps) <= 721


def test_requests_of_a_stretch_of_time_come_by_their_time_each_once(
    manager_scope: Scope, tenant: Tenant
) -> None:
    """In the order in which they were stored a long request would stand after shorter ones."""
    ages = [5, 3, 3, 9, 1, 3, 7]
    rows = [row(n, tenant=tenant.uid, at=NOW - age * 1000) for n, age in enumerate(ages)]
    ingest(batch(1, rows), received_at=NOW)
    wanted = RequestFilter(since=NOW - 7_000, until=NOW - 1_000)
    seen, after = [], ""
    while True:
        page = queries.requests(manager_scope, wanted, after=after, limit=1)
        seen += [(NOW - each.record.at) // 1000 for each in page.rows]
        after = page.after
        if not after:
            break

    assert seen == [3, 3, 3, 5, 7]


@pytest.mark.parametrize("tenant", ["", "ten_orchid"])
@pytest.mark.parametrize(
    "wanted",
    [
        pytest.param({}, id="all"),
        pytest.param({"since": BUCKET, "until": NOW}, id="of a stretch of time"),
        pytest.param({"component": "mask", "gate": "cached_prefix"}, id="with a gate"),
        pytest.param(
            {"component": "mask", "gate": "cached_prefix", "since": BUCKET},
            id="with a gate, lately",
        ),
    ],
)
@pytest.mark.django_db
def test_a_page_of_requests_neither_sorts_nor_reads_what_it_does_not_show(
    wanted: dict[str, Any], tenant: str
) -> None:
    asked = RequestFilter(tenant=tenant, **wanted)
    found = chosen(Reach(frozenset({tenant}) if tenant else None), asked)[:51]

    if connections["telemetry"].vendor == "sqlite":
        plan = found.explain()
        assert "TEMP B-TREE" not in plan
        assert "SCAN U0" not in plan
