"""What each component did, and why it declined: gates and events, never in one series."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db.models import F, Q, Sum

from controlplane.accounts.scopes import Scope
from controlplane.telemetry.models import ComponentBucket, SignalBucket
from controlplane.telemetry.queries.coverage import State, coverage, readable, state_of
from controlplane.telemetry.queries.reach import reach
from controlplane.telemetry.queries.windows import Window

COUNTS = (
    "runs", "acted", "acted_fresh", "acted_replay", "mutated", "reverted", "discarded",
    "saved_gross", "saved_unique", "duration_us",
)  # fmt: skip
GATE, EVENT = "gate", "event"


@dataclass(frozen=True, slots=True)
class SignalFigures:
    """One gate or event. n: what the component counted; requests: on how many it was raised.

    Some gates count candidates, others requests: n may be the larger one, or they are equal.
    """

    name: str
    kind: str
    n: int
    requests: int


@dataclass(frozen=True, slots=True)
class ComponentFigures:
    """One component over a window. counts: by the names of COUNTS. gates: most raised first."""

    component: str
    state: State
    counts: Mapping[str, int] = field(default_factory=dict)
    gates: Sequence[SignalFigures] = ()
    events: Sequence[SignalFigures] = ()

    @property
    def mean_ms(self) -> float | None:
        runs = self.counts.get("runs", 0)
        return self.counts["duration_us"] / runs / 1000 if runs else None

    @property
    def declines(self) -> int:
        return sum(gate.n for gate in self.gates)


@dataclass(frozen=True, slots=True)
class SignalSeries:
    """Signals over time. at: where each step begins, ms. n, requests: by name, one per step.

    step_s: seconds per step. Steps without anything hold 0; `state` says what a 0 may mean.
    """

    state: State
    step_s: int
    at: Sequence[int]
    n: Mapping[str, Sequence[int]]
    requests: Mapping[str, Sequence[int]]


def components(
    scope: Scope, window: Window, *, tenant: str = "", arm: str = ""
) -> tuple[State, Sequence[ComponentFigures]]:
    """Every component that ran in the window, by name."""
    state, found = _figures(_rows(scope, tenant, arm), window)
    return state, list(found.values())


def component(
    scope: Scope, name: str, window: Window, *, tenant: str = "", arm: str = ""
) -> ComponentFigures:
    """One component; without a run in the window its counts are empty and the state says why."""
    state, found = _figures(_rows(scope, tenant, arm) & Q(component=name), window)
    return found.get(name) or ComponentFigures(name, state)


def _figures(rows: Q, window: Window) -> tuple[State, dict[str, ComponentFigures]]:
    covered = coverage(window)
    found = readable(lambda: _components(rows, window), None)
    if found is None:
        return State.UNKNOWN, {}
    state = state_of(covered, seen=bool(found))
    return state, {
        name: ComponentFigures(name, state, counts, gates, events)
        for name, (counts, gates, events) in found.items()
    }


Found = tuple[dict[str, int], list[SignalFigures], list[SignalFigures]]


def _components(rows: Q, window: Window) -> dict[str, Found]:
    found: dict[str, Found] = {}
    sums: Any = (
        ComponentBucket.objects.filter(rows, window.rows)
        .values("component")
        .annotate(**{f"n_{name}": Sum(name) for name in COUNTS})
        .order_by("component")
    )
    for row in sums:
        found[row["component"]] = ({name: row[f"n_{name}"] for name in COUNTS}, [], [])
    raised = (
        SignalBucket.objects.filter(rows, window.rows)
        .values("component", "signal", "kind")
        .annotate(total=Sum("n"), on=Sum("requests"))
        .order_by("-total", "signal")
    )
    for row in raised:
        one = found.setdefault(row["component"], (dict.fromkeys(COUNTS, 0), [], []))
        figures = SignalFigures(row["signal"], row["kind"], row["total"], row["on"])
        _, gates, events = one
        (gates if row["kind"] == GATE else events).append(figures)
    return found


def signal_series(
    scope: Scope, name: str, window: Window, *, kind: str = GATE, tenant: str = "", arm: str = ""
) -> SignalSeries:
    """The gates, or the events, of one component over time."""
    covered = coverage(window)
    rows = _rows(scope, tenant, arm) & Q(component=name, kind=kind)
    found = readable(lambda: list(_stepped(SignalBucket, rows, window, "signal")), None)
    state = State.UNKNOWN if found is None else state_of(covered, seen=bool(found))
    n, requests = _placed(window, found or ())
    return SignalSeries(state, window.step_s, window.steps, n, requests)


def component_series(
    scope: Scope, name: str, window: Window, *, tenant: str = "", arm: str = ""
) -> SignalSeries:
    """Over time: n is by the names of COUNTS, and there are no requests apart from "runs"."""
    covered = coverage(window)
    rows = _rows(scope, tenant, arm) & Q(component=name)
    step_ms = window.step_s * 1000
    found: Any = readable(
        lambda: list(
            ComponentBucket.objects.filter(rows, window.step_rows)
            .values(at=F("bucket_at") - F("bucket_at") % step_ms)
            .annotate(**{f"n_{each}": Sum(each) for each in COUNTS})
            .order_by("at")
        ),
        None,
    )
    state = State.UNKNOWN if found is None else state_of(covered, seen=bool(found))
    n = {each: [0] * len(window.steps) for each in COUNTS}
    for row in found or ():
        place = window.steps.index(row["at"])
        for each in COUNTS:
            n[each][place] = row[f"n_{each}"]
    return SignalSeries(state, window.step_s, window.steps, n, {})


def _stepped(table: type[SignalBucket], rows: Q, window: Window, label: str) -> Any:
    step_ms = window.step_s * 1000
    return (
        table.objects.filter(rows, window.step_rows)
        .values(label, at=F("bucket_at") - F("bucket_at") % step_ms)
        .annotate(total=Sum("n"), on=Sum("requests"))
        .order_by("at")
    )


def _placed(
    window: Window, found: Sequence[Mapping[str, Any]]
) -> tuple[dict[str, list[int]], dict[str, list[int]]]:
    steps = window.steps
    n: dict[str, list[int]] = defaultdict(lambda: [0] * len(steps))
    requests: dict[str, list[int]] = defaultdict(lambda: [0] * len(steps))
    for row in found:
        place = steps.index(row["at"])
        n[row["signal"]][place] = row["total"]
        requests[row["signal"]][place] = row["on"]
    return dict(n), dict(requests)


def _rows(scope: Scope, tenant: str, arm: str) -> Q:
    return reach(scope, tenant).rows & (Q(arm=arm) if arm else Q())
