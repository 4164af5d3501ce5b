"""The form of a document as controls, and the edits that a posted form asks for (04 §2.10).

What there is to draw comes from the registry through configs.form_fields; no key is named here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import groupby
from typing import Any, Literal

from controlplane.configs import form_fields
from controlplane.configs.form_fields import Field, Group
from controlplane.digits import whole
from controlplane.figures.numerals import plural
from dataplane.core.components import components
from dataplane.core.config.resolve import Effective
from dataplane.core.port.declaration import Kind

Shape = Literal["choice", "number", "text", "lines", "secret", "elsewhere"]
RANK = {Kind.REFORMAT: 0, Kind.OFFLOAD: 1, Kind.ENVELOPE: 2}
DOES = {
    Kind.REFORMAT.value: "reformats, loses nothing",
    Kind.OFFLOAD.value: "removes, and keeps the original",
    Kind.ENVELOPE.value: "rewrites around the messages",
}


@dataclass(frozen=True, slots=True)
class Control:
    """One key. name: its JSON pointer. written: "" when the document does not write it.

    placeholder: what counts while it is not written. problem: why the posted value was not taken.
    lacks: what this build is missing to obey it.
    """

    name: str
    id: str
    label: str
    shape: Shape
    written: str
    placeholder: str
    title: str
    unit: str
    bounds: str
    low: str
    high: str
    step: str
    choices: tuple[str, ...]
    is_written: bool
    problem: str = ""
    lacks: str = ""


@dataclass(frozen=True, slots=True)
class Section:
    """A component with its place in the pipeline, or a group of the other keys.

    place: 1-based, 0 for one that was just ticked, None outside. told: "2 of 9 written".
    """

    name: str
    summary: str
    controls: tuple[Control, ...]
    does: str = ""
    calls_model: bool = False
    lacks: str = ""
    place: int | None = None

    @property
    def is_used(self) -> bool:
        return self.place is not None

    @property
    def is_open(self) -> bool:
        return any(control.problem for control in self.controls)

    @property
    def told(self) -> str:
        if not self.controls:
            return "no keys"
        written = sum(control.is_written for control in self.controls)
        return f"{written} of {plural(len(self.controls), 'key')} written"


@dataclass(frozen=True, slots=True)
class Drawn:
    """Components in pipeline order, the others, those that this build lacks; then other keys."""

    used: tuple[Section, ...]
    others: tuple[Section, ...]
    lacking: tuple[Section, ...]
    rest: tuple[Section, ...]

    @property
    def sections(self) -> tuple[Section, ...]:
        return (*self.used, *self.others, *self.lacking, *self.rest)

    def sent(self, posted: Mapping[str, str]) -> Drawn:
        """The same controls holding what was posted."""
        groups = (self.used, self.others, self.lacking, self.rest)
        return Drawn(*(tuple(_sent(section, posted) for section in group) for group in groups))


def drawn(
    source: str,
    effective: Effective,
    *,
    is_preset: bool = False,
    problems: Mapping[str, str] | None = None,
) -> Drawn:
    """problems: by JSON pointer what is to be said under a control."""
    document, *found = form_fields.form_of(source, effective, is_preset=is_preset)
    said = problems or {}
    every = [_section(group, effective, said) for group in found]
    others = [section for section in every if not section.is_used and not section.lacks]
    others.sort(key=lambda section: (RANK[components()[section.name].kind], section.name))
    return Drawn(
        tuple(section for section in every if section.is_used),
        tuple(others),
        tuple(section for section in every if not section.is_used and section.lacks),
        _rest(document, effective, said),
    )


def _section(group: Group, effective: Effective, said: Mapping[str, str]) -> Section:
    return Section(
        group.component,
        group.title,
        tuple(_control(field, effective, said) for field in group.fields),
        does=DOES[group.kind],
        calls_model=group.calls_model,
        lacks=group.lacks,
        place=group.place,
    )


def _rest(document: Group, effective: Effective, said: Mapping[str, str]) -> tuple[Section, ...]:
    """Keys at the top together, then a section for each block."""
    found = []
    for name, fields in groupby(sorted(document.fields, key=_block), key=_block):
        controls = tuple(_control(field, effective, said) for field in fields)
        found.append(Section(name, "", controls))
    return tuple(found)


def _block(field: Field) -> str:
    return field.name.split(".")[0] if "." in field.name else ""


def _control(field: Field, effective: Effective, said: Mapping[str, str]) -> Control:
    shape = shape_of(field)
    written = "" if field.written is None or field.secret else spelled(field.written)
    return Control(
        name=field.path,
        id=field.path.strip("/").replace("/", "-"),
        label=field.name,
        shape=shape,
        written=written,
        placeholder=_placeholder(field, effective),
        title=field.title,
        unit=field.unit,
        bounds=bounds(field),
        low=number(field.minimum),
        high=number(field.maximum),
        step=field.step,
        choices=_choices(field),
        is_written=field.is_written,
        problem=said.get(field.path, ""),
        lacks=field.lacks,
    )


def _choices(field: Field) -> tuple[str, ...]:
    if field.control == "toggle":
        return ("true", "false")
    return tuple(str(choice) for choice in field.choices)


def shape_of(field: Field) -> Shape:
    if field.secret:
        return "secret"
    if field.control in ("choice", "toggle"):
        return "choice"
    if isinstance(field.written, list) and any("\n" in str(one) for one in field.written):
        return "elsewhere"  # an entry of several lines cannot be told from several entries
    shapes: dict[str, Shape] = {"number": "number", "list": "lines"}
    return shapes.get(field.control, "text")


def _placeholder(field: Field, effective: Effective) -> str:
    """What counts without the key: what lower layers or the preset say, else the default."""
    if field.secret:
        return "set; leave empty to keep it" if field.is_written else "not set"
    below: Any = field.effective
    if field.is_written:
        said = effective.overridden.get(field.path, ())
        below = said[0].value if said else field.default
    below = field.default if below is None else below
    return "not set" if below is None else spelled(below) or "empty"


def bounds(field: Field) -> str:
    """ "1 to 24", "at least 1", and what 0 does."""
    low, high = number(field.minimum), number(field.maximum)
    said = f"{low} to {high}" if low and high else f"at least {low}" if low not in ("", "0") else ""
    if field.under is not None:
        said = f"{low or '0'} to below {number(field.under)}"
    zero = f"0 is {field.zero_means}" if field.zero_means else ""
    return "; ".join(part for part in (said, zero) if part)


def number(value: float | None) -> str:
    if value is None:
        return ""
    return str(int(value)) if float(value).is_integer() else str(value)


def spelled(value: object) -> str:
    """A value of a document as a control shows it; lists one entry a line."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        return "\n".join(str(item) for item in value)
    if isinstance(value, float | Decimal) and float(value).is_integer():
        return str(int(value))
    return str(value)


