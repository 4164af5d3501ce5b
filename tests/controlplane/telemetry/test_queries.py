"""Answers within a scope, of bounded cost, and honest about what was not observed."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from decimal import Decimal
from typing import Any

import pytest
from django.db import connections

from controlplane.accounts.models import Membership, Organisation, Tenant
from controlplane.accounts.scopes import NOBODY, Scope, scope_of_user
from controlplane.telemetry import queries
from controlplane.telemetry.actions import ingest
from controlplane.telemetry.queries import (
    CSV,
    NDJSON,
    RequestFilter,
    SessionFilter,
    State,
    Window,
)
from controlplane.telemetry.resolutions import DAY_S, HOUR_S, bucket_of
from dataplane.core.uplink import ComponentRow
from tests.controlplane.conftest import person
from tests.controlplane.telemetry.batches import (
    BUCKET,
    MARKER,
    NOW,
    batch,
    delta,
    lost,
    minted,
    row,
)

Counting = Callable[[int, str], AbstractContextManager[None]]


@pytest.fixture
def counted(django_assert_num_queries: Any) -> Counting:
    """A number of statements on one of the databases."""

    def of(number: int, alias: str) -> AbstractContextManager[None]:
        found: AbstractContextManager[None] = django_assert_num_queries(
            number, connection=connections[alias]
        )
        return found

    return of


@pytest.fixture
def viewer(tenant: Tenant, organisation: Organisation) -> Scope:
    """Somebody who may read acme's tenants and no others."""
    return scope_of_user(person(Membership.Role.VIEWER, organisation))


@pytest.fixture
def manager_scope(manager: Any) -> Scope:
    return scope_of_user(manager)


@pytest.fixture
def played(tenant: Tenant, other_tenant: Tenant) -> None:
    """Three requests of acme's tenant, one of them with a loss, and one of another's."""
    own, foreign = tenant.uid, other_tenant.uid
    rows = [row(1, tenant=own, minted=minted()), row(2, tenant=own), lost(3, tenant=own)]
    ingest(batch(1, rows, [delta(3, tenant=own)]), received_at=NOW)
    theirs = [row(4, tenant=foreign, session="s9", cost_usd=None)]
    ingest(batch(2, theirs, [delta(1, tenant=foreign)]), received_at=NOW)


def window(seconds: int = HOUR_S) -> Window:
    return Window.last(seconds, NOW + 5_000)


@pytest.mark.usefixtures("played")
def test_figures_hold_what_the_scope_reaches_and_nothing_else(
    viewer: Scope, manager_scope: Scope
) -> None:  # 04 §A-02
    assert queries.totals(viewer, window()).requests == 3
    assert queries.totals(manager_scope, window()).requests == 4
    assert queries.totals(NOBODY, window()).requests == 0


@pytest.mark.usefixtures("played")
def test_naming_a_foreign_tenant_narrows_to_nothing(viewer: Scope, other_tenant: Tenant) -> None:
    foreign = other_tenant.uid

    assert queries.totals(viewer, window(), tenant=foreign).requests == 0
    assert queries.components(viewer, window(), tenant=foreign)[1] == []
    assert not queries.requests(viewer, RequestFilter(tenant=foreign)).rows
    assert not queries.sessions(viewer, SessionFilter(tenant=foreign)).rows
    assert queries.session(viewer, foreign, "s9") is None
    assert queries.request(viewer, f"req_r{4:025}") is None
    assert list(queries.export(viewer, RequestFilter(tenant=foreign), NDJSON)) == []


def test_without_a_report_there_is_no_data_and_no_zero(manager_scope: Scope) -> None:
    assert queries.totals(manager_scope, window()).state is State.NO_DATA
    assert queries.series(manager_scope, window()) == (State.NO_DATA, [])
    assert queries.coverage(window()).state is State.NO_DATA


@pytest.mark.usefixtures("played")
def test_a_node_that_reports_and_serves_nothing_measured_a_zero(
    manager_scope: Scope, tenant: Tenant
) -> None:
    later = Window(BUCKET + 60_000, BUCKET + 120_000, BUCKET + 120_000)
    ingest(batch(3), received_at=BUCKET + 119_000)

    assert queries.totals(manager_scope, later, tenant=tenant.uid).state is State.ZERO


@pytest.mark.usefixtures("played")
def test_a_lost_batch_makes_the_figures_a_lower_bound(manager_scope: Scope) -> None:
    ingest(batch(5, [row(5)]), received_at=NOW + 1000)

    assert queries.totals(manager_scope, window()).state is State.PARTIAL
    covered = queries.coverage(window())
    assert (covered.state, covered.lost_batches, covered.nodes) == (State.PARTIAL, 2, 1)


@pytest.mark.usefixtures("played")
def test_a_node_that_fell_silent_makes_the_figures_a_lower_bound(manager_scope: Scope) -> None:
    late = Window.last(HOUR_S, NOW + 60_000)

    covered = queries.coverage(late)
    assert (covered.nodes, covered.silent) == (1, 1)
    assert queries.totals(manager_scope, late).state is State.PARTIAL


