"""What the components did to one request, packed into one column of its row (04 §1.6).

An object by component name, which a pipeline holds once at most, so that a database finds a gate or
an event by its path. `position` is the place in the run order, since not every database keeps the
order of an object; what a ComponentRow leaves out is left out here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from django.db.models import F
from django.db.models.fields.json import HasKey, KeyTransform

from dataplane.core.uplink import ComponentRow

COLUMN = "runs"


def packed(rows: Iterable[ComponentRow]) -> str:
    """The column's text, of rows in run order."""
    packs: dict[str, dict[str, Any]] = {}
    for position, row in enumerate(rows):
        said = msgspec.to_builtins(row)
        packs[said.pop("component")] = {"position": position, **said}
    return msgspec.json.encode(packs).decode()


def unpacked(packs: Mapping[str, Mapping[str, Any]]) -> list[ComponentRow]:
    """The rows of a column's value, in run order."""
    ordered = sorted(packs.items(), key=lambda item: item[1].get("position", 0))
    said = [{**pack, "component": name} for name, pack in ordered]
    return msgspec.convert(said, list[ComponentRow])


def ran(component: str) -> HasKey:
    """Whether the component ran on the request."""
    return HasKey(F(COLUMN), component)


def raised(component: str, kind: str, name: str) -> HasKey:
    """Whether it raised the name there. kind: gates or events."""
    return HasKey(KeyTransform(kind, KeyTransform(component, COLUMN)), name)
