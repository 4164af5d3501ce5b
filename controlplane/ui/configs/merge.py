"""A save that came too late: base, theirs and mine, chosen hunk by hunk (04 §5.9)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.views.decorators.http import require_POST

from controlplane.configs import drafts
from controlplane.configs.merging import Hunk, Merge
from controlplane.configs.queries import lost_race
from controlplane.figures.numerals import plural
from controlplane.ui.configs.editor import WRITE, text_page, typed_base, typed_source
from controlplane.ui.configs.opened import Opened, open_by_handle
from controlplane.ui.configs.page import document_page
from controlplane.ui.frame.page import PersonRequest

SAYS = {
    "same": "",
    "mine": "only you changed this: your lines are taken",
    "theirs": "only they changed this: their lines are taken",
    "both": "both made the same change",
    "conflict": "both changed this",
}
SHOWN = 6  # equal lines that are shown; more are folded
TAKES: dict[str, Callable[[Hunk], tuple[str, ...]]] = {
    "mine": lambda hunk: hunk.mine,
    "theirs": lambda hunk: hunk.theirs,
    "both": lambda hunk: (*hunk.theirs, *hunk.mine),
}


@dataclass(frozen=True, slots=True)
class HunkRow:
    """number: as the form names it; folded: "12 equal lines" instead of them."""

    outcome: str
    says: str
    number: int
    base: str
    mine: str
    theirs: str
    folded: str

    @property
    def is_conflict(self) -> bool:
        return self.outcome == "conflict"


def overtaken(request: PersonRequest, opened: Opened, sent: Mapping[str, Any]) -> HttpResponse:
    """The three texts; sent: source, message and based_on of the form that came too late."""
    opened.document.refresh_from_db()
    merge = lost_race(opened.document, sent["based_on"], sent["source"])
    context = {
        "head": opened.document.head,
        "source": sent["source"],
        "message": sent["message"],
        "based_on": sent["based_on"],
        "hunks": [_row(index, hunk) for index, hunk in enumerate(merge.hunks)],
        "conflicts": plural(merge.conflicts, "conflict"),
        "has_conflicts": merge.conflicts > 0,
    }
    return document_page(
        request, opened, "configs/merge.html", context, tab="", status=HTTPStatus.CONFLICT
    )


def _row(index: int, hunk: Hunk) -> HunkRow:
    is_long = hunk.outcome == "same" and len(hunk.base) > SHOWN
    return HunkRow(
        outcome=hunk.outcome,
        says=SAYS[hunk.outcome],
        number=index,
        base="".join(hunk.base),
        mine="".join(hunk.mine),
        theirs="".join(hunk.theirs),
        folded=plural(len(hunk.base), "equal line") if is_long else "",
    )


@login_required
@require_POST
def merge(request: PersonRequest, handle: str) -> HttpResponse:
    """The text that the choices make, in the editor, on top of the newest version; not saved.

    theirs: the version that the choices were made against; a newer one asks anew.
    """
    opened = open_by_handle(request, handle, WRITE)
    source, base = typed_source(request), typed_base(request, opened)
    message = request.POST.get("message", "")
    if request.POST.get("theirs") != str(opened.based_on):
        sent = {"source": source, "message": message, "based_on": base}
        return overtaken(request, opened, sent)
    text = chosen(lost_race(opened.document, base, source), request.POST)
    drafts.drop_draft(opened.document, request.user)
    said = f"Brought together with version {opened.based_on}. Look it over, then save."
    return text_page(request, opened, text, said=said, message=message)


def chosen(merge: Merge, posted: Mapping[str, str]) -> str:
    """The text; of a conflict without a choice it keeps mine."""
    lines: list[str] = []
    for index, hunk in enumerate(merge.hunks):
        take = TAKES.get(posted.get(f"hunk.{index}", ""))
        is_asked = hunk.outcome == "conflict" and take is not None
        lines += take(hunk) if is_asked and take else hunk.merged
    return "".join(lines)
