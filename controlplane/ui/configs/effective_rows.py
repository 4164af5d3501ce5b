"""Rows of an effective document as words: values, origin chips, filters (04 §3.4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from controlplane.configs import effective_rows as found
from controlplane.ui.configs.controls import spelled
from dataplane.core.config.imposed import Imposed
from dataplane.core.config.resolve import Effective

LAYERS = {
    "default": ("default", ""),
    "server_default": ("server default", "quiet"),
    "org_default": ("organisation default", "quiet"),
    "preset": ("preset", "event"),
    "tenant": ("tenant", "accent"),
    "environment": ("environment of the node", "watch"),
}


@dataclass(frozen=True, slots=True)
class Chip:
    """Where a value was written: words, the tone that repeats them, and the exact place."""

    words: str
    tone: str
    exactly: str


@dataclass(frozen=True, slots=True)
class Overridden:
    value: str
    origin: Chip


@dataclass(frozen=True, slots=True)
class Row:
    """key: of a component, dotted. layer: the highest document that says it. is_imposed: none of
    them counts. is_ignored: the component is not in the pipeline.
    """

    component: str
    key: str
    value: str
    unit: str
    meaning: str
    origin: Chip
    overridden: tuple[Overridden, ...]
    layer: str
    calls_model: bool
    is_imposed: bool
    is_ignored: bool


FILTERS = (
    ("", "Differs from the defaults"),
    ("own", "Written here"),
    ("models", "Components that ask a model"),
    ("all", "Every key"),
)


def rows(effective: Effective, imposed: Sequence[Imposed] = ()) -> tuple[Row, ...]:
    """imposed: what the environment of the node sets above every document."""
    return tuple(_row(row) for row in found.effective_rows(effective, imposed))


def _row(row: found.EffectiveRow) -> Row:
    """What says the same as the value that counts is not told as overridden."""
    value = "" if row.is_ignored else _shown(row.value)
    is_imposed = row.origin.layer == found.ENVIRONMENT_LAYER
    said = row.overridden[0].origin if is_imposed and row.overridden else row.origin
    return Row(
        component=row.component,
        key=row.name,
        value=value,
        unit=row.unit,
        meaning=row.meaning,
        origin=chip(row.origin),
        overridden=tuple(
            Overridden(_shown(one.value), chip(one.origin))
            for one in row.overridden
            if _shown(one.value) != value
        ),
        layer=said.layer,
        calls_model=row.calls_model,
        is_imposed=is_imposed,
        is_ignored=row.is_ignored,
    )


def _shown(value: object) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(str(item) for item in value) or "[]"
    return spelled(value) or '""'


def chip(origin: found.OriginChip) -> Chip:
    """ "preset:lean@v2:line 3" as "preset lean@2, line 3"."""
    words, tone = LAYERS.get(origin.layer, (origin.layer, ""))
    if origin.layer == "preset":
        words = "preset " + origin.text.removeprefix("preset:").partition(":")[0].replace("@v", "@")
    if origin.layer == found.ENVIRONMENT_LAYER:
        words = f"{origin.text.partition(':')[2]}, {words}"
    line = f", line {origin.line}" if origin.line else ""
    return Chip(words + line, tone, origin.text)


def filtered(listed: Sequence[Row], which: str, wanted: str, own: str) -> tuple[Row, ...]:
    """which: of FILTERS; wanted: part of a key, value or meaning; own: the layer on screen."""
    text = wanted.strip().lower()
    return tuple(
        row
        for row in listed
        if _passes(row, which, own)
        and text in f"{row.component}.{row.key} {row.value} {row.meaning}".lower()
    )


def _passes(row: Row, which: str, own: str) -> bool:
    if which == "own":
        return row.layer == own
    if which == "models":
        return row.calls_model
    return which == "all" or row.is_imposed or row.layer != found.DEFAULT_LAYER
