"""Which processes of nodes live: told by their reports, which telemetry keeps.

Telemetry registers here when Django starts, so that imports point one way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol

Process = tuple[str, str]  # the id of a node, and of one life of one process of it


class Placed(Protocol):
    @property
    def process(self) -> Process: ...


@dataclass(frozen=True, slots=True)
class Heard:
    """living: reported within the last moments. ended: said good-bye, or has been silent since."""

    living: frozenset[Process] = frozenset()
    ended: frozenset[Process] = frozenset()

    def may_live(self, process: Process) -> bool:
        """One that nothing is known of counts as long as no other process of its node is known to
        live: it began a moment ago, or telemetry was lost.
        """
        if process in self.living or process in self.ended:
            return process in self.living
        return all(node != process[0] for node, _ in self.living)

    def of(self, rows: Iterable[Placed]) -> set[Process]:
        """The processes behind these rows that may live."""
        return {row.process for row in rows if self.may_live(row.process)}


Look = Callable[[], Heard]
_looks: list[Look] = []


def told_by(look: Look) -> None:
    _looks[:] = [look]


def heard() -> Heard:
    return _looks[0]() if _looks else Heard()
