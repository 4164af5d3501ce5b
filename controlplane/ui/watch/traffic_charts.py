"""Requests and tokens over time, beside the figures of the Overview (04 §5.1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from controlplane.figures import numerals
from controlplane.figures.overview import MONEY, NAMES, NET, PER_USD, REQUESTS, TOKENS, values_of
from controlplane.telemetry.queries import TrafficPoint, Window, series
from controlplane.ui.watch.backdrop import marks, observed
from controlplane.ui.watch.charts import Chart, Column, rows_of
from controlplane.ui.watch.looks import Look

MINUTE_S = 60


@dataclass(frozen=True, slots=True)
class TrafficCharts:
    """rate: "12.8 per min over 5 min"."""

    requests: Chart
    tokens: Chart
    net: Chart
    rate: str


def traffic_charts(look: Look) -> TrafficCharts:
    _, points = series(look.reach, look.window, tenant=look.tenant)
    requests, tokens, net = (_placed(look.window, points, name) for name in NAMES)
    every = [sum(step) for step in zip(*requests.values(), strict=True)]
    seen, happened = observed(look.window), marks(look)
    return TrafficCharts(
        replace(_requests(look, requests, seen), marks=happened),
        replace(_tokens(look, tokens, seen), marks=happened),
        replace(_net(look, net, seen), marks=happened),
        _rate(every, look.window.step_s),
    )


Series = Mapping[str, Sequence[int]]


def _requests(look: Look, by_name: Series, seen: Sequence[bool]) -> Chart:
    total = numerals.count(sum(sum(values) for values in by_name.values()))
    columns = _columns(by_name, NAMES[REQUESTS])
    return Chart(
        name="requests-chart",
        kind="stack",
        unit=REQUESTS,
        step_s=look.window.step_s,
        columns=columns,
        rows=rows_of(columns, by_name, look.window.steps, seen),
        total=str(total),
        finding=f"requests in {look.words}",
        label=f"Requests over {look.words}: {total}.",
        caption="Requests",
    )


def _tokens(look: Look, by_name: Series, seen: Sequence[bool]) -> Chart:
    before, after = (sum(by_name[name]) for name in NAMES[TOKENS])
    columns = _columns(by_name, NAMES[TOKENS])
    return Chart(
        name="tokens-chart",
        kind="lines",
        unit=TOKENS,
        step_s=look.window.step_s,
        columns=columns,
        rows=rows_of(columns, by_name, look.window.steps, seen),
        total=str(numerals.share(before - after, before)) if before else "",
        finding="fewer tokens sent than arrived" if before else "No tokens in this window.",
        label=f"Tokens over {look.words}: {numerals.count(before)} sent by agents, "
        f"{numerals.count(after)} sent to providers.",
        caption="Tokens",
    )


def _net(look: Look, by_name: Series, seen: Sequence[bool]) -> Chart:
    millionths = sum(by_name[NET])
    total = numerals.change_usd(Decimal(millionths) / PER_USD)
    columns = _columns(by_name, NAMES[MONEY])
    return Chart(
        name="net-chart",
        kind="running",
        unit=MONEY,
        step_s=look.window.step_s,
        columns=columns,
        rows=rows_of(columns, by_name, look.window.steps, seen, _dollars),
        total=str(total),
        finding=f"in {look.words}, of requests that have a price",
        label=f"Net saving over {look.words}: {total}.",
        caption="Net saving",
    )


def _dollars(millionths: int) -> str:
    return f"{Decimal(millionths) / PER_USD:.6f}"


def _columns(by_name: Series, names: Mapping[str, str]) -> tuple[Column, ...]:
    return tuple(
        Column(key, words, place, sum(by_name[key]))
        for place, (key, words) in enumerate(names.items(), start=1)
    )


def _placed(window: Window, points: Sequence[TrafficPoint], chart: str) -> dict[str, list[int]]:
    steps = window.steps
    by_name = {name: [0] * len(steps) for name in NAMES[chart]}
    for point in points:
        place = steps.index(point.at)
        for name, value in values_of(point)[chart].items():
            by_name[name][place] = value
    return by_name


RATE_S = 300


def _rate(every: Sequence[int], step_s: int) -> str:
    """Of the last minutes, the running step left out."""
    steps = max(1, RATE_S // step_s)
    lately = every[-steps - 1 : -1]
    if not lately:
        return ""
    per_minute = sum(lately) * MINUTE_S / (len(lately) * step_s)
    return f"{per_minute:.1f} per min over {numerals.span(len(lately) * step_s)}"
