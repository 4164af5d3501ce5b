"""What changed, in sentences, with what follows from it.

Source: 04-controlplane-and-dashboard.md 3.5, view `summary`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import msgspec

from dataplane.core.config.diff import Change, Impact, key_at
from dataplane.core.config.registry import Key
from dataplane.core.config.tree import spoken, steps_of
from dataplane.core.port.declaration import Declaration
from dataplane.core.prices.money import Rates

COMMENTS_ONLY = "Comments only; nothing that runs changes"
NOTHING = "Nothing changes"
UNKNOWN = "What would change is unknown: one of the two has errors, or none was in force"
MOST_SENTENCES = 200
LONGEST_VALUE = 200  # characters
_ORDINALS = {1: "1st", 2: "2nd", 3: "3rd", 21: "21st", 22: "22nd", 23: "23rd", 31: "31st"}


@dataclass(frozen=True, slots=True)
class Affected:
    """Whom a change reaches. suffix_tokens: least and most cached tokens behind the first change
    of all running sessions together; None where they are not known, as for rates.
    """

    tenants: int
    nodes: int
    running_sessions: int
    suffix_tokens: tuple[int, int] | None = None
    rates: Rates | None = None


@dataclass(frozen=True, slots=True)
class Summary:
    """sentences: one a change, then whom it reaches. impact: of all changes, each once.

    one_time_usd: least and most that writing cached suffixes again costs; None for unknown, or
    when no prefix breaks.
    """

    sentences: tuple[str, ...]
    impact: tuple[Impact, ...]
    one_time_usd: tuple[Decimal, Decimal] | None = None


def summarise(
    changes: Sequence[Change] | None,
    pipeline: Sequence[str],
    root: Key,
    components: Mapping[str, Declaration],
    affected: Affected | None = None,
    *,
    texts_differ: bool = False,
) -> Summary:
    """changes: None where they cannot be told, which is never the same as no change.

    pipeline: the effective one after the change; texts_differ: comments count as a change.
    """
    if changes is None:
        return Summary((UNKNOWN,), ())
    gone_or_new = {change.component for change in changes if change.op in ("add", "remove")
                   and change.path.startswith("/pipeline/")}  # fmt: skip
    said = []
    for change in changes:
        if change.path.startswith("/pipeline/"):
            said.append(_entry(change, pipeline, components))
        elif change.component not in gone_or_new:
            said.append(_leaf(change, root))
    if len(said) > MOST_SENTENCES:
        more = len(said) - MOST_SENTENCES
        said[MOST_SENTENCES:] = [f"And {_count(more, 'more change')}"]
    if not changes:
        said.append(COMMENTS_ONLY if texts_differ else NOTHING)
    impact = tuple(dict.fromkeys(flag for change in changes for flag in change.impact))
    cost = _one_time(affected) if affected and "prefix_break" in impact else None
    if affected:
        said += _reach(affected, cost, breaks="prefix_break" in impact)
    return Summary(tuple(said), impact, cost)


def _entry(change: Change, pipeline: Sequence[str], components: Mapping[str, Declaration]) -> str:
    name = f"`{change.component}`"
    if change.op == "remove":
        return f"Removes {name}"
    if change.op == "move":
        last = change.after == len(pipeline)
        return f"{name} moves from {ordinal(change.before)} to " + (
            "last" if last else ordinal(change.after)
        )
    index = int(steps_of(change.path)[-1])
    where = f"after `{pipeline[index - 1]}`" if index else "as the first component"
    declared = components[change.component]
    notes = ["makes model calls"] if declared.calls_model else []
    notes += [f"injects {declared.injects}"] if declared.injects else []
    return f"Adds {name} {where}" + (f" ({'; '.join(notes)})" if notes else "")


def ordinal(place: int) -> str:
    return _ORDINALS.get(place, f"{place}th")


def _leaf(change: Change, root: Key) -> str:
    steps = steps_of(change.path)
    if steps[-1] == "marker_mode" and change.after in ("summary", "off"):
        return f"`{change.component}` no longer leaves recoverable markers"
    if change.path == "/store/enabled":
        if change.after is False:
            return "store disabled: nothing can be expanded"
        return "store enabled: what is removed from now on can be expanded"
    key = key_at(root, steps)
    name = _named(steps)
    before, after = _shown(change.before, key), _shown(change.after, key)
    return f"{name}: {before} → {after}{_consequence(change, key)}"


def _named(steps: tuple[str, ...]) -> str:
    if steps[0] == "components":
        return f"`{'.'.join(steps[2:])}` of `{steps[1]}`"
    return spoken(steps)


def _shown(value: Any, key: Key | None) -> str:
    if value is None:
        default = key.default if key else None
        return "not written" if default is None else f"the default {_plain(default)}"
    return _plain(value)


def _plain(value: Any) -> str:
    if isinstance(value, float | Decimal):
        return f"{value:g}"
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return text if len(text) <= LONGEST_VALUE else f"{text[:LONGEST_VALUE]}…"


def _consequence(change: Change, key: Key | None) -> str:
    if change.path == "/mode":
        changed = change.after == "sync"
        return ": requests will be changed from now on" if changed else ": requests stay unchanged"
    before, after = change.before, change.after
    numbers = [value for value in (before, after) if _is_number(value)]
    if key is None or len(numbers) < len((before, after)):
        return ""
    if after < before and key.lower:
        return f" (lower {key.lower})"
    return f" (higher {key.higher})" if after > before and key.higher else ""


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _one_time(affected: Affected) -> tuple[Decimal, Decimal] | None:
    """Suffix tokens times (write - read), in USD; exact up to nine places."""
    if affected.suffix_tokens is None or affected.rates is None:
        return None
    premium = affected.rates.cache_write - affected.rates.cache_read
    least, most = (_usd(tokens * premium) for tokens in affected.suffix_tokens)
    return least, most


def _usd(amount: Fraction) -> Decimal:
    exact = Decimal(amount.numerator) / Decimal(amount.denominator)
    return exact.quantize(Decimal("0.000000001"))


def _reach(
    affected: Affected, cost: tuple[Decimal, Decimal] | None, *, breaks: bool
) -> Iterator[str]:
    yield (
        f"Affects {_count(affected.tenants, 'tenant')}, {_count(affected.nodes, 'node')} and "
        f"{_count(affected.running_sessions, 'running session')}"
    )
    if not breaks:
        return
    if cost is None or affected.suffix_tokens is None:
        yield "What writing their cached suffixes again costs once is unknown"
        return
    tokens = " to ".join(f"{tokens:,}" for tokens in affected.suffix_tokens)
    yield (
        f"Writing their cached suffixes again costs ${cost[0]:.4f} to ${cost[1]:.4f} once: "
        f"{tokens} tokens at the price of writing less that of reading"
    )


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"