# ---- what a posted form asks for


def changed(shown: Drawn, posted: Mapping[str, str]) -> dict[str, str]:
    """What was sent back otherwise than it was shown, by pointer; "" clears a key."""
    values = {}
    for control in (control for section in shown.sections for control in section.controls):
        sent = posted.get(control.name)
        if sent is None or control.shape == "elsewhere":
            continue
        sent = sent.replace("\r\n", "\n").strip()
        if sent != control.written.strip():
            values[control.name] = sent
    return values


def pipeline_asked(shown: Drawn, posted: Mapping[str, str]) -> list[str] | None:
    """The pipeline as a whole, None when it stays as it is."""
    before = [section.name for section in shown.used]
    kept = [name for name in before if f"use.{name}" in posted]
    kept.sort(key=lambda name: _place(posted.get(f"place.{name}", ""), before.index(name) + 1))
    left = (*shown.others, *shown.lacking)
    new = [section.name for section in left if f"use.{section.name}" in posted]
    return None if kept == before and not new else in_order(kept, new)


def _place(sent: str, now: int) -> float:
    """Where a component wants to stand: in front of the one that stands there, or behind it."""
    wanted = whole(sent, now)
    return wanted + (wanted > now) / 2 - (wanted < now) / 2


def in_order(kept: Sequence[str], new: Sequence[str]) -> list[str]:
    """New components behind the last one that does the same kind of thing or a gentler one."""
    result = list(kept)
    for name in new:
        rank = _rank(name)
        at = [place for place, other in enumerate(result, 1) if _rank(other) <= rank]
        result.insert(max(at, default=0), name)
    return result


def _rank(name: str) -> int:
    return RANK[components()[name].kind]


def _sent(section: Section, posted: Mapping[str, str]) -> Section:
    controls = tuple(
        replace(control, written=posted.get(control.name, control.written))
        for control in section.controls
    )
    used = f"use.{section.name}" in posted
    place = section.place or 0 if used else None
    return replace(section, controls=controls, place=place)
