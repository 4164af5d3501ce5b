"""Every ending is declared once and told everywhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from dataplane.adapters.figures import metric_names, stats
from dataplane.adapters.figures.totals import Totals
from dataplane.core.expand.endings import (
    CONTINUATION_FAILED,
    CONTINUATION_REFUSED,
    ENDINGS,
    HANDED_OVER,
    counted_as,
    is_for_a_retry,
    of_refusal,
)

GATEWAY = Path(__file__).parents[4] / "docs" / "gateway.md"


@pytest.mark.parametrize("ending", ENDINGS, ids=lambda ending: ending.name)
def test_an_ending_has_a_counter_a_series_and_its_row_in_the_reference(ending: object) -> None:
    name = ending.name  # type: ignore[attr-defined]
    totals = Totals()
    totals.counts[counted_as(name)] = 3
    series = [n for n, values in metric_names.LABELLED.items() if name in values]
    gets = "yes" if ending in HANDED_OVER else "no"
    rings = "yes" if ending.alert else "no"  # type: ignore[attr-defined]

    assert stats.counted(totals)["recovery_endings"][name] == 3
    assert [each.name for each in series] == ["cg_recovery_endings"]
    row = f"| `{name}` | {gets} | {rings} | {ending.meaning} |"  # type: ignore[attr-defined]
    assert row in GATEWAY.read_text()


@pytest.mark.parametrize("status", [408, 409, 425, 429, 500, 502, 503, 529])
def test_what_a_client_sends_again_is_no_refusal_of_ours(status: int) -> None:
    assert is_for_a_retry(status)
    assert of_refusal(status) is CONTINUATION_FAILED


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 422])
def test_what_no_retry_mends_is(status: int) -> None:
    assert not is_for_a_retry(status)
    assert of_refusal(status) is CONTINUATION_REFUSED


def test_an_answer_in_another_form_is_no_refusal() -> None:
    assert of_refusal(200) is CONTINUATION_FAILED
