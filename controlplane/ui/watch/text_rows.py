"""What is kept of conversations and why not, ready to show (04 §5.7, 8.7)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from controlplane.accounts.capture import blocked_by
from controlplane.accounts.models import Tenant
from controlplane.figures.numerals import Figure, count, plural
from controlplane.telemetry.captured import KeptText
from controlplane.telemetry.queries import RequestRow, SessionDetail
from controlplane.ui.configs.diff_rows import Stretch, in_one_column, pairs
from controlplane.ui.frame.shown_text import visible
from controlplane.ui.tenants.capture_gates import WHO_OPENS

CHANGED = frozenset({"acted fresh", "replayed", "mutated only"})


@dataclass(frozen=True, slots=True)
class TextState:
    """name: as the field names it. title, says: why there is no text, and who can change that."""

    name: str
    title: str = ""
    says: str = ""
    blocked_by: str = ""


HOT = TextState("hot")
NOT_PERMITTED = TextState(
    "not_permitted",
    "You may not read text of conversations",
    "It takes the permission content:read, which operators and administrators have.",
)
NOTHING_CHANGED = TextState(
    "nothing_changed",
    "Nothing was changed",
    "Every text was sent as it came, so there is nothing to compare.",
)
EXPIRED = TextState(
    "expired_by_retention",
    "The texts are older than what is kept",
    "A text is kept as long as its request, and those are gone.",
)


def state_of_session(
    detail: SessionDetail, owner: Tenant, kept: int, *, may_read: bool
) -> TextState:
    """kept: texts of its turns."""
    if not may_read:
        return NOT_PERMITTED
    if kept:
        return HOT
    if not detail.turns:
        return EXPIRED
    return _without(detail.turns, owner)


def state_of_turn(turn: RequestRow, owner: Tenant, kept: int) -> TextState:
    return HOT if kept else _without([turn], owner)


def _without(turns: Sequence[RequestRow], owner: Tenant) -> TextState:
    if not any(run.verdict in CHANGED for turn in turns for run in turn.runs):
        return NOTHING_CHANGED
    if any(turn.record.texts_left_out for turn in turns):
        return TextState(
            "not_captured",
            "The texts found no room",
            "Too many waited to be reported when these requests ended; their figures are whole.",
        )
    gate = blocked_by(owner)
    if gate is None:
        return TextState(
            "not_captured",
            "No text of this is kept",
            "Keeping was not agreed to when it was sent, or what was kept was purged. New requests "
            "of this tenant are kept.",
        )
    return TextState(
        "not_captured", "No text of this conversation is kept", WHO_OPENS[gate], gate.value
    )


@dataclass(frozen=True, slots=True)
class TurnTexts:
    """A turn that texts are kept of."""

    uid: str
    turn: int
    kept: Figure
    left_out: Figure | None


def turns_with_texts(detail: SessionDetail, kept: dict[int, int]) -> list[TurnTexts]:
    """kept: by the number of the request."""
    return [
        TurnTexts(
            each.record.uid,
            each.record.turn,
            count(kept[each.record.pk]),
            count(each.record.texts_left_out) if each.record.texts_left_out else None,
        )
        for each in detail.turns
        if each.record.pk in kept
    ]


@dataclass(frozen=True, slots=True)
class TextShown:
    """One text before and after. said: what was taken out or cut."""

    path: str
    before_tokens: Figure
    after_tokens: Figure
    components: Sequence[str]
    said: str
    stretches: tuple[Stretch, ...]


def text_rows(texts: Sequence[KeptText]) -> list[TextShown]:
    return [_shown(text) for text in texts]


def _shown(text: KeptText) -> TextShown:
    said = [f"{plural(text.redactions, 'value')} taken out"] if text.redactions else []
    if text.is_cut:
        said.append("only the beginning is kept")
    return TextShown(
        visible(text.path),
        count(text.before_tokens),
        count(text.after_tokens),
        text.components,
        "; ".join(said),
        tuple(in_one_column(pairs(visible(text.before), visible(text.after)))),
    )
