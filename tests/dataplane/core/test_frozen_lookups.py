"""What a run says of earlier decisions: followed, never made, or given up (03 section 6.1)."""

from __future__ import annotations

from dataplane.core.components import format as lossless
from dataplane.core.components import mask
from dataplane.core.content import Content
from dataplane.core.declaration import Declaration
from dataplane.core.effects import SessionView
from dataplane.core.pipeline import PipelineStep, run
from dataplane.core.report import StepReport
from dataplane.core.run import Conditions
from tests.dataplane.core.build import M, tool_messages

SHORT = "[older tool output masked]"
OTHER = M.replace("row", "line")
MASK_ALL = mask.Config(keep_recent=0, min_tokens=1)


def report_of(
    *texts: str, view: SessionView, declaration: Declaration = mask.COMPONENT
) -> StepReport:
    config = MASK_ALL if declaration is mask.COMPONENT else None
    step = PipelineStep(declaration, config)
    return run([step], tool_messages(*texts), Conditions(view)).report.steps[0]


def frozen(*texts: str, kept: bool = False) -> SessionView:
    keys = [Content(text).content_key for text in texts]
    return SessionView(
        frozen={"mask": dict.fromkeys(keys, SHORT)}, kept=frozenset(keys if kept else ())
    )


def test_an_output_that_was_never_decided_about_is_a_miss() -> None:
    report = report_of(M, OTHER, view=frozen(M))

    assert (report.replays, report.misses, report.abandoned) == (1, 1, 0)


def test_a_declined_output_was_looked_up_too() -> None:
    report = report_of("short", view=SessionView())

    assert (report.misses, report.gates) == (1, {"marker_no_win": 1})


def test_a_decision_about_an_expanded_text_is_abandoned_on_every_turn() -> None:
    report = report_of(M, OTHER, view=frozen(M, OTHER, kept=True))

    assert (report.replays, report.misses, report.abandoned) == (0, 0, 2)


def test_a_request_declined_as_a_whole_looked_nothing_up() -> None:
    step = PipelineStep(mask.COMPONENT, mask.Config(keep_recent=3))

    report = run([step], tool_messages(M), Conditions(SessionView())).report.steps[0]

    assert (report.misses, report.gates) == (0, {"within_keep_recent": 1})


def test_a_component_that_freezes_nothing_has_no_misses() -> None:
    assert not lossless.COMPONENT.freezes

    assert report_of(M, view=SessionView(), declaration=lossless.COMPONENT).misses == 0
