"""What a run says of earlier decisions: followed, never made, or given up (03 §6.1)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from dataplane.core.components import format as lossless
from dataplane.core.components import mask
from dataplane.core.effects import SessionView
from dataplane.core.pipeline.loop import NoKeys, run
from dataplane.core.pipeline.run import Conditions
from dataplane.core.port.declaration import Declaration, Kind, PipelineStep
from dataplane.core.port.report import StepReport
from dataplane.core.port.turn import Replay, Step, ToolOutput, Turn
from dataplane.core.text.content import Content
from dataplane.core.text.marker import token
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
    decided = dict.fromkeys((Content(text).sha256 for text in texts), SHORT)
    expanded = frozenset(Content(text).content_key for text in texts) if kept else frozenset()
    return SessionView(frozen={"mask": decided}, kept=expanded)


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


def follows(outputs: tuple[ToolOutput, ...], config: NoKeys, turn: Turn) -> Iterable[Step]:
    """A component that replays whatever it is shown."""
    yield from (Replay(output.index) for output in outputs)


FOLLOWER = Declaration("follower", Kind.OFFLOAD, "Of a test.", None, (), follows, freezes=True)


def test_a_component_cannot_replay_what_was_never_decided_about_that_text() -> None:
    """Not even a decision about the same text in other white space."""
    wider = M.replace(" ", "  ")
    decided = frozen(M).frozen["mask"]
    view = SessionView(frozen={"follower": decided})
    state = run([PipelineStep(FOLLOWER, None)], tool_messages(wider), Conditions(view))

    assert state.report.steps[0].error.startswith("panic:")
    assert state.text_of(0).text == wider


def test_a_decision_whose_marker_is_another_texts_is_no_decision() -> None:
    foreign = {Content(M).sha256: f"[masked] {token(Content(OTHER).marker_id)}"}
    view = SessionView(frozen={"mask": foreign}, owned={Content(OTHER).marker_id: 0.0})

    report = report_of(M, view=view)

    assert (report.replays, report.misses) == (0, 1)


def test_what_a_provider_refused_is_barred_by_its_exact_text() -> None:
    wider = M.replace(" ", "  ")
    step = PipelineStep(mask.COMPONENT, MASK_ALL)
    given = Conditions(SessionView(), verbatim=frozenset({Content(M).sha256}))

    state = run([step], tool_messages(M, wider), given)

    assert state.report.steps[0].gates == {"refused_by_provider": 1}
    assert state.changes.keys() == {1}
    assert state.novelties() == {Content(wider).sha256}


def test_a_models_decision_is_not_followed_for_a_text_that_was_fetched_again() -> None:
    declared = replace(FOLLOWER, calls_model=True)
    view = SessionView(frozen={"follower": {f"{Content(M).sha256}@toolu_1": SHORT}})
    for call_id, errors in (("toolu_1", False), ("toolu_2", True)):
        (message,) = tool_messages(M)
        message.call_id = call_id

        state = run([PipelineStep(declared, None)], [message], Conditions(view))

        assert bool(state.report.steps[0].error) is errors
