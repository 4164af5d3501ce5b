"""One page of a long list, continued from the last row of the page before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from controlplane.telemetry.queries.coverage import State

T = TypeVar("T")
PAGE = 50
PAGE_MAX = 500


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """rows: newest first. after: what the next page continues from, "" for the last page."""

    rows: Sequence[T]
    after: str
    state: State


def limited(limit: int) -> int:
    return max(1, min(limit, PAGE_MAX))
