"""The versions of a document: list, read one, compare two, restore one (04 §3.5, 5.9)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST, require_safe

from controlplane.accounts.scopes import scope_of_user
from controlplane.configs import drafts, visible
from controlplane.configs.actions import restored
from controlplane.configs.models import ConfigVersion
from controlplane.configs.problems import StaleBaseError
from controlplane.configs.queries import versions
from controlplane.digits import whole
from controlplane.ui.configs import problem_rows
from controlplane.ui.configs.changes import summary
from controlplane.ui.configs.diff_rows import has_changes, pairs
from controlplane.ui.configs.editor import WRITE
from controlplane.ui.configs.opened import Opened, open_by_handle
from controlplane.ui.configs.page import document_page
from controlplane.ui.configs.saved import tell_overridden
from controlplane.ui.frame.page import PersonRequest
from dataplane.core.config.problems import ConfigError

DRAFT = "draft"
MOST = 200  # versions that a page lists


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a comparison. name: in the address; says: to a reader."""

    name: str
    says: str
    source: str


@login_required
@require_safe
def history(request: PersonRequest, handle: str) -> HttpResponse:
    opened = open_by_handle(request, handle)
    every = visible.versions(scope_of_user(request.user)).filter(document=opened.document)
    listed = list(every[:MOST])
    return document_page(
        request, opened, "configs/versions.html", {"versions": listed}, tab="Versions"
    )


@login_required
@require_safe
def version(request: PersonRequest, handle: str, number: int) -> HttpResponse:
    opened = open_by_handle(request, handle)
    shown = version_of(opened, number)
    context = {
        "shown": shown,
        "problems": problem_rows.rows(shown.warnings, shown.source),
        "is_newest": opened.head is not None and opened.head.pk == shown.pk,
        "based_on": opened.based_on,
        "message": f"Restore version {number}: {shown.message}"[:500],
    }
    return document_page(request, opened, "configs/version.html", context, tab="Versions")


def version_of(opened: Opened, number: int) -> ConfigVersion:
    rows = ConfigVersion.objects.select_related("author", "parent")
    shown = rows.filter(document=opened.document, number=number).first()
    if shown is None:
        raise Http404
    return shown


@login_required
@require_POST
def restore(request: PersonRequest, handle: str, number: int) -> HttpResponse:
    """The old text again, as the next version."""
    opened = open_by_handle(request, handle, WRITE)
    earlier = version_of(opened, number)
    message = request.POST.get("message", "").strip() or f"Restore version {number}"
    sent = request.POST.get("based_on", "")
    based_on = whole(sent, opened.based_on)
    try:
        made = restored(earlier, message, request.user, based_on=based_on)
    except StaleBaseError as race:
        said = f"Nothing was changed: version {race.head.number} was saved meanwhile."
        messages.warning(request, said, "watch")
        return redirect("ui:config-version", handle, number)
    except ConfigError as refused:
        said = f"Version {number} is not valid any more: {refused}. It is in the diff to compare."
        messages.error(request, said, "alarm")
        return redirect("ui:config-version", handle, number)
    done = f"Version {made.number if made else number} has the text of version {number}."
    messages.success(request, done, "ok")
    if made is not None:
        tell_overridden(request, made)
    return redirect("ui:config-text", handle)


@login_required
@require_safe
def diff(request: PersonRequest, handle: str) -> HttpResponse:
    """left and right: numbers of versions, or "draft"; by default the newest against its parent."""
    opened = open_by_handle(request, handle)
    offered = sides(request, opened)
    right = chosen(offered, request.GET.get("right", ""), 0)
    left = chosen(offered, request.GET.get("left", ""), 1)
    context: dict[str, object] = {
        "offered": offered,
        "left": left,
        "right": right,
        "is_whole": _whole(request),
    }
    if left is not None and right is not None:
        context |= compared(request, opened, left, right)
    return document_page(request, opened, "configs/diff.html", context, tab="Diff")


def _whole(request: PersonRequest) -> bool:
    return request.GET.get("lines") == "all"


def compared(request: PersonRequest, opened: Opened, left: Side, right: Side) -> dict[str, object]:
    listed = pairs(left.source, right.source, whole=_whole(request))
    said = summary(opened.document, left.source, right.source, request.user)
    return {"pairs": listed, "differs": has_changes(listed), "summary": said}


def sides(request: PersonRequest, opened: Opened) -> Sequence[Side]:
    """The draft if there is one, then versions, newest first."""
    draft = drafts.draft_of(opened.document, request.user) if opened.may_write else None
    listed = [
        Side(str(version.number), f"version {version.number}: {version.message}", version.source)
        for version in versions(opened.document, limit=MOST)
    ]
    if draft is not None and draft.source != opened.source:
        listed.insert(0, Side(DRAFT, "your draft, not saved", draft.source))
    return listed


def chosen(offered: Sequence[Side], name: str, otherwise: int) -> Side | None:
    """Http404 for a name that is not offered; None where there is no default."""
    if name:
        found = next((side for side in offered if side.name == name), None)
        if found is None:
            raise Http404
        return found
    return offered[otherwise] if otherwise < len(offered) else None
