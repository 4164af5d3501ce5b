"""The safety strip: whether an original was lost, in words, and since when that is counted.

Source: 03-proxy-and-recovery.md 4.8, 04-controlplane-and-dashboard.md 5.1.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from controlplane.figures import numerals
from controlplane.figures.stats import Stats, all_requests, part, whole
from controlplane.figures.tiles import About, Tile

State = Literal["calm", "lost", "unknown"]


@dataclass(frozen=True, slots=True)
class Safety:
    """state picks the look and the role; verdict and basis are sentences."""

    state: State
    verdict: str
    basis: str
    tiles: tuple[Tile, ...]


MISSING = About(
    "An agent asked for an original that this gateway had promised, and got nothing back.",
    "expand_unresolved_missing",
    catch="Any number but 0 is a loss: stop removing until it is understood.",
)
ON_REPLAY = About(
    "Markers replayed to the provider whose original was no longer held.",
    "stash_missing",
    catch="Each one is a loss that no agent has asked about yet.",
)
DECLINED = About(
    "The store refused an original, so the text stayed in the request.",
    "stash_refused",
    catch="It is the leading sign of loss: raise the store limits before it grows.",
)
INVENTED = About(
    "An expand asked for an id that this gateway never wrote.",
    "expand_unresolved_malformed + expand_unresolved_never_minted",
    catch="The model made it up; nothing was lost.",
)
NO_NODE = "No node answers in this process, so loss is neither confirmed nor ruled out."
NOTHING_SEEN = "No request has passed, so there is nothing to lose and nothing to vouch for."
UNHEARD = "Not every report arrived, so loss is neither confirmed nor ruled out."
UNRESOLVED = "Nothing more was lost, and an earlier loss is not resolved yet."
CAUSES = {
    "expired": "expired too early: keep originals longer",
    "lost": "no longer in the store",
    "store_error": "unreadable, because the store failed",
    "decrypt_error": "encrypted with a key that is gone",
}


def safety(stats: Stats | None, *, is_whole: bool = True, has_open_loss: bool = False) -> Safety:
    """The strip for these statistics; None means that no node runs in this process.

    is_whole: False where some were not reported, which rules no loss out. has_open_loss: an alarm
    about an earlier one is not resolved, so that nothing here may look calm.
    """
    lost = None if stats is None else _lost(stats)
    if stats is not None and lost:
        return _loss(stats, lost)
    verdict, why = _not_calm(stats, lost, is_whole=is_whole, has_open_loss=has_open_loss)
    if verdict:
        return Safety("unknown", verdict, why, tiles({} if why == NOTHING_SEEN else stats or {}))
    return Safety("calm", "Nothing lost", _calm_basis(stats or {}), tiles(stats or {}))


def _not_calm(
    stats: Stats | None, lost: int | None, *, is_whole: bool, has_open_loss: bool
) -> tuple[str, str]:
    """Why nothing may be called lost or safe; ("", "") where it is safe to."""
    if stats is None:
        return "Loss is unknown", NO_NODE
    if has_open_loss:
        return "An earlier loss is open", UNRESOLVED
    if not all_requests(stats) and not _expands(stats):
        return "Nothing observed yet", NOTHING_SEEN
    if lost is None:
        return "Loss is unknown", "The node does not report it."
    return ("", "") if is_whole else ("Loss is unknown", UNHEARD)


def _lost(stats: Stats) -> int | None:
    """Originals asked for and missing, and those missing on replay; None when unreported."""
    missing = whole(stats, "expand_unresolved_missing")
    return None if missing is None else missing + (whole(stats, "stash_missing") or 0)


def _expands(stats: Stats) -> int:
    return whole(stats, "bounces") or 0


def _calm_basis(stats: Stats) -> str:
    expands = _expands(stats)
    if expands == 0:
        return "No agent has asked for an original back yet; every marker sent is held."
    if expands == 1:
        return "The one expand so far found its original."
    return f"Every one of {numerals.count(expands)} expands found its original."


def _loss(stats: Stats, lost: int) -> Safety:
    asked = whole(stats, "expand_unresolved_missing") or 0
    word = "original" if lost == 1 else "originals"
    verdict = f"{numerals.count(lost)} {word} lost"
    shown = (
        Tile(
            "missing",
            "Asked for and missing",
            numerals.count(asked),
            "answered with a placeholder",
            MISSING,
            "is-alarm" if asked else "",
        ),
    )
    return Safety("lost", verdict, _loss_basis(stats, asked), shown + tiles(stats))


def _loss_basis(stats: Stats, asked: int) -> str:
    if not asked:
        return "No agent has asked yet, but markers point at text that is no longer held."
    by_cause = part(stats, "expand_unresolved_missing_by")
    causes = [
        f"{numerals.count(number)} {words}"
        for cause, words in CAUSES.items()
        if (number := whole(by_cause, cause))
    ]
    why = f" Of them, {'; '.join(causes)}." if causes else ""
    return (
        f"Agents asked for {numerals.plural(asked, 'original')} and got a placeholder.{why} "
        "The log names each id."
    )


def tiles(stats: Stats) -> tuple[Tile, ...]:
    """The figures beside the verdict; without statistics every one says so in words."""
    return tuple(
        tile if not tile.figure.is_word else replace(tile, sub="")
        for tile in (
            Tile(
                "stash-missing",
                "Missing on replay",
                numerals.count(whole(stats, "stash_missing")),
                "of the markers sent again",
                ON_REPLAY,
            ),
            Tile(
                "stash-refused",
                "Removals declined",
                numerals.count(whole(stats, "stash_refused")),
                "kept verbatim, nothing lost",
                DECLINED,
            ),
            Tile(
                "invented",
                "Invented handles",
                numerals.count(_invented(stats)),
                "the model made up an id",
                INVENTED,
            ),
            Tile(
                "held",
                "Originals held",
                numerals.count(whole(stats, "stash_live")),
                _room(stats),
                HELD,
            ),
        )
    )


HELD = About(
    "Originals that can be given back now.",
    "stash_live",
    catch="Near its capacity the store declines new removals.",
)


def _invented(stats: Stats) -> int | None:
    malformed = whole(stats, "expand_unresolved_malformed")
    never = whole(stats, "expand_unresolved_never_minted")
    return None if malformed is None and never is None else (malformed or 0) + (never or 0)


def _room(stats: Stats) -> str:
    capacity = whole(stats, "stash_capacity")
    if capacity is None:
        return ""
    return f"room for {numerals.count(capacity)}" if capacity else "no limit on their number"
