"""The order in which the page tells problems (04 §5.9)."""

from __future__ import annotations

from typing import Any

from controlplane.ui.configs import problem_rows
from controlplane.ui.configs.problem_groups import grouped


def row(code: str, severity: str, line: int) -> dict[str, Any]:
    """As a version keeps it, in as far as a person reads it."""
    place = {"path": f"/{line}", "line": line, "column": 1}
    return {"code": code, "severity": severity, "message": "It is wrong.", **place}


def shown(*found: dict[str, Any]) -> list[tuple[str, str, int]]:
    groups = grouped(problem_rows.rows(found))
    return [(group.first.code, group.lines, group.others) for group in groups]


def test_what_blocks_saving_is_read_first_and_the_rest_in_the_order_of_the_text() -> None:
    assert shown(row("a", "advice", 1), row("w", "warning", 2), row("e", "error", 9)) == [
        ("e", "line 9:1", 0), ("w", "line 2:1", 0), ("a", "line 1:1", 0),
    ]  # fmt: skip


def test_three_of_one_code_are_one_entry_at_the_place_of_the_first() -> None:
    alike = [row("w", "warning", line) for line in (2, 4, 6)]

    assert shown(alike[0], row("x", "warning", 3), *alike[1:]) == [
        ("w", "lines 2, 4, 6", 2), ("x", "line 3:1", 0),
    ]  # fmt: skip


def test_two_of_one_code_and_any_number_of_errors_stay_apart() -> None:
    errors = [row("e", "error", line) for line in (1, 2, 3)]

    assert [others for _, _, others in shown(*errors, *[row("w", "warning", 5)] * 2)] == [0] * 5