@pytest.mark.usefixtures("played")
def test_cost_without_any_price_is_unknown_and_not_nothing(
    manager_scope: Scope, other_tenant: Tenant
) -> None:  # 08 §A-06
    unpriced = delta(
        1,
        tenant=other_tenant.uid,
        counts={"all_requests": 1, "unpriced_requests": 1},
        billed_usd="0",
        bucket_at=BUCKET - 600_000,
    )
    ingest(batch(3, [], [unpriced]), received_at=NOW)
    then = Window(BUCKET - 600_000, BUCKET - 590_000, NOW)

    figures = queries.totals(manager_scope, then)

    assert (figures.cost_usd, figures.cost_is_partial) == (None, True)
    session = queries.session(manager_scope, other_tenant.uid, "s9")
    assert session is not None
    assert session.session.cost_usd is None


@pytest.mark.parametrize("seconds", [60, 3600, 7 * HOUR_S, 3 * DAY_S, 100 * DAY_S])
def test_a_window_counts_each_moment_once(seconds: int, manager_scope: Scope) -> None:
    """Whatever buckets it is put together from: fine ones at its ends, coarse ones between."""
    ages = [0, 20, 50, 1800, 6 * HOUR_S, 50 * HOUR_S, 2 * DAY_S, 80 * DAY_S]
    deltas = [delta(1, bucket_at=BUCKET - age * 1000) for age in ages]
    ingest(batch(1, [], deltas), received_at=NOW)

    found = queries.totals(manager_scope, window(seconds)).requests
    assert found == sum(age * 1000 <= seconds * 1000 - 10_000 for age in ages)


@pytest.mark.usefixtures("played")
def test_a_series_adds_up_to_the_figure_of_its_window(manager_scope: Scope) -> None:
    for seconds in (900, HOUR_S, 6 * HOUR_S, 24 * HOUR_S, 30 * DAY_S):
        _, points = queries.series(manager_scope, window(seconds))
        assert sum(point.values["requests"] for point in points) == 4


@pytest.mark.usefixtures("played")
def test_gates_over_time_are_in_candidates_and_in_requests(manager_scope: Scope) -> None:
    found = queries.signal_series(manager_scope, "mask", window(900))

    place = list(found.at).index(bucket_of(BUCKET, 10))
    assert found.n["cached_prefix"][place] == 8
    assert found.requests["cached_prefix"][place] == 4
    assert sum(found.n["cached_prefix"]) == 8
    assert queries.signal_series(manager_scope, "mask", window(900), kind="event").n == {}


@pytest.mark.usefixtures("played")
def test_a_component_that_did_not_run_has_no_figures(manager_scope: Scope) -> None:
    found = queries.component(manager_scope, "collapse", window())

    assert (found.state, found.counts, found.mean_ms) == (State.ZERO, {}, None)


@pytest.mark.usefixtures("played")
def test_requests_come_in_pages_newest_first_each_once(viewer: Scope) -> None:
    seen, after = [], ""
    while True:
        page = queries.requests(viewer, RequestFilter(), after=after, limit=2)
        seen += [each.record.turn for each in page.rows]
        after = page.after
        if not after:
            break

    assert seen == [3, 2, 1]


@pytest.mark.usefixtures("played")
@pytest.mark.parametrize(
    ("wanted", "turns"),
    [
        (RequestFilter(lost=True), [3]),
        (RequestFilter(session="s1"), [3, 2, 1]),
        (RequestFilter(session="nobody"), []),
        (RequestFilter(component="mask", gate="cached_prefix"), [3, 2, 1]),
        (RequestFilter(component="mask", gate="no_such_gate"), []),
        (RequestFilter(status=200, model="claude", outcome="ok"), [3, 2, 1]),
        (RequestFilter(since=NOW + 1), []),
        (RequestFilter(until=NOW), []),
        (RequestFilter(since=NOW, until=NOW + 1), [3, 2, 1]),
    ],
)
def test_requests_are_filtered(viewer: Scope, wanted: RequestFilter, turns: list[int]) -> None:
    assert [each.record.turn for each in queries.requests(viewer, wanted).rows] == turns


@pytest.mark.usefixtures("played")
def test_a_request_shows_its_components_in_run_order(viewer: Scope) -> None:
    found = queries.request(viewer, f"req_r{1:025}")

    assert found is not None
    assert [(run.component, run.verdict) for run in found.runs] == [("mask", "acted fresh")]


@pytest.mark.usefixtures("played")
def test_a_session_shows_its_turns_gaps_and_what_was_taken_out(
    viewer: Scope, tenant: Tenant
) -> None:
    found = queries.session(viewer, tenant.uid, "s1")

    assert found is not None
    assert [each.record.turn for each in found.turns] == [1, 2, 3]
    assert found.idle_ms == [None, 0, 0]
    (marker,) = found.markers
    assert (marker.record.marker_id, marker.record.state) == (MARKER, "missing")
    assert found.session.cost_usd == Decimal("0.0147")


