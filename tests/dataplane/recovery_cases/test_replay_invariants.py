"""Whole recorded sessions, turn by turn through a node: reversible, and stable for the cache.

Cases are named by recording, pipeline and dialect. `pytest -s` prints what each run saved.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable
from itertools import product
from pathlib import Path

import pytest

from dataplane.core.text import marker
from dataplane.replay.bodies import Dialect
from dataplane.replay.importer import load
from dataplane.replay.outcome import totals
from tests import house
from tests.dataplane.gateway_cases.served import MASK_ALL
from tests.dataplane.recovery_cases.replayed import (
    Around,
    Replayed,
    Turn,
    replay,
    replay_around,
)

SESSIONS = sorted((house.ROOT / "tests/data/sessions").glob("*.json"))
TRAJECTORIES = sorted((house.ROOT / "tests/data/trajectories").glob("*.traj"))
DOCUMENTS = {
    "mask": "pipeline: [mask]\n",
    "mask-everything": MASK_ALL,
    "mask-cold": "pipeline: [mask]\ncomponents: {mask: {cold_cache: true}}\n",
    "all": (
        "pipeline: [dedup, format, mask, collapse, cachesplit]\n"
        "components: {mask: {cold_cache: true}}\n"
    ),
}
ACTS_WHEN_COLD = ("mask-cold", "all")
Case = tuple[Path, str, Dialect]


def cases() -> list[Case]:
    by_dialect: tuple[tuple[Dialect, list[Path]], ...] = (
        ("anthropic", [*SESSIONS, *TRAJECTORIES]),
        ("openai", TRAJECTORIES),
    )
    return [
        (path, document, dialect)
        for dialect, paths in by_dialect
        for path, document in product(paths, DOCUMENTS)
    ]


def named(case: Case) -> str:
    return f"{case[0].stem}-{case[1]}-{case[2]}"


@pytest.fixture(scope="module")
def replays() -> dict[Case, Replayed]:
    """Every case that was run so far in this module; each is run once."""
    return {}


@pytest.fixture(scope="module")
def around_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Path, Dialect], Around]:
    """A run around the pipeline is the same whatever document it goes around."""

    @functools.cache
    def made(path: Path, dialect: Dialect) -> Around:
        state_dir = tmp_path_factory.mktemp("around")
        return asyncio.run(replay_around(state_dir, load(path), DOCUMENTS["all"], dialect))

    return made


@pytest.fixture
def replayed(
    request: pytest.FixtureRequest,
    replays: dict[Case, Replayed],
    around_of: Callable[[Path, Dialect], Around],
    tmp_path: Path,
) -> Replayed:
    case: Case = request.param
    if case not in replays:
        path, document, dialect = case
        around = around_of(path, dialect)
        replays[case] = asyncio.run(
            replay(tmp_path, load(path), DOCUMENTS[document], dialect, around)
        )
        print_figures(case, replays[case])
    return replays[case]


def print_figures(case: Case, done: Replayed) -> None:
    with_, without = totals(done.run), totals(done.without)
    print(  # noqa: T201  the figures are the point of running with -s
        f"\n{named(case)}: {with_.turns} turns, {len(done.sources)} originals, "
        f"{with_.saved} of {with_.before} tokens saved; cache read {with_.cache_read} "
        f"(without {without.cache_read}), written {with_.cache_write} "
        f"(without {without.cache_write})"
    )


every_case = pytest.mark.parametrize("replayed", cases(), ids=named, indirect=True)
long_sessions_when_cold = pytest.mark.parametrize(
    "replayed",
    [(path, document, "anthropic") for path in SESSIONS for document in ACTS_WHEN_COLD],
    ids=named,
    indirect=True,
)


@every_case
def test_every_marker_that_the_provider_saw_opens_to_what_the_agent_had_sent(
    replayed: Replayed,
) -> None:
    replaced = [p for turn in replayed.turns for p in turn.positions if p.is_replaced]

    assert replayed.run.failed == replayed.without.failed == 0
    assert {r.status_code for r in replayed.sources.values()} <= {200}
    for position in replaced:
        for marker_id in marker.find(position.got):
            assert replayed.sources[marker_id].content == position.asked.encode()


@every_case
def test_what_carries_no_marker_was_changed_by_nobody_but_a_lossless_component(
    replayed: Replayed, request: pytest.FixtureRequest
) -> None:
    verbatim = [p for turn in replayed.turns for p in turn.positions if not p.is_replaced]

    lossless = "-all-" in request.node.name
    assert all(p.got == p.asked or (lossless and len(p.got) < len(p.asked)) for p in verbatim)


@every_case
def test_each_turn_begins_with_the_bytes_of_the_turn_before_unless_the_cache_has_expired(
    replayed: Replayed, request: pytest.FixtureRequest
) -> None:
    acts_when_cold = any(f"-{name}-" in request.node.name for name in ACTS_WHEN_COLD)

    for before, turn in replayed.pairs:
        changed = turn.changed_since(before)
        assert len(turn.messages) >= len(before.messages)
        assert not changed or (turn.is_cold and acts_when_cold)
        assert all(is_a_new_removal(before, turn, index) for index in changed)


def is_a_new_removal(before: Turn, now: Turn, index: int) -> bool:
    grew = len(now.messages[index]) >= len(before.messages[index])
    return bool(marker.find_in_json(now.messages[index])) and not grew


@pytest.mark.parametrize(
    "replayed",
    [(path, "mask-everything", "anthropic") for path in SESSIONS],
    ids=named,
    indirect=True,
)
def test_masking_every_output_at_once_leaves_a_prefix_that_is_never_written_twice(
    replayed: Replayed,
) -> None:
    with_, without = totals(replayed.run), totals(replayed.without)

    assert with_.saved is not None
    assert with_.saved > 0
    assert with_.cache_write is not None
    assert without.cache_write is not None
    assert with_.cache_write < without.cache_write


@long_sessions_when_cold
def test_a_turn_after_the_cache_has_expired_masks_at_depth(replayed: Replayed) -> None:
    depths = {number: depth_of_change(replayed, number) for number in replayed.cold}

    assert depths
    assert all(depth is not None for depth in depths.values())
    saved = totals(replayed.run).saved
    assert saved is not None
    assert saved > 0


def depth_of_change(replayed: Replayed, number: int) -> int | None:
    """How many messages before the newest the deepest change lies; None without one."""
    turn = replayed.turns[number]
    changed = turn.changed_since(replayed.turns[number - 1])
    return len(turn.messages) - 1 - min(changed) if changed else None


@long_sessions_when_cold
def test_warm_turns_after_a_cold_one_send_and_read_what_it_left(replayed: Replayed) -> None:
    """What the cold turn wrote is read by the next one, so its removals were replayed."""
    followers = [n + 1 for n in replayed.cold if n + 1 < len(replayed.turns)]

    assert followers
    for number in followers:
        before, turn = replayed.turns[number - 1], replayed.turns[number]
        assert turn.changed_since(before) == []
        assert any(position.is_replaced for position in turn.positions)
        assert replayed.cache_read(number) > 0


def test_the_long_gap_of_the_first_session_is_one_of_the_cold_turns() -> None:
    recording = load(SESSIONS[0])

    gaps = [b.at - a.at for a, b in zip(recording.turns, recording.turns[1:], strict=False)]
    assert round(max(gaps)) == 3705
