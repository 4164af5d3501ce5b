"""Each case of 08-field-cases.md that has a file, played as it stands."""

from __future__ import annotations

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
