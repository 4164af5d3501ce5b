"""What components edit outside the messages (01-components.md 1.2, 2.18)."""

from __future__ import annotations

from collections.abc import Sequence

from dataplane.core.port.declaration import PipelineStep
from dataplane.core.port.report import RunReport
from dataplane.core.wire.message import Conversation
from dataplane.core.wire.spans import UnparseableError
from dataplane.core.wire.splice import Edit


def envelope_edits(
    steps: Sequence[PipelineStep], conversation: Conversation, report: RunReport
) -> list[Edit]:
    """The edits of every envelope component, in the order of the pipeline.

    report: of the run of the same steps; it says which of them did something.
    """
    edits: list[Edit] = []
    for step, told in zip(steps, report.steps, strict=True):
        own = _edits(step, conversation)
        if own:
            told.skipped = False
            edits += own
    return edits


def _edits(step: PipelineStep, conversation: Conversation) -> list[Edit]:
    if step.declaration.rewrite is None:
        return []
    try:
        return step.declaration.rewrite(conversation, step.config)
    except UnparseableError:
        return []
