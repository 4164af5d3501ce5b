"""A component that this build cannot run: an error where it would run, a warning in a preset."""

from __future__ import annotations

import pytest

from dataplane.core.components import components
from dataplane.core.config.check import check
from dataplane.core.config.edits import edited
from dataplane.core.config.layers import Context
from dataplane.core.config.problems import DocumentRef, Edit
from dataplane.core.config.source import EditError

SWEEP = "pipeline: [mask, extract_llm_sweep]\n"


@pytest.mark.parametrize(
    ("document", "severity"),
    [(DocumentRef("tenant"), "error"), (DocumentRef("preset", "ours"), "warning")],
)
def test_a_preset_may_name_what_only_another_build_can_run(
    document: DocumentRef, severity: str
) -> None:
    checked = check(SWEEP, context=Context(components(), document=document))

    (found,) = [p for p in checked.problems if p.code == "config.component_unavailable"]
    assert found.severity == severity
    assert (checked.effective is None) is (severity == "error")


def test_an_edit_that_names_no_place_is_refused() -> None:
    with pytest.raises(EditError):
        edited("mode: sync\n", Edit("set", "", value="off"))
