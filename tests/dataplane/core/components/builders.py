"""Tool outputs for component tests, and the text an accepted step leaves behind."""

from __future__ import annotations

from collections.abc import Iterable

from dataplane.core.port.declaration import MarkerMode
from dataplane.core.port.turn import Offload, Rewrite, Step, ToolOutput, Turn
from dataplane.core.text.content import Content
from dataplane.core.text.marker import SENTINEL, token

M = "\n".join(f"row {i:03d} value {i * i}" for i in range(1, 41))  # 01 §6.1
M_MARKER = "<<cg:cd972f8e3307de8d>>"
HINT = " [full output: call context_guru_expand]"
PLAIN = Turn()


def output(
    text: str, index: int = 0, *, rewritable: bool = True, marked: bool = False
) -> ToolOutput:
    content = Content(text)
    return ToolOutput(index, content, content, rewritable=rewritable, carries_marker=marked)


def outputs(*texts: str) -> tuple[ToolOutput, ...]:
    """Tool outputs at the message indices 0, 1, 2, …; copies of one text know their number."""
    return tuple(
        ToolOutput(index, Content(text), Content(text), occurrence=texts[:index].count(text))
        for index, text in enumerate(texts)
    )


def composed(step: Step, original: str, mode: MarkerMode = "full") -> str:
    """The text that the step puts in the place of the original (01 §1.5)."""
    if isinstance(step, Rewrite):
        return step.text
    assert isinstance(step, Offload)
    marks = {"full": token(Content(original).marker_id) + step.hint, "summary": SENTINEL, "off": ""}
    return step.before + marks[mode] + step.after


def only(steps: Iterable[Step]) -> Step:
    """The one step there is."""
    (step,) = steps
    return step
