"""Each case of 08-field-cases.md that has a file, played as it stands."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from dataplane.simulator import Simulator
from tests.dataplane.field_cases import casefile, coverage
from tests.dataplane.field_cases.checks import check
from tests.dataplane.field_cases.playing import Played, staged

NAMES = [path.stem for path in casefile.files() if path.stem not in coverage.CONTROL_PLANE]


@pytest.mark.parametrize("name", NAMES)
async def test_the_case_holds(name: str, tmp_path: Path, simulator: Simulator) -> None:
    case = casefile.load(name)
    async with staged(case, tmp_path, simulator) as stage:
        played: list[Played] = []
        for turn in case.turns:
            played.append(await stage.play(turn))
            await check(name, stage, played)


STREAMS = ["W-01", "W-03", "W-06", "W-08", "W-09", "W-15", "W-30", "W-36", "W-37"]


@pytest.mark.parametrize("name", STREAMS)
async def test_the_case_holds_where_recovery_calls_are_looked_for_in_the_stream(
    name: str, tmp_path: Path, simulator: Simulator
) -> None:
    """The splice parses what the plain relay only reads; the client must not notice."""
    config = {"pipeline": ["mask"], "inject_expand": "always"}
    case = replace(casefile.load(name), setup={"config": config})
    async with staged(case, tmp_path, simulator) as stage:
        played = [await stage.play(case.turns[-1])]
        await check(name, stage, played)

        assert b"context_guru_expand" in played[0].body()
