"""The safety strip: calm only where a loss was looked for (04 §5.1)."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from controlplane.figures.safety import safety
from tests.fakes.node import NOTHING, busy


@pytest.mark.parametrize(
    ("stats", "state", "verdict"),
    [
        pytest.param(None, "unknown", "Loss is unknown", id="no node"),
        pytest.param(NOTHING, "unknown", "Nothing observed yet", id="no traffic"),
        pytest.param({"requests": 3}, "unknown", "Loss is unknown", id="not reported"),
        pytest.param(busy(), "calm", "Nothing lost", id="calm"),
        pytest.param(busy(expand_unresolved_missing=1), "lost", "1 original lost", id="one"),
        pytest.param(busy(stash_missing=3), "lost", "3 originals lost", id="on replay"),
        pytest.param(
            NOTHING | {"expand_unresolved_missing": 2},
            "lost",
            "2 originals lost",
            id="lost before traffic",
        ),
    ],
)
def test_the_safety_strip_says_calm_only_where_loss_was_looked_for(
    stats: Mapping[str, object] | None, state: str, verdict: str
) -> None:
    strip = safety(stats)

    assert (strip.state, strip.verdict) == (state, verdict)


@pytest.mark.parametrize(
    ("expands", "basis"),
    [
        (0, "No agent has asked for an original back yet; every marker sent is held."),
        (1, "The one expand so far found its original."),
        (214, "Every one of 214 expands found its original."),
    ],
)
def test_nothing_lost_says_what_it_rests_on(expands: int, basis: str) -> None:
    assert safety(busy(bounces=expands)).basis == basis


def test_a_loss_names_its_cause() -> None:
    stats = busy(
        expand_unresolved_missing=3, expand_unresolved_missing_by={"expired": 2, "lost": 1}
    )

    assert "Of them, 2 expired too early: keep originals longer; 1 no longer" in safety(stats).basis
    assert "Of them" not in safety(busy(expand_unresolved_missing=1)).basis


def test_declined_removals_and_invented_handles_are_not_a_loss() -> None:
    assert safety(busy(stash_refused=14, expand_unresolved_malformed=3)).state == "calm"
