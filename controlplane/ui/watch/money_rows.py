"""Whether it pays: what the same traffic would have cost, what it did, what is left (04 §5.1)."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from controlplane.figures import numerals
from controlplane.figures.numerals import Figure
from controlplane.figures.stats import Stats, all_requests, amount, part, whole
from controlplane.ui.watch.overview_rows import billed_cost

SMALL = Decimal("0.000000001")


@dataclass(frozen=True, slots=True)
class MoneyRow:
    name: str
    figure: Figure
    note: str = ""
    is_sum: bool = False
    is_loss: bool = False


def money(stats: Stats) -> tuple[MoneyRow, ...]:
    """What the same traffic would have cost, what it did cost, and what is left."""
    baseline = amount(stats, "baseline_usd")
    saved = _net(stats)
    is_loss = saved is not None and saved < 0
    return (
        MoneyRow("Baseline: the same traffic, not compacted", numerals.usd(baseline)),
        MoneyRow("Billed by providers", billed_cost(stats), _unpriced(stats)),
        MoneyRow("Own model spend", numerals.usd(_own_spend(stats))),
        MoneyRow(
            "Net",
            numerals.change_usd(saved),
            "costs more than it saves" if is_loss else "",
            is_sum=True,
            is_loss=is_loss,
        ),
    )


def _net(stats: Stats) -> Decimal | None:
    baseline, billed = amount(stats, "baseline_usd"), amount(stats, "billed_usd")
    own = _own_spend(stats)
    if baseline is None or billed is None or own is None:
        return None
    return baseline - billed - own


def _own_spend(stats: Stats) -> Decimal | None:
    """Of the models that components asked; 0 as long as none was asked."""
    if whole(stats, "llm_calls") == 0:
        return Decimal(0)
    return amount(part(stats, "extract"), "extraction_cost_usd")


def _asked(stats: Stats) -> str:
    calls = whole(stats, "llm_calls")
    if calls is None:
        return ""
    return numerals.plural(calls, "call") if calls else "no component asked a model"


@dataclass(frozen=True, slots=True)
class Step:
    """A bar of the waterfall, from x to x + width on a track of 100."""

    name: str
    note: str
    x: str
    width: str
    look: str
    figure: Figure


def waterfall(stats: Stats) -> tuple[Step, ...]:
    """From what compaction spared to what is left of it; () where it cannot be told."""
    net, own = _net(stats), _own_spend(stats)
    if net is None or own is None:
        return ()
    kept = _kept_alive(stats)
    spared = net + own - kept
    full = max(spared, spared + kept, own, SMALL)
    width, cost, left = (_percent(value, full) for value in (spared, own, abs(net)))
    return (
        Step("Compaction", "spared on billed input", "0", width, "", numerals.change_usd(spared)),
        *_pings(stats, spared, kept, full),
        Step(
            "Own model spend", _asked(stats), _percent(max(net, Decimal(0)), full), cost,
            "is-cost", numerals.change_usd(-own),
        ),
        Step("Net", _of_baseline(stats, net), "0", left, "", numerals.change_usd(net)),
    )  # fmt: skip


def _kept_alive(stats: Stats) -> Decimal:
    """What rescued requests did not pay, less the pings before them; 0 without any."""
    return amount(part(stats, "keepalive"), "net_usd") or Decimal(0)


def _pings(stats: Stats, spared: Decimal, kept: Decimal, full: Decimal) -> tuple[Step, ...]:
    pings = whole(part(stats, "keepalive"), "pings")
    if not pings:
        return ()
    rescues = whole(part(stats, "keepalive"), "rescues") or 0
    note = f"{numerals.plural(pings, 'ping')}, {numerals.plural(rescues, 'rescue')}"
    x = _percent(max(min(spared, spared + kept), Decimal(0)), full)
    look, figure = "is-cost" if kept < 0 else "", numerals.change_usd(kept)
    return (Step("Keep-alive", note, x, _percent(abs(kept), full), look, figure),)


def _percent(value: Decimal, full: Decimal) -> str:
    return f"{min(Decimal(100), value * 100 / full):.2f}"


def _of_baseline(stats: Stats, net: Decimal) -> str:
    baseline = amount(stats, "baseline_usd")
    return f"{100 * net / baseline:.1f}{numerals.NO_BREAK}% of the baseline" if baseline else ""


def money_note(stats: Stats) -> str:
    """Why two of the rows are unknown, where they are."""
    if amount(stats, "baseline_usd") is not None or not all_requests(stats):
        return ""
    return "Nothing could be priced so far: no model that was asked is on the price card."


def _unpriced(stats: Stats) -> str:
    missing = whole(stats, "unpriced_requests")
    return (
        f"({numerals.plural(missing, 'request')} without a price not included)" if missing else ""
    )
