"""What a durable backend answers, whichever it is.

A caller says how far it has read the five lists that a view is made of, so a turn of a long
session reads only what was added since. Source: 03-proxy-and-recovery.md 5.2 and 5.3.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, TypeVar

from dataplane.core.effects import Committed, Found, PastTurn

Row = TypeVar("Row", bound=tuple[Any, ...])


class Mark(NamedTuple):
    """How far a list was read. epoch: changes when something was taken from it. last: newest id."""

    epoch: int = -1
    last: int = -1


@dataclass(frozen=True, slots=True)
class Seen:
    """How far the caller has read the five lists that a view is made of."""

    frozen: Mark
    kept: Mark
    kept_here: Mark
    by_principal: Mark
    by_session: Mark


@dataclass(frozen=True, slots=True)
class Delta(Generic[Row]):
    """What a list has gained since a mark, each row with its id first; whole: the rows replace
    what was known.
    """

    whole: bool
    rows: list[Row]
    mark: Mark


@dataclass(frozen=True, slots=True)
class TurnRead:
    """What a view needs beyond what was seen.

    previous: the turn before. own_at: when (s) this session itself had one, its alias aside.
    frozen: component, decision key, replacement. lost: component, decision key; read only when
    frozen is whole, save those that do not open. kept: in the whole tenant, kept_here: in this
    session. by_principal, by_session: owned ids with the
    time (s) of their last renewal. renewed: ids that this turn renewed.
    """

    previous: PastTurn | None
    own_at: float | None
    frozen: Delta[tuple[int, str, str, str]]
    lost: list[tuple[str, str]]
    kept: Delta[tuple[int, str]]
    kept_here: Delta[tuple[int, str]]
    by_principal: Delta[tuple[int, str, float]]
    by_session: Delta[tuple[int, str, float]]
    renewed: list[str]


@dataclass(slots=True)
class Landed:
    """What a commit did. renewed: when the originals it wrote or renewed were touched."""

    committed: Committed
    renewed: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Lookup:
    """How a search ended; due: a read this late must be recorded as a renewal.

    component: as in Recalled.
    """

    found: Found
    original: bytes | None = None
    due: bool = False
    component: str = ""
