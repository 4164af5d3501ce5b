"""Rows of the Overview: formatted once, and a word wherever nothing was observed."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from hypothesis import given
from hypothesis import strategies as st

from controlplane.figures import tiles
from controlplane.figures.safety import safety
from controlplane.ui.watch import overview_rows
from controlplane.ui.watch.component_rows import component_rows
from controlplane.ui.watch.money_rows import money, money_note, waterfall
from dataplane.core.components import components
from tests.fakes.node import NOTHING, busy

TILES: tuple[Callable[[Mapping[str, object]], tuple[tiles.Tile, ...]], ...] = (
    tiles.volume,
    tiles.savings,
)


def test_what_was_only_observed_is_a_sentence_of_its_own() -> None:
    observed = {
        "observe_hypothetical_requests": 12,
        "actual_baseline_tokens": 40_000,
        "potential_saved_tokens": 10_000,
    }

    assert overview_rows.projection(busy()) == ""
    assert overview_rows.projection(observed).replace("\u00a0", " ") == (
        "mode observe: 12 requests measured and sent unchanged; "
        "sync would have left out 10,000 tokens (25.0 %)"
    )


def test_observations_that_were_dropped_make_the_projection_a_lower_bound() -> None:
    observed = {
        "observe_hypothetical_requests": 12,
        "actual_baseline_tokens": 40_000,
        "potential_saved_tokens": 10_000,
        "observe_dropped": 2,
        "observe_abandoned": 1,
    }

    assert overview_rows.projection(observed).replace("\u00a0", " ") == (
        "mode observe: 12 requests measured and sent unchanged; "
        "sync would have left out at least 10,000 tokens (25.0 %); "
        "3 more requests could not be measured"
    )
    assert overview_rows.projection({"observe_dropped": 1}).replace("\u00a0", " ") == (
        "mode observe: 1 request could not be measured"
    )


@given(key=st.sampled_from(sorted(busy())))
def test_a_figure_that_is_missing_is_never_shown_as_a_number(key: str) -> None:
    for stats in ({}, {key: None}):
        figures_shown = [
            *(tile.figure for build in TILES for tile in build(stats)),
            *(tile.figure for tile in safety(stats).tiles),
            *(row.tokens for row in overview_rows.billed_tiers(stats)),
            *(row.share for row in overview_rows.billed_tiers(stats)),
            *(row.mean for row in overview_rows.latency(stats)),
            *(row.figure for row in money(stats)),
        ]

        assert all(figure.is_word for figure in figures_shown)


def test_an_hour_long_write_is_not_counted_twice_among_the_tiers() -> None:
    tiers = {row.name: str(row.tokens) for row in overview_rows.billed_tiers(busy())}

    assert tiers["Cache write, 5 min"] == "88.6\u00a0M"
    assert tiers["Cache write, 1 h"] == "8.20\u00a0M"
    assert str(overview_rows.billed_total(busy())) == "1.22\u00a0G"


def test_what_nobody_could_price_is_unknown_and_the_page_says_why() -> None:
    stats = busy(billed_usd=None, unpriced_requests=1)
    baseline, billed, own, net = money(stats)

    assert [str(row.figure) for row in (baseline, billed, net)] == ["unknown"] * 3
    assert billed.note == "(1\u00a0request without a price not included)"
    assert str(own.figure) == "$0.00"
    assert "on the price card" in money_note(stats)
    assert waterfall(stats) == ()


def test_a_net_below_zero_is_worded_as_a_cost() -> None:
    net = money(busy(baseline_usd="607.18"))[-1]

    assert (str(net.figure), net.note, net.is_loss) == (
        "\N{MINUS SIGN}$4.10",
        "costs more than it saves",
        True,
    )


def test_pings_are_a_step_of_their_own_and_no_loss_of_compaction() -> None:
    kept = {"pings": 2, "rescues": 1, "net_usd": "-0.0100"}
    steps = waterfall(busy(baseline_usd="0.1000", billed_usd="0.1000", keepalive=kept))

    assert [(step.name, str(step.figure).replace("\u00a0", " ")) for step in steps] == [
        ("Compaction", "+$0.0100"),
        ("Keep-alive", "\N{MINUS SIGN}$0.0100"),
        ("Own model spend", "$0.00"),
        ("Net", "$0.00"),
    ]
    assert (steps[1].note.replace("\u00a0", " "), steps[1].look) == ("2 pings, 1 rescue", "is-cost")
    assert (steps[1].x, steps[1].width) == ("0.00", "100.00")


def test_the_waterfall_leads_from_what_was_spared_to_what_is_left_of_it() -> None:
    spent = {"llm_calls": 258, "extract": {"extraction_cost_usd": "6.12"}}
    steps = waterfall(busy(baseline_usd="696.67", **spent))

    assert [(step.name, str(step.figure), step.x, step.width) for step in steps] == [
        ("Compaction", "+$85.39", "0", "100.00"),
        ("Own model spend", "\N{MINUS SIGN}$6.12", "92.83", "7.17"),
        ("Net", "+$79.27", "0", "92.83"),
    ]
    assert steps[-1].note == "11.4\u00a0% of the baseline"


def test_reasons_for_leaving_a_request_alone_are_shares_of_all_requests() -> None:
    rows = overview_rows.not_compacted(busy())

    assert [(row.name, str(row.requests), str(row.share)) for row in rows] == [
        ("Tenant in observe mode", "2,073", "11.3\u00a0%"),
        ("Body could not be read", "7", "<\u00a00.1\u00a0%"),
    ]


def test_a_mean_over_nothing_is_no_data_and_one_that_was_not_kept_is_unknown() -> None:
    stats = busy(sse_buffered=3)

    assert {row.name: str(row.mean) for row in overview_rows.latency(stats)} == {
        "First byte, streamed": "1.1\u00a0s",
        "Last byte, buffered": "unknown",
    }
    assert {str(row.mean) for row in overview_rows.latency(NOTHING)} == {"no data"}


def test_a_component_row_keeps_gates_and_events_apart_and_explains_them() -> None:
    (row,) = component_rows(busy(), tuple(components().values()))

    assert [(gate.name, str(gate.times)) for gate in row.gates] == [
        ("below_min_tokens", "40,213"),
        ("cached_prefix", "12,030"),
    ]
    assert all(gate.meaning for gate in row.gates)
    assert [event.name for event in row.events] == ["sweep_dropped"]
    assert (row.verdict.word, str(row.each_run)) == ("acted", "3.2\u00a0ms")
    assert row.acted_how == "1,220 new, 7,900 replayed"


def test_a_component_without_a_verdict_says_no_data() -> None:
    (row,) = component_rows({"components": {"mask": {}}})

    assert row.verdict.word == "no data"
    assert row.runs.is_word
    assert row.each_run.is_word
