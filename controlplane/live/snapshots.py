"""What changed, as figures of all tenants of a view together: built once for each view and look.

A chart's bucket is sent whole, so it may come twice; what a page shows beside it comes as texts
for its leaves. Source: 04-controlplane-and-dashboard.md 5.0 and 6.4.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from controlplane.figures.component import CANDIDATES, DID, EVENTS, REQUESTS, leaves
from controlplane.figures.overview import TOPIC as OVERVIEW
from controlplane.figures.overview import leaves as overview_leaves
from controlplane.figures.overview import shown_of, values_of
from controlplane.figures.scope import scope_of
from controlplane.live.messages import Frame, Message, framed
from controlplane.live.subscriber import View
from controlplane.telemetry.queries import (
    SignalSeries,
    TrafficPoint,
    Window,
    component,
    component_series,
    series,
    signal_series,
)
from controlplane.telemetry.queries.components import EVENT, GATE

COMPONENT = "component."
MOST_BUCKETS = 30  # of one look; further back the page is read anew


def build(view: View, messages: Sequence[Message]) -> Sequence[Frame]:
    """The frames that replace what these messages are about. It asks the database."""
    if view.raw:
        return [framed(message, (message.topic, _own_key(message))) for message in messages]
    return list(_figures(view, messages))


def _own_key(message: Message) -> str:
    """Of two tenants, one never replaces the other's; without a key nothing is replaced."""
    return f"{message.tenant}/{message.key or message.seq}"


def _figures(view: View, messages: Sequence[Message]) -> Iterator[Frame]:
    is_alone = sum(topic.startswith(COMPONENT) for topic in view.topics) == 1
    for topic in dict.fromkeys(message.topic for message in messages):
        about = [message for message in messages if message.topic == topic]
        if topic.startswith(COMPONENT) and is_alone:
            yield from _component(view, topic, about)
        elif topic == OVERVIEW:
            yield from _overview(view, about)
        else:
            yield _frame(about[-1], "changed", "changed", {})


def _frame(newest: Message, kind: str, key: str, data: Mapping[str, object]) -> Frame:
    return framed(Message(newest.seq, newest.ts, newest.topic, kind, key, data))


def _component(view: View, topic: str, about: Sequence[Message]) -> Iterator[Frame]:
    """The buckets that changed, oldest first, and the figures of the whole window."""
    name = topic.removeprefix(COMPONENT)
    window = Window.last(view.window_s)
    step_ms = window.step_s * 1000
    moments = sorted({_bucket_at(message) // step_ms * step_ms for message in about})
    if len(moments) > MOST_BUCKETS:
        yield _frame(about[-1], "changed", "changed", {})
    for at in moments[-MOST_BUCKETS:]:
        yield _bucket(view, name, Window(at, at + step_ms, window.now), about[-1])
    figures = component(view.reach, name, window, tenant=view.tenant)
    yield _frame(about[-1], "tiles", "tiles", leaves(figures))


def _overview(view: View, about: Sequence[Message]) -> Iterator[Frame]:
    """Its charts' buckets and its tiles; its tables are read anew."""
    window, newest = Window.last(view.window_s), about[-1]
    step_ms = window.step_s * 1000
    since = min(_bucket_at(message) for message in about) // step_ms * step_ms
    since = max(since, window.now - MOST_BUCKETS * step_ms)
    _, points = series(view.reach, Window(since, window.until, window.now), tenant=view.tenant)
    for at, of in sorted(_stepped(points, step_ms).items()):
        yield _frame(newest, "bucket", f"bucket/{at}", {"at": at // 1000, "of": of})
    principal = view.reach.principal
    if principal is not None:
        scope = scope_of(principal.user, view.tenant)
        leaves_now = overview_leaves(shown_of(view.reach, window, scope))
        yield _frame(newest, "tiles", "tiles", leaves_now)
    yield _frame(newest, "changed", "changed", {})


def _stepped(points: Sequence[TrafficPoint], step_ms: int) -> dict[int, dict[str, Counter[str]]]:
    """By where each step begins, ms, and by chart."""
    found: dict[int, dict[str, Counter[str]]] = {}
    for point in points:
        step = found.setdefault(point.at // step_ms * step_ms, {})
        for chart, values in values_of(point).items():
            step.setdefault(chart, Counter()).update(values)
    return found


def _bucket_at(message: Message) -> int:
    """Where the bucket begins that the message is about, ms."""
    at = message.data.get("bucket_ts")
    return at if isinstance(at, int) else message.ts


def _bucket(view: View, name: str, step: Window, newest: Message) -> Frame:
    gates = signal_series(view.reach, name, step, kind=GATE, tenant=view.tenant)
    events = signal_series(view.reach, name, step, kind=EVENT, tenant=view.tenant)
    did = component_series(view.reach, name, step, tenant=view.tenant)
    of = {
        CANDIDATES: _sums(gates.n),
        REQUESTS: _sums(gates.requests),
        EVENTS: {**_chosen(did), **_sums(events.n)},
    }
    at = step.since // 1000
    return _frame(newest, "bucket", f"bucket/{at}", {"at": at, "of": of})


def _sums(series: Mapping[str, Sequence[int]]) -> dict[str, int]:
    return {name: sum(values) for name, values in series.items()}


def _chosen(did: SignalSeries) -> dict[str, int]:
    return {name: total for name, total in _sums(did.n).items() if name in DID}
