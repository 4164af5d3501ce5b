"""A pipeline as chips, as the text of a preset writes it."""

from __future__ import annotations

from dataclasses import dataclass

from controlplane.figures.numerals import plural
from dataplane.core.components import components
from dataplane.core.config.parse import parse
from dataplane.core.config.tree import SequenceNode, to_values
from dataplane.core.port.declaration import Kind


@dataclass(frozen=True, slots=True)
class Step:
    """A component of a pipeline. lacks: why it cannot run here, "" when it can."""

    name: str
    summary: str
    calls_model: bool
    removes: bool
    lacks: str


@dataclass(frozen=True, slots=True)
class Steps:
    """In order; of a preset that extends another, only what it writes itself."""

    each: tuple[Step, ...]

    @property
    def calls_model(self) -> bool:
        return any(step.calls_model for step in self.each)

    @property
    def missing(self) -> tuple[str, ...]:
        """What this build cannot run: while it is named, no tenant can follow the preset."""
        return tuple(step.name for step in self.each if step.lacks)

    @property
    def lacking(self) -> str:
        """How much of it cannot run here, "" when all of it can."""
        count = len(self.missing)
        return (
            f"{count} of {plural(len(self.each), 'step')} cannot run in this build" if count else ""
        )

    @property
    def removes(self) -> bool:
        return any(step.removes for step in self.each)


def steps(text: str, pipeline: tuple[str, ...] = ()) -> Steps:
    """pipeline: the resolved one, empty where the preset cannot run here."""
    return Steps(tuple(_step(name) for name in pipeline or _written(text)))


def _written(text: str) -> list[str]:
    tree = parse(text).tree
    entry = tree.get("pipeline") if tree else None
    listed = to_values(entry.value) if entry and isinstance(entry.value, SequenceNode) else []
    return [name for name in listed if isinstance(name, str)]


def _step(name: str) -> Step:
    declared = components().get(name)
    if declared is None:
        return Step(name, "", calls_model=False, removes=False, lacks="unknown here")
    return Step(
        name,
        declared.summary,
        declared.calls_model,
        declared.kind is Kind.OFFLOAD,
        "" if declared.available else declared.lacks,
    )