@pytest.mark.usefixtures("played")
def test_sessions_come_in_pages_newest_first_each_once(
    manager_scope: Scope, tenant: Tenant
) -> None:
    rows = [row(n, tenant=tenant.uid, session=f"t.{n % 3}", at=NOW + n) for n in range(10, 19)]
    ingest(batch(3, rows), received_at=NOW)
    seen, after = [], ""
    while True:
        page = queries.sessions(manager_scope, SessionFilter(search="t."), after=after, limit=1)
        seen += [each.record.session_uid for each in page.rows]
        after = page.after
        if not after:
            break

    assert seen == ["t.0", "t.2", "t.1"]


@pytest.mark.usefixtures("played")
def test_a_loss_names_tenant_session_turn_marker_component_and_cause(tenant: Tenant) -> None:
    (loss,) = queries.losses(0)  # 08 §D-13

    assert (loss.tenant_uid, loss.session_uid, loss.turn) == (tenant.uid, "s1", 3)
    assert (loss.marker_id, loss.component, loss.cause) == (MARKER, "mask", "expired")
    assert queries.losses(loss.position) == []


def many(tenant: Tenant, number: int) -> None:
    ten = [ComponentRow(f"c{n}", "offload", gates={"g": 1}) for n in range(10)]
    rows = [
        row(n, tenant=tenant.uid, session=f"s{n % 7}", components=ten, minted=minted(f"{n:016}"))
        for n in range(number)
    ]
    ingest(batch(1, rows, [delta(number, tenant=tenant.uid)]), received_at=NOW)


@pytest.mark.parametrize("number", [1, 50])
def test_every_question_costs_the_same_statements_for_one_row_and_for_fifty(
    number: int, viewer: Scope, tenant: Tenant, counted: Counting
) -> None:
    many(tenant, number)

    for statements, ask in (
        (4, lambda: queries.totals(viewer, window())),
        (3, lambda: queries.series(viewer, window())),
        (4, lambda: queries.components(viewer, window())),
        (3, lambda: queries.signal_series(viewer, "mask", window())),
        (1, lambda: queries.requests(viewer, RequestFilter())),
        (1, lambda: queries.request(viewer, f"req_r{0:025}")),
        (1, lambda: queries.sessions(viewer, SessionFilter())),
        (3, lambda: queries.session(viewer, tenant.uid, "s0")),
        (1, lambda: queries.losses(0)),
        (2, lambda: queries.nodes(NOW)),
    ):
        with counted(statements, "telemetry"):
            ask()


def test_a_cell_that_a_spreadsheet_would_compute_is_text(
    manager_scope: Scope, tenant: Tenant
) -> None:
    wicked = ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", " =1", "\uff1d1"]
    rows = [row(n, tenant=tenant.uid, session=name) for n, name in enumerate(wicked)]
    ingest(batch(1, rows), received_at=NOW)

    text = b"".join(
        piece.body for piece in queries.export(manager_scope, RequestFilter(), CSV)
    ).decode()
    cells = [each["session_uid"] for each in csv.DictReader(io.StringIO(text, newline=""))]
    assert sorted(cells) == sorted(f"'{name}" for name in wicked)


def test_an_export_says_unknown_as_null_and_money_as_text(
    manager_scope: Scope, tenant: Tenant
) -> None:
    rows = [row(1, tenant=tenant.uid), row(2, tenant=tenant.uid, cost_usd=None)]
    ingest(batch(1, rows), received_at=NOW)

    text = b"".join(
        piece.body for piece in queries.export(manager_scope, RequestFilter(), NDJSON)
    ).decode()
    costs = [json.loads(line)["cost_usd"] for line in text.splitlines()]
    assert costs == [None, "0.004900000"]


@pytest.mark.django_db
def test_a_node_is_offline_once_it_has_not_reported_for_half_a_minute() -> None:
    ingest(batch(1, [row(1)]), received_at=NOW)

    (fresh,) = queries.nodes(NOW + 1_000)
    (late,) = queries.nodes(NOW + 31_000)

    assert (fresh.state, fresh.processes) == ("pending", 1)
    assert late.state == "offline"


@pytest.mark.parametrize("name", ["s", "<script>alert(1)</script>", "s.%_'", "ü" * 60])
def test_a_session_is_found_under_any_name(name: str, manager_scope: Scope, tenant: Tenant) -> None:
    ingest(batch(1, [row(1, tenant=tenant.uid, session=name)]), received_at=NOW)

    found = queries.session(manager_scope, tenant.uid, name)

    assert found is not None
    assert found.session.record.session_uid == name


def test_thousands_of_tenants_are_one_question(manager_scope: Scope) -> None:
    for part in range(4):
        deltas = [
            delta(1, tenant=f"ten_{n}", components={}) for n in range(part * 500, part * 500 + 500)
        ]
        ingest(batch(part + 1, [], deltas), received_at=NOW)

    assert queries.totals(manager_scope, window()).requests == 2_000
