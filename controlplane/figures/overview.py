"""The figures of the Overview that its page and its stream both show (04 §5.1, 6.4)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from controlplane.accounts.scopes import Scope as Reach
from controlplane.alarms.queries import has_open_loss
from controlplane.figures import tiles
from controlplane.figures.counted import Counted, counted
from controlplane.figures.safety import Safety, safety
from controlplane.figures.scope import Scope
from controlplane.figures.stats import Stats, all_requests
from controlplane.telemetry.queries import State, TrafficPoint, Window, gauges

TOPIC = "overview"
REQUESTS, TOKENS, MONEY = "traffic", "tokens", "usd"
NET = "net_millionths"  # of a dollar: a stream carries whole numbers
PER_USD = 1_000_000
NAMES = {
    REQUESTS: {"shaped": "through the pipeline", "untouched": "passed as they came"},
    TOKENS: {"tokens_before": "sent by agents", "tokens_after": "sent to providers"},
    MONEY: {NET: "net, USD"},
}
Values = Mapping[str, Mapping[str, int]]


def values_of(point: TrafficPoint) -> Values:
    """What one step adds to each chart, by series."""
    counts = point.values
    return {
        REQUESTS: {
            "shaped": counts["shaped"],
            "untouched": max(0, counts["requests"] - counts["shaped"]),
        },
        TOKENS: {name: counts[name] for name in NAMES[TOKENS]},
        MONEY: {NET: int((point.saved_usd or 0) * PER_USD)},
    }


@dataclass(frozen=True, slots=True)
class Shown:
    """counted: of the window. node: the memory of the node in this process, None without one."""

    counted: Counted
    node: Stats | None
    safety: Safety


def shown_of(reach: Reach, window: Window, scope: Scope) -> Shown:
    """scope: the tenant on screen, or all of those that the person may see."""
    tenant = scope.chosen.uid if scope.chosen else ""
    reported, node = counted(reach, window, tenant), scope.stats()
    strip = _strip(reported, node, scope=scope, is_open=has_open_loss(reach, tenant))
    return Shown(reported, node, strip)


HELD = ("stash_live", "stash_capacity")


def _strip(reported: Counted, node: Stats | None, *, scope: Scope, is_open: bool) -> Safety:
    """From what was reported. While that cannot be read, the memory of the node in this process
    can tell of a loss, and rules none out.
    """
    if reported.state is State.UNKNOWN:
        return safety(node, is_whole=False, has_open_loss=is_open)
    if node is None and not reported.stats:
        return safety(None, has_open_loss=is_open)
    held = _held(scope, node)
    whole = not (reported.covered.silent or reported.covered.lost_batches)
    return safety({**reported.stats, **held}, is_whole=whole, has_open_loss=is_open)


def _held(scope: Scope, node: Stats | None) -> Stats:
    """Of all stores. What one tenant has in them is not reported: of that a process can only speak
    for itself, and says nothing beside others.
    """
    gauged = gauges()
    if scope.sees_all and scope.chosen is None and gauged.processes:
        known: Stats = gauged.values
    else:
        # A store tells what it holds once it was written to: until then a new process says 0.
        is_alone = gauged.processes <= 1 and node is not None and all_requests(node)
        known = node if is_alone and node is not None else {}
    return {name: known[name] for name in HELD if name in known}


def leaves(seen: Shown) -> dict[str, tuple[str, str, bool]]:
    """The texts on the page that a stream replaces, by the id of their leaf."""
    known, found = seen.counted.stats, {}
    for tile in (*seen.safety.tiles, *tiles.volume(known), *tiles.savings(known)):
        found[tile.key] = (tile.figure.text, tile.figure.unit, tile.figure.is_word)
        found[f"{tile.key}-sub"] = (tile.sub, "", False)
    return found
