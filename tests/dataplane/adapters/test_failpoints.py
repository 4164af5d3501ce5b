"""Where a test may let a process die (03 §5.10)."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from dataplane.adapters import failpoints

DIE = "from dataplane.adapters import failpoints as f; f.arm({!r}); f.reached('sweep'); print('on')"


def outcome(setting: str) -> tuple[int, str]:
    ran = subprocess.run(
        [sys.executable, "-c", DIE.format(setting)], capture_output=True, text=True, check=False
    )
    return ran.returncode, ran.stdout


@pytest.mark.parametrize(
    ("setting", "ended"),
    [
        ("", (0, "on\n")),
        ("checkpoint:1", (0, "on\n")),
        ("sweep:0", (0, "on\n")),
        ("sweep:1", (-signal.SIGKILL, "")),
        ("checkpoint:0, sweep:1", (-signal.SIGKILL, "")),
    ],
)
def test_a_process_dies_where_it_was_told_to_and_nowhere_else(
    setting: str, ended: tuple[int, str]
) -> None:
    assert outcome(setting) == ended


@pytest.mark.parametrize("setting", ["sweep", "sweep:", "sweep:2", "sweep:often", "lunch:1"])
def test_a_place_that_does_not_exist_or_has_no_probability_is_refused(setting: str) -> None:
    with pytest.raises(failpoints.FailpointError):
        failpoints.arm(setting)


def test_every_place_of_the_plan_has_a_name() -> None:
    assert sorted(failpoints.NAMES.values()) == [f"K{number}" for number in range(1, 10)]
