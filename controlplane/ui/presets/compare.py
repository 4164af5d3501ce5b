"""Any two presets side by side (04 §3.5, 5.10)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpResponse
from django.views.decorators.http import require_safe

from controlplane.accounts.scopes import Scope, scope_of_user
from controlplane.configs import visible
from controlplane.configs.comparing import Side as Compared
from controlplane.configs.comparing import difference, text_side
from controlplane.configs.models import ConfigDocument, ConfigVersion, Preset
from controlplane.configs.preset_rows import preset_rows
from controlplane.ui.configs.changes import told
from controlplane.ui.configs.diff_rows import has_changes, pairs
from controlplane.ui.frame.page import PersonRequest, page
from dataplane.core.config.presets import BUILT_IN, find, split


@dataclass(frozen=True, slots=True)
class Side:
    """name: a preset in an address, with @ and a version where another than the one in force."""

    name: str
    says: str


@login_required
@require_safe
def compared(request: PersonRequest) -> HttpResponse:
    """left, right: a packaged preset's name or the uid of another, with or without @version."""
    scope = scope_of_user(request.user)
    offered = [
        Side(row.uid or row.name, f"{row.name}, version {row.version}")
        for row in preset_rows(scope, archived=True)
    ]
    if not offered:
        raise Http404
    left, right = (
        request.GET.get(name, offered[at].name) for name, at in (("left", 0), ("right", -1))
    )
    offered += [_numbered(scope, name) for name in (left, right) if "@" in name]
    sides = [_side(scope, name) for name in (left, right)]
    whole = request.GET.get("lines") == "all"
    listed = pairs(sides[0].source, sides[1].source, whole=whole)
    context = {
        "offered": offered,
        "left": _named(offered, left),
        "right": _named(offered, right),
        "is_whole": whole,
        "pairs": listed,
        "differs": has_changes(listed),
        "summary": told(difference(sides[0], sides[1])),
    }
    return page(request, "configs/preset_compare.html", context, here="ui:presets")


def _named(offered: Sequence[Side], name: str) -> Side:
    return next(side for side in offered if side.name == name)


def _numbered(scope: Scope, name: str) -> Side:
    handle, number = split(name)
    label = handle if find(BUILT_IN, handle) else _own(scope, handle).name
    return Side(name, f"{label}, version {number}")


def _side(scope: Scope, name: str) -> Compared:
    handle, number = split(name)
    packaged = find(BUILT_IN, handle)
    if packaged is not None:
        if number not in (None, packaged.version):
            raise Http404
        document = ConfigDocument(kind=ConfigDocument.Kind.PRESET)
        document.preset = Preset(name=packaged.name)
        return text_side(document, packaged.text, packaged.name)
    own = _own(scope, handle)
    rows = ConfigVersion.objects.filter(document=own.document)
    version = rows.filter(number=number).first() if number else own.document.promoted
    if version is None:
        raise Http404
    return text_side(own.document, version.source, own.name)


def _own(scope: Scope, uid: str) -> Preset:
    found = visible.presets(scope).filter(uid=uid).first()
    if found is None:
        raise Http404
    return found


def base_of(scope: Scope, cloned_from: str, organisation: str) -> tuple[str, str] | None:
    """The base of a clone as it was copied and as it is now, as names for the address."""
    name, number = split(cloned_from)
    if find(BUILT_IN, name):
        return None  # the packaged texts of earlier releases are not kept
    own = visible.presets(scope).filter(organisation__slug=organisation, name=name).first()
    return (f"{own.uid}@{number}", own.uid) if own else None
