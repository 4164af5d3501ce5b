"""Replays reach a provider and report what it billed. The provider is the simulated one."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from dataplane.core.wire.usage import Usage
from dataplane.replay.answers import usage_of
from dataplane.replay.bodies import Dialect, Style
from dataplane.replay.main import main
from dataplane.replay.outcome import Run, TurnOutcome, changed, counters, difference, totals
from dataplane.replay.recording import Recording, RecordingError
from dataplane.replay.sender import Pace, Replay, Target
from dataplane.simulator.server import Recorded, Simulator
from tests.dataplane.replay.builders import conversation

DATA = Path(__file__).resolve().parents[2] / "data"
LONG = "line of output\n" * 600


def replay(url: str, recording: Recording, dialect: Dialect = "anthropic", **more: Any) -> Replay:
    """stream, bypass, key, model and pace go where they belong."""
    model = more.get("model") or ("claude-sonnet-5" if dialect == "anthropic" else "gpt-5.6")
    return Replay(
        recording=recording,
        style=Style(dialect=dialect, model=model, stream=more.get("stream", False)),
        target=Target(
            url=url,
            key=more.get("key", ""),
            provider_key="sk-test-0000000000000000",
            session="s-1",
            bypass=more.get("bypass", False),
        ),
        pace=more.get("pace", Pace(compressed_from=1_800_000_000.0)),
    )


def ignore(_: TurnOutcome) -> None:
    """A note that nobody reads."""


@pytest.mark.parametrize("stream", [False, True], ids=["json", "stream"])
async def test_an_anthropic_replay_reads_what_the_turn_before_wrote(
    simulator: Simulator, *, stream: bool
) -> None:
    run = await replay(simulator.url, conversation(printed=LONG), stream=stream).run("with", ignore)
    again = await replay(simulator.url, conversation(printed=LONG), stream=stream).run(
        "with", ignore
    )

    written, read = run.outcomes[1].usage, again.outcomes[1].usage
    assert written is not None
    assert read is not None
    assert written.cache_write > 1024
    assert read.cache_read == written.cache_write
    assert all(outcome.usd for outcome in run.outcomes)


async def test_a_prefix_that_expired_in_recorded_time_is_written_again(
    simulator: Simulator,
) -> None:
    recording = conversation(printed=LONG)
    await replay(simulator.url, recording).run("with", ignore)
    later = Pace(compressed_from=1_800_000_000.0 + 400)

    run = await replay(simulator.url, recording, pace=later).run("with", ignore)

    assert totals(run).cache_read == 0


@pytest.mark.parametrize("stream", [False, True], ids=["json", "stream"])
async def test_an_openai_replay_reports_usage_and_no_price_it_does_not_know(
    simulator: Simulator, *, stream: bool
) -> None:
    sums = []
    for model in ("gpt-5.6", "house-model"):
        sent = replay(simulator.url, conversation(), "openai", stream=stream, model=model)
        sums.append(totals(await sent.run("with", ignore)))

    assert all(each.fresh for each in sums)
    assert [each.usd is None for each in sums] == [False, True]


async def test_a_turn_names_tenant_session_and_time_in_its_headers(simulator: Simulator) -> None:
    await replay(simulator.url, conversation(), key="cg_live_x", bypass=True).run("without", ignore)

    sent = [r for r in simulator.requests if r.method == "POST"]
    assert [r.header("x-headrace-now") for r in sent] == ["1800000000.000", "1800000005.000"]
    assert {r.header("x-context-guru-token") for r in sent} == {"cg_live_x"}
    assert {r.header("x-context-guru-session") for r in sent} == {"s-1"}
    assert {r.header("x-context-guru-bypass") for r in sent} == {"true"}


async def test_a_replay_in_real_time_names_no_time_and_waits_for_the_gaps(
    simulator: Simulator,
) -> None:
    recording = conversation(gap_s=3600)

    with pytest.raises(TimeoutError):
        async with asyncio.timeout(1):
            await replay(simulator.url, recording, pace=Pace()).run("with", ignore)

    sent = [r for r in simulator.requests if r.method == "POST"]
    assert len(sent) == 1
    assert sent[0].header("x-headrace-now") is None


async def test_speed_divides_the_gaps(simulator: Simulator) -> None:
    pace = Pace(speed=1_000_000)

    run = await replay(simulator.url, conversation(gap_s=3600), pace=pace).run("with", ignore)

    assert [outcome.status for outcome in run.outcomes] == [200, 200]


async def test_times_can_be_named_while_the_gaps_are_waited_for(simulator: Simulator) -> None:
    pace = Pace(compressed_from=1_800_000_000.0, speed=1_000_000, waits=True)

    await replay(simulator.url, conversation(gap_s=3600), pace=pace).run("with", ignore)

    sent = [r for r in simulator.requests if r.method == "POST"]
    assert [r.header("x-headrace-now") for r in sent] == ["1800000000.000", "1800003600.000"]


async def test_a_resumed_session_begins_with_its_whole_history(simulator: Simulator) -> None:
    recording = conversation(gap_s=3600)

    run = await replay(simulator.url, recording.resumed(2)).run("with", ignore)

    assert [(outcome.messages, outcome.at) for outcome in run.outcomes] == [
        (recording.turns[1].upto, 0)
    ]
    with pytest.raises(RecordingError, match="no turn 3"):
        recording.resumed(3)


async def test_a_refused_turn_is_reported_and_the_next_one_is_sent(simulator: Simulator) -> None:
    def refuse_the_first(request: Recorded) -> None:
        if request.method == "POST" and request.header("x-headrace-now") == "1800000000.000":
            simulator.script({"status": 529})

    simulator.on_request = refuse_the_first

    run = await replay(simulator.url, conversation()).run("with", ignore)

    assert [outcome.status for outcome in run.outcomes] == [529, 200]
    assert "overloaded" in run.outcomes[0].error
    assert run.failed == 1


# --- the command


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "dataplane.replay", *arguments],
        capture_output=True,
        text=True,
        check=False,
    )


async def test_the_command_prints_a_line_a_turn_and_the_totals(simulator: Simulator) -> None:
    path = DATA / "trajectories" / "simple-function-calling.traj"

    ran = await asyncio.to_thread(command, str(path), "--url", simulator.url, "--compressed")

    assert ran.returncode == 0, ran.stderr
    assert "with: 6 turns, 0 failed" in ran.stdout
    assert ran.stdout.splitlines()[2].split()[:3] == ["1", "1", "0.0"]


async def test_the_comparison_runs_twice_under_sessions_and_caches_of_their_own(
    simulator: Simulator,
) -> None:
    path = DATA / "claude-code" / "rewound.jsonl"
    options = ("--url", simulator.url, "--compressed", "--compare", "--json")

    ran = await asyncio.to_thread(command, str(path), *options)

    value = json.loads(ran.stdout)
    with_, without = value["runs"]
    assert (with_["label"], without["label"]) == ("with", "without")
    assert with_["session"] != without["session"]
    assert value["difference"]["cache_write"] == 0
    assert Decimal(value["difference"]["usd"]) == 0
    sent = [r for r in simulator.requests if r.method == "POST"]
    assert [r.header("x-context-guru-bypass") for r in sent] == [None] * 3 + ["true"] * 3
    assert len({r.header("x-api-key") for r in sent}) == 2


@pytest.mark.parametrize("path", sorted(DATA.glob("*/*.traj")), ids=lambda path: path.name)
@pytest.mark.parametrize("dialect", ["anthropic", "openai"])
async def test_every_trajectory_is_accepted_in_both_dialects(
    simulator: Simulator, path: Path, dialect: str
) -> None:
    options = ("--url", simulator.url, "--compressed", "--dialect", dialect)

    ran = await asyncio.to_thread(command, str(path), *options)

    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_a_file_that_is_no_recording_ends_the_command_with_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "x"
    path.write_text("nothing")

    assert main([str(path), "--url", "http://127.0.0.1:9"]) == 2
    assert "line 1" in capsys.readouterr().err


def test_an_address_where_nobody_listens_ends_the_command_with_2(
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = DATA / "claude-code" / "rewound.jsonl"

    assert main([str(path), "--url", "http://127.0.0.1:9"]) == 2
    assert "127.0.0.1:9" in capsys.readouterr().err


# --- sums


def outcome(**more: Any) -> TurnOutcome:
    return TurnOutcome(turn=1, messages=1, at=0.0, status=more.pop("status", 200), **more)


def run_of(*outcomes: TurnOutcome) -> Run:
    return Run(label="with", session="s", outcomes=outcomes)


def test_totals_add_up_what_every_turn_reported() -> None:
    usage = Usage(fresh_input=1, cache_read=2, cache_write=3, output=4)
    sums = totals(run_of(*[outcome(before=10, after=4, usage=usage, usd=Decimal("0.1"))] * 3))

    assert (sums.before, sums.after, sums.saved) == (30, 12, 18)
    assert (sums.fresh, sums.cache_read, sums.cache_write, sums.output) == (3, 6, 9, 12)
    assert sums.usd == Decimal("0.3")


def test_a_total_with_an_unknown_part_is_unknown() -> None:
    sums = totals(run_of(outcome(before=10, usd=Decimal(1)), outcome()))

    assert (sums.before, sums.fresh, sums.usd) == (None, None, None)


def test_a_turn_that_failed_does_not_make_the_sums_unknown() -> None:
    sums = totals(run_of(outcome(before=10, after=1), outcome(status=500)))

    assert (sums.before, sums.failed) == (10, 1)


def test_the_difference_of_an_unknown_figure_is_unknown() -> None:
    known, unknown = totals(run_of(outcome(before=7))), totals(run_of(outcome()))

    assert difference(known, known)["before"] == 0
    assert difference(known, unknown)["before"] is None


def test_only_counters_that_moved_are_shown_under_their_dotted_names() -> None:
    before = counters({"requests": 1, "components": {"mask": {"acted": 2}}})
    after = counters({"requests": 3, "components": {"mask": {"acted": 2, "gates": {"g": 1}}}})

    assert changed(before, after) == {"requests": 2, "components.mask.gates.g": 1}


def test_ratios_durations_truth_values_and_the_load_of_the_moment_are_no_counters() -> None:
    assert counters({"savings_pct": 1.5, "ready": True, "mode": "sync", "inflight": 3}) == {}


def test_an_answer_without_usage_has_an_unknown_one() -> None:
    assert usage_of(b'{"id":"x"}', "anthropic", "application/json") is None
    assert usage_of(b"data: [DONE]\n\n", "openai", "text/event-stream") is None
