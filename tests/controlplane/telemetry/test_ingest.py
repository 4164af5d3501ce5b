"""What a node reports counts once, whatever happens to the batches on their way."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from django.db.models import Sum

from controlplane.accounts.models import Tenant
from controlplane.fleet.models import PublishedResource
from controlplane.telemetry import queries
from controlplane.telemetry.actions import ingest
from controlplane.telemetry.models import (
    ComponentBucket,
    CredentialUse,
    LiveEvent,
    MarkerRecord,
    MonthlySpend,
    NodeStream,
    RequestRecord,
    SessionRecord,
    SignalBucket,
    TelemetryGap,
    TrafficBucket,
)
from controlplane.telemetry.resolutions import RESOLUTIONS
from controlplane.telemetry.runs import unpacked
from dataplane.core.uplink import AnswerRow, ComponentRow, RecoveryRow, UseRow
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

pytestmark = pytest.mark.django_db


def requests_counted(resolution_s: int = 10) -> int:
    rows = TrafficBucket.objects.filter(resolution_s=resolution_s)
    return rows.aggregate(n=Sum("requests"))["n"] or 0


def gaps() -> list[tuple[int, int]]:
    found = TelemetryGap.objects.filter(kind="batches").order_by("from_seq")
    return list(found.values_list("from_seq", "to_seq"))


def test_a_request_is_one_row_with_what_each_component_did() -> None:
    assert ingest(batch(1, [row(1)]), received_at=NOW)

    stored = RequestRecord.objects.get()
    assert (stored.uid, stored.session_uid, stored.turn) == (f"req_r{1:025}", "s1", 1)
    assert stored.cost_usd == Decimal("0.0049")
    (run,) = unpacked(stored.runs)
    assert (run.component, run.acted, run.saved, run.gates) == (
        "mask", True, 400, {"cached_prefix": 2},
    )  # fmt: skip


def test_counters_are_added_at_every_resolution() -> None:
    for seq in (1, 2, 3):
        ingest(batch(seq, [row(seq)]), received_at=NOW)

    assert [requests_counted(each) for each in RESOLUTIONS] == [3, 3, 3, 3]
    mask = ComponentBucket.objects.get(resolution_s=60)
    assert (mask.runs, mask.saved_gross, mask.duration_us, mask.spread) == (
        3, 1200, 6000, {"12": 3},
    )  # fmt: skip


def test_candidates_and_requests_of_a_gate_are_kept_apart() -> None:  # 04 trap 8
    ingest(batch(1, [row(1), row(2)]), received_at=NOW)

    gate = SignalBucket.objects.get(resolution_s=10)
    assert (gate.signal, gate.kind, gate.n, gate.requests) == ("cached_prefix", "gate", 4, 2)


def test_a_counter_that_nobody_knows_is_kept_by_its_name() -> None:
    ingest(batch(1, [row(1)]), received_at=NOW)
    ingest(batch(2, [row(2)]), received_at=NOW)

    assert TrafficBucket.objects.get(resolution_s=10).counts["a_newer_counter"] == 2


def test_a_repeated_batch_changes_nothing() -> None:  # 04 §A-07
    assert ingest(batch(1, [row(1)]), received_at=NOW)

    assert not ingest(batch(1, [row(1)]), received_at=NOW)

    assert RequestRecord.objects.count() == 1
    assert requests_counted() == 1
    assert SessionRecord.objects.get().requests == 1
    assert NodeStream.objects.get().duplicates == 1


def test_a_lost_batch_is_a_gap_and_is_never_made_up() -> None:
    ingest(batch(1, [row(1)]), received_at=NOW)

    ingest(batch(4, [row(4)]), received_at=NOW + 5000)

    assert gaps() == [(2, 3)]
    gap = TelemetryGap.objects.get()
    assert (gap.from_at, gap.to_at) == (NOW, NOW + 5000)
    assert requests_counted() == 2


@pytest.mark.parametrize(
    ("late", "left"), [([2, 3], []), ([3], [(2, 2)]), ([3, 3], [(2, 2)]), ([3, 2, 2], [])]
)
def test_a_batch_that_comes_late_closes_its_part_of_the_gap_once(
    late: list[int], left: list[tuple[int, int]]
) -> None:
    ingest(batch(1, [row(1)]), received_at=NOW)
    ingest(batch(4, [row(4)]), received_at=NOW)

    for seq in late:
        ingest(batch(seq, [row(seq)]), received_at=NOW)

    assert gaps() == left
    assert requests_counted() == 2 + len(set(late))


def test_a_batch_from_the_middle_of_a_gap_leaves_two() -> None:
    ingest(batch(5, [row(5)]), received_at=NOW)

    ingest(batch(3, [row(3)]), received_at=NOW)

    assert gaps() == [(1, 2), (4, 4)]


def test_a_node_that_restarts_begins_from_one_and_is_no_gap() -> None:
    ingest(batch(1, [row(1)]), received_at=NOW)
    ingest(batch(2, [row(2)]), received_at=NOW)

    ingest(batch(1, [row(3)], boot_id="boot-2"), received_at=NOW)

    assert gaps() == []
    assert requests_counted() == 3
    assert NodeStream.objects.count() == 2


def test_what_was_counted_equals_what_the_node_says_it_counted() -> None:  # 04 §A-08
    ingest(batch(1, [row(1)], claimed=1), received_at=NOW)
    ingest(batch(2, [row(2), row(3)], claimed=3), received_at=NOW)

    stream = NodeStream.objects.get()
    assert (stream.requests, stream.claimed) == (3, 3)


@pytest.mark.parametrize("hours", [-3, 5], ids=["behind", "ahead"])
def test_a_wrong_clock_does_not_move_figures_to_another_hour(hours: int) -> None:
    wrong = hours * 3_600_000

    ingest(
        batch(
            1,
            [row(1, at=NOW + wrong)],
            [delta(bucket_at=BUCKET + wrong)],
            sent_at=NOW + wrong,
        ),
        received_at=NOW,
    )

    assert TrafficBucket.objects.get(resolution_s=10).bucket_at == BUCKET
    stored = RequestRecord.objects.get()
    assert (stored.at, stored.node_at) == (NOW, NOW + wrong)
    assert NodeStream.objects.get().skew_ms == wrong


def test_a_batch_that_waited_for_an_hour_keeps_its_time() -> None:
    """It is stamped anew at every attempt: waiting is no skew."""
    ingest(batch(1, [row(1)], sent_at=NOW + 3_600_000), received_at=NOW + 3_600_000)

    assert RequestRecord.objects.get().at == NOW
    assert TrafficBucket.objects.get(resolution_s=10).bucket_at == BUCKET


def test_rows_that_a_node_dropped_are_remembered_and_their_counters_count() -> None:  # 08 §D-12
    ingest(batch(1, [row(1)], [delta(50)], dropped=49), received_at=NOW)

    gap = TelemetryGap.objects.get()
    assert (gap.kind, gap.rows) == ("rows", 49)
    assert requests_counted() == 50


@pytest.mark.parametrize(
    ("said", "column", "kept"),
    [
        ({"model": "claude\0x"}, "model", "claude\N{REPLACEMENT CHARACTER}x"),
        ({"session": "s\0"}, "session_uid", "s\N{REPLACEMENT CHARACTER}"),
        ({"error_type": "e" * 500}, "error_code", "e" * 64),
        (
            {"recoveries": [RecoveryRow("\0" + "f" * 500, "malformed")]},
            "recoveries",
            [{"id": "\N{REPLACEMENT CHARACTER}" + "f" * 63, "found": "malformed"}],
        ),
    ],
)
def test_text_of_a_client_that_a_database_refuses_is_kept_as_it_takes_it(
    said: dict[str, Any], column: str, kept: object
) -> None:
    """PostgreSQL takes no NUL and nothing that is too long: the batch would come for ever."""
    ingest(batch(1, [row(1, **said)]), received_at=NOW)

    assert getattr(RequestRecord.objects.get(), column) == kept


def test_unknown_cost_is_kept_as_unknown() -> None:  # 08 §A-06
    moved = delta(1, counts={"all_requests": 1, "unpriced_requests": 1}, billed_usd="0")

    ingest(batch(1, [row(1, cost_usd=None)], [moved]), received_at=NOW)

    stored = RequestRecord.objects.get()
    assert (stored.cost_usd, stored.accounting) == (None, "partial")
    session = SessionRecord.objects.get()
    assert (session.priced, session.unpriced) == (0, 1)


def test_an_answer_that_was_cut_is_accounted_for_as_estimated() -> None:
    ingest(batch(1, [row(1, cost_usd="0.01", usage_estimated=True)]), received_at=NOW)

    assert RequestRecord.objects.get().accounting == "estimated"


def test_a_price_of_zero_is_a_cost_of_zero() -> None:  # 08 §A-06
    ingest(batch(1, [row(1, cost_usd="0")]), received_at=NOW)

    stored = RequestRecord.objects.get()
    assert (stored.cost_usd, stored.accounting) == (Decimal(0), "complete")


def test_a_session_is_one_only_within_its_tenant() -> None:
    ingest(batch(1, [row(1), row(2, tenant="ten_basalt"), row(3)]), received_at=NOW)

    found = {s.tenant_uid: s.requests for s in SessionRecord.objects.all()}
    assert found == {"ten_orchid": 2, "ten_basalt": 1}
    orchid = RequestRecord.objects.filter(tenant_uid="ten_orchid").order_by("id")
    assert [each.turn for each in orchid] == [1, 2]


def test_a_ping_is_spend_of_its_session_and_no_turn_of_it() -> None:  # 03 §10.10 (138)
    ping = row(2, cost_usd="0.006", origin="keepalive")
    ingest(batch(1, [row(1), ping, row(3)]), received_at=NOW)

    session = SessionRecord.objects.get()
    assert (session.requests, session.cost_usd) == (2, Decimal("0.0158"))
    kept = RequestRecord.objects.order_by("id").values_list("origin", "turn")
    assert list(kept) == [("agent", 1), ("keepalive", 0), ("agent", 2)]


def test_new_sessions_are_counted_once() -> None:
    ingest(batch(1, [row(1), row(2)]), received_at=NOW)
    ingest(batch(2, [row(3), row(4, session="s2")]), received_at=NOW)

    assert TrafficBucket.objects.get(resolution_s=60).sessions == 2


def test_the_spend_of_a_month_adds_up_to_the_billionth() -> None:
    for seq in range(1, 8):
        ingest(batch(seq, [], [delta(1, billed_usd="0.000000001")]), received_at=NOW)

    assert MonthlySpend.objects.get().cost_usd == Decimal("0.000000007")


def test_a_marker_is_born_expanded_and_missed() -> None:
    ingest(batch(1, [row(1, minted=minted())]), received_at=NOW)
    ingest(batch(2, [row(2, recoveries=[RecoveryRow(MARKER, "resolved")])]), received_at=NOW)
    given_back = MarkerRecord.objects.get()

    ingest(batch(3, [lost(3)]), received_at=NOW)

    assert (given_back.state, given_back.expands, given_back.component) == ("expanded", 1, "mask")
    missing = MarkerRecord.objects.get()
    assert (missing.state, missing.lost_cause) == ("missing", "expired")
    assert RequestRecord.objects.get(turn=3).expand_missing == 1


@pytest.mark.parametrize("found", ["malformed", "never_minted", "foreign_session"])
def test_an_id_that_a_model_invented_gets_no_life_line(found: str) -> None:
    ingest(batch(1, [row(1, recoveries=[RecoveryRow(MARKER, found)])]), received_at=NOW)

    assert not MarkerRecord.objects.exists()
    assert RequestRecord.objects.get().expand_missing == 0


def test_the_page_of_a_component_is_told_in_the_same_transaction() -> None:
    ingest(batch(1, [row(1)]), received_at=NOW)

    told = {(e.topic, e.tenant_uid) for e in LiveEvent.objects.all()}
    assert ("component.mask", "ten_orchid") in told
    assert ("session.ten_orchid.s1", "ten_orchid") in told


def test_the_log_of_live_pages_stays_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("controlplane.telemetry.live_rows.RING", 20)
    monkeypatch.setattr("controlplane.telemetry.live_rows.TRIM_EVERY", 1)

    for seq in range(1, 30):
        ingest(batch(seq, [row(seq)]), received_at=NOW)

    assert LiveEvent.objects.count() <= 20


def test_what_ten_components_did_comes_back_in_the_order_they_ran() -> None:
    ten = [ComponentRow(f"c{9 - n}", "offload", saved=n, events={"e": n}) for n in range(10)]
    rows = [row(number, components=ten) for number in range(200)]

    ingest(batch(1, rows), received_at=NOW)

    assert RequestRecord.objects.count() == 200
    assert all(unpacked(each.runs) == ten for each in RequestRecord.objects.all())


def test_uses_of_one_credential_on_several_processes_are_one(tenant: Tenant) -> None:
    def used(first_at: int, last_at: int, session: str, model: str = "m") -> UseRow:
        return UseRow("prn_a", tenant.uid, first_at, last_at, session, model, 200)

    ingest(batch(1, uses=[used(30, 40, "later")]), received_at=NOW)
    ingest(batch(1, boot_id="boot-2", uses=[used(10, 20, "first")]), received_at=NOW)
    ingest(batch(2, boot_id="boot-2", uses=[used(10, 60, "first")]), received_at=NOW)

    found = CredentialUse.objects.get()
    assert (found.first_at, found.last_at, found.session_uid) == (10, 60, "first")
    assert queries.uses(["prn_a", "prn_b"]) == {"prn_a": found}


def test_gauges_of_a_shared_store_count_once_and_others_add_up() -> None:
    def said(held: int) -> dict[str, int]:
        return {"inflight": 1, "stash_live": held, "stash_capacity": 100}

    for node, boot, held in (("a", "1", 5), ("a", "2", 5), ("b", "1", 7)):
        ingest(batch(1, node_id=node, boot_id=boot, gauges=said(held)), received_at=NOW)
    ingest(batch(1, node_id="c", gauges=said(9), is_last=True), received_at=NOW)

    found = queries.gauges(NOW)
    assert dict(found.values) == {"inflight": 3, "stash_live": 12, "stash_capacity": 200}
    assert found.processes == 3


def test_a_node_with_a_bundle_answers_in_its_reports(tenant: Tenant) -> None:
    head = PublishedResource.objects.get(type="cg.tenant.v1", name=tenant.uid)
    answer = AnswerRow(head.type, head.name, head.epoch, head.version, head.hash)

    ingest(batch(1, answers=[answer]), received_at=NOW)
    assert [(row.node_id, row.state) for row in queries.nodes(NOW)] == [("node-a", "synced")]

    other = AnswerRow(head.type, head.name, head.epoch, head.version, "sha256:of-another")
    ingest(batch(2, answers=[other]), received_at=NOW)
    (row,) = queries.nodes(NOW)
    assert (row.state, row.problems) == ("apart", (f"cg.tenant.v1 {tenant.uid}",))
