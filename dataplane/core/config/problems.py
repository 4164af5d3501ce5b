"""What is wrong with a document: one object for editor, API, command line and node.

Source: 04-controlplane-and-dashboard.md 2.4. The texts of the codes are in wording.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal

import msgspec

from dataplane.core.config.phrases import Severity
from dataplane.core.config.tree import Path, ScalarValue, Span, pointer
from dataplane.core.config.wording import WORDINGS
from dataplane.core.text.secrets import HIDDEN, is_credential, shown

MAX_PROBLEMS = 100
_SEVERITIES: tuple[Severity, ...] = ("error", "warning", "advice")
_NOWHERE = 1 << 31  # sorts what has no position behind what has one


class DocumentRef(msgspec.Struct, frozen=True):
    """Where a value was written: server_default, org_default, preset, tenant or effective."""

    layer: str
    name: str = ""
    version: int | None = None

    def __str__(self) -> str:
        label = f"{self.layer}:{self.name}" if self.name else self.layer
        return label if self.version is None else f"{label}@v{self.version}"


class Edit(msgspec.Struct, frozen=True, omit_defaults=True):
    """One change that the editor can make: op is delete, rename, move, set or insert_after."""

    op: str
    path: str
    to: str | None = None
    anchor: str | None = None
    value: Any = None


class Replacement(msgspec.Struct, frozen=True):
    """What to write instead, as a sentence and as edits."""

    kind: Literal["move", "rename", "delete", "set", "none"] = "none"
    text: str = ""
    edits: tuple[Edit, ...] = ()


class Suggestion(msgspec.Struct, frozen=True):
    """A did-you-mean: the text to write and where it would be legal."""

    text: str
    path: str
    kind: Literal["spelling", "misplaced"] = "spelling"


class Range(msgspec.Struct, frozen=True):
    """What type and bounds (inclusive) a value must have."""

    type: str
    min: float | None = None
    max: float | None = None


class OneOf(msgspec.Struct, frozen=True):
    enum: tuple[str | int, ...]


class Inner(msgspec.Struct, frozen=True):
    """What is wrong inside a value that is a document itself; the position is within it."""

    line: int
    column: int
    message: str


class Problem(msgspec.Struct, frozen=True):
    """One error, warning or advice. path is an RFC 6901 pointer; positions as in tree.Span.

    value: the offending scalar as a person may see it: at most 120 characters, "«secret»" for a
    credential. document: the layer that wrote the value. errors: inside a value.
    """

    code: str
    severity: Severity
    path: str
    key: str | None
    component: str | None
    line: int | None
    column: int | None
    column_utf16: int | None
    end_line: int | None
    end_column: int | None
    message: str
    reason: str | None
    value: ScalarValue = None
    expected: Range | OneOf | None = None
    replacement: Replacement = Replacement()
    suggestions: tuple[Suggestion, ...] = ()
    doc: str = ""
    document: DocumentRef | None = None
    errors: tuple[Inner, ...] = ()


class ConfigError(Exception):
    """A document that cannot be used; problems holds at least one error."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__(summary(problems))
        self.problems = tuple(problems)


def problem(code: str, path: Path, span: Span | None, **facts: object) -> Problem:
    """A problem with its texts filled in; add the rest with msgspec.structs.replace.

    A fact that holds a credential is not repeated, whatever the problem is about.
    """
    wording = WORDINGS[code]
    facts = {name: _without_secrets(fact) for name, fact in facts.items()}
    steps = tuple(step if isinstance(step, int) else str(shown(step)) for step in path)
    key = steps[-1] if steps and isinstance(steps[-1], str) else None
    reason = wording.reason.format(**facts)
    return Problem(
        code=code,
        severity=wording.severity,
        path=pointer(steps),
        key=key,
        component=_component(steps),
        line=span.line if span else None,
        column=span.column if span else None,
        column_utf16=span.column_utf16 if span else None,
        end_line=span.end_line if span else None,
        end_column=span.end_column if span else None,
        message=wording.message.format(**facts),
        reason=reason or None,
        replacement=Replacement(text=wording.fix.format(**facts)),
        doc=f"/docs/errors/{code}",
    )


def _without_secrets(fact: object) -> object:
    return HIDDEN if isinstance(fact, str) and is_credential(fact) else fact


def with_edits(
    found: Problem,
    kind: Literal["move", "rename", "delete", "set", "none"],
    *edits: Edit,
    text: str | None = None,
) -> Problem:
    """The same problem with a machine-applicable replacement."""
    written = found.replacement.text if text is None else text
    return msgspec.structs.replace(found, replacement=Replacement(kind, written, edits))


def ordered(problems: Iterable[Problem]) -> list[Problem]:
    """By line, then column; what has no position comes last. Equal problems appear once."""
    return sorted(dict.fromkeys(problems), key=_place)


def capped(problems: Iterable[Problem]) -> tuple[tuple[Problem, ...], bool]:
    """At most MAX_PROBLEMS in order, and whether some were left out: errors stay longest."""
    every = ordered(problems)
    if len(every) <= MAX_PROBLEMS:
        return tuple(every), False
    gravest = sorted(every, key=lambda found: _SEVERITIES.index(found.severity))
    return tuple(ordered(gravest[:MAX_PROBLEMS])), True


def of(severity: Severity, problems: Iterable[Problem]) -> tuple[Problem, ...]:
    return tuple(found for found in problems if found.severity == severity)


def summary(problems: Sequence[Problem]) -> str:
    """ "3 errors, 1 warning": the detail line of the envelope."""
    counts = [(len(of(severity, problems)), severity) for severity in _SEVERITIES[:2]]
    words = [f"{count} {word}{'s' if count > 1 else ''}" for count, word in counts if count]
    return ", ".join(words) or "no errors"


def _component(path: Path) -> str | None:
    named = len(path) > 1 and path[0] == "components"
    return str(path[1]) if named else None


def _place(found: Problem) -> tuple[int, int, str, str]:
    return (found.line or _NOWHERE, found.column or _NOWHERE, found.path, found.code)
