"""Presets: the list, one with its versions and uses, and what may be done to it (04 §3.2, 5.10)."""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied, ValidationError
from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST, require_safe

from controlplane.accounts.models import Organisation
from controlplane.accounts.scopes import Scope, scope_of_user
from controlplane.configs import visible
from controlplane.configs.actions import promote
from controlplane.configs.models import ConfigVersion, Preset
from controlplane.configs.preset_offers import pinned_elsewhere
from controlplane.configs.preset_rows import PresetRow, preset_rows
from controlplane.configs.presets import Beginning, archive_preset, create_preset
from controlplane.configs.queries import versions
from controlplane.configs.usage import Usage, usage_of
from controlplane.ui.configs.changes import summary
from controlplane.ui.frame.page import PersonRequest, page
from controlplane.ui.presets.compare import base_of
from controlplane.ui.presets.forms import CloneForm
from controlplane.ui.presets.words import Steps, steps
from dataplane.core.config.presets import BUILT_IN, find
from dataplane.core.config.problems import ConfigError

WRITE = "config:write"
HERE = "ui:presets"


@dataclass(frozen=True, slots=True)
class Card:
    """handle: in an address: the name of a packaged preset, the uid of another."""

    row: PresetRow
    steps: Steps

    @property
    def handle(self) -> str:
        return self.row.uid or self.row.name


@login_required
@require_safe
def presets(request: PersonRequest) -> HttpResponse:
    scope = scope_of_user(request.user)
    every = preset_rows(scope, archived="archived" in request.GET)
    rows = [row for row in every if found_by(row, request.GET.get("q", ""))]
    texts = {one.uid: _promoted_text(one) for one in visible.presets(scope)}
    cards = [
        Card(row, steps(texts.get(row.uid) or packaged(row.name), row.pipeline)) for row in rows
    ]
    context = {
        "groups": (
            ("Of your organisation", [card for card in cards if not card.row.is_packaged]),
            ("Packaged with the product", [card for card in cards if card.row.is_packaged]),
        ),
        "has_archived": "archived" in request.GET,
        "wanted": request.GET.get("q", ""),
        "may_create": scope.organisations(WRITE).exists(),
        "is_empty": not every,
        "is_unfound": bool(every) and not cards,
    }
    return page(request, "configs/presets.html", context, here=HERE)


def found_by(row: PresetRow, wanted: str) -> bool:
    """Whether every word stands in its name, title, description, labels or pipeline."""
    told = " ".join((row.name, row.title, row.description, *row.labels, *row.pipeline)).lower()
    return all(word in told for word in wanted.lower().split())


def packaged(name: str) -> str:
    """The text of a packaged preset, "" when there is none of the name."""
    found = find(BUILT_IN, name)
    return found.text if found else ""


@login_required
@require_safe
def one(request: PersonRequest, preset: str) -> HttpResponse:
    return preset_page(request, preset)


def preset_page(
    request: PersonRequest, preset: str, status: int = HTTPStatus.OK, **refused: object
) -> HttpResponse:
    """refused: what was posted and why it was not taken."""
    scope = scope_of_user(request.user)
    row = _row_of(scope, preset)
    own = visible.presets(scope).filter(uid=row.uid).first() if row.uid else None
    source = _promoted_text(own) if own else packaged(row.name)
    usage = _usage(scope, row.name, own)
    context = {
        "row": row,
        "handle": preset,
        "steps": steps(source, row.pipeline),
        "own": own,
        "source": source,
        "versions": versions(own.document) if own else (),
        "usage": usage,
        "base": base_of(scope, row.cloned_from, row.organisation) if row.base_changed else None,
        "behind": [user.name for user in pinned_elsewhere(usage.users, row.version)],
        "may_write": own is not None and visible.may_write(scope, own.document),
        "places": list(scope.organisations(WRITE)),
        "name": "",
        **refused,
    }
    return page(request, "configs/preset.html", context, here=HERE, status=status)


def _row_of(scope: Scope, preset: str) -> PresetRow:
    """Http404 for one that is unknown or not to be seen."""
    for row in preset_rows(scope, archived=True):
        if preset in (row.uid or row.name,):
            return row
    raise Http404


def _promoted_text(own: Preset | None) -> str:
    promoted = own.document.promoted if own else None
    return promoted.source if promoted else ""


def _usage(scope: Scope, name: str, own: Preset | None) -> Usage:
    return usage_of(name, own.organisation if own else None, list(visible.organisations(scope)))


def own_preset(request: PersonRequest, preset: str) -> Preset:
    """One that may be changed; Http404 and PermissionDenied otherwise."""
    scope = scope_of_user(request.user)
    own = visible.presets(scope).filter(uid=preset).first()
    if own is None:
        raise Http404
    if not visible.may_write(scope, own.document):
        raise PermissionDenied
    return own


@login_required
@require_POST
def clone(request: PersonRequest, preset: str) -> HttpResponse:
    """A copy in an organisation; it is promoted at once, because nobody uses it yet."""
    scope = scope_of_user(request.user)
    row = _row_of(scope, preset)
    form = CloneForm(request.POST)
    place = _place(scope, request.POST.get("organisation", ""))
    if not form.is_valid():
        return _not_cloned(
            request, preset, " ".join(str(error) for error in form.errors.get("name", ()))
        )
    first = Beginning(
        source=_text_of(scope, row),
        message=f"Clone of {row.name} version {row.version}",
        cloned_from=f"{row.name}@{row.version}",
    )
    try:
        made = create_preset(place, form.cleaned_data["name"], first, request.user)
    except ValidationError as refused:
        return _not_cloned(request, preset, " ".join(refused.messages))
    except ConfigError as refused:
        said = " ".join(problem.message for problem in refused.problems)
        return _not_cloned(request, preset, f"It cannot be cloned: {said}")
    messages.success(request, f"{made.name} is a copy of {row.name}. It can be edited now.", "ok")
    return redirect("ui:config-text", made.document.uid)


def _not_cloned(request: PersonRequest, preset: str, problem: str) -> HttpResponse:
    name = request.POST.get("name", "")
    status = HTTPStatus.UNPROCESSABLE_ENTITY
    return preset_page(request, preset, status, clone_problem=problem, name=name)


def _text_of(scope: Scope, row: PresetRow) -> str:
    if row.is_packaged:
        return packaged(row.name)
    return _promoted_text(visible.presets(scope).filter(uid=row.uid).first())


def _place(scope: Scope, uid: str) -> Organisation:
    """The organisation that gets the copy; the only one when none is named."""
    places = scope.organisations(WRITE)
    organisation = places.filter(uid=uid).first() if uid else None
    if organisation is None and not uid and places.count() == 1:
        organisation = places.first()
    if organisation is None:
        raise PermissionDenied
    return organisation


@login_required
@require_safe
def ask_promotion(request: PersonRequest, preset: str, number: int) -> HttpResponse:
    """Says what promoting would change, and for whom, before anything does."""
    own = own_preset(request, preset)
    version = _version(own, number)
    promoted = own.document.promoted
    before = promoted.source if promoted else ""
    context = {
        "own": own,
        "handle": preset,
        "version": version,
        "promoted": promoted,
        "is_older": promoted is not None and version.number < promoted.number,
        "missing": steps(version.source).missing,
        "summary": summary(own.document, before, version.source, request.user),
        "usage": _usage(scope_of_user(request.user), own.name, own),
    }
    return page(request, "configs/promote.html", context, here=HERE)


@login_required
@require_POST
def make_promotion(request: PersonRequest, preset: str, number: int) -> HttpResponse:
    own = own_preset(request, preset)
    version = _version(own, number)
    message = request.POST.get("message", "").strip() or f"Promote version {number}"
    try:
        promote(version, message, request.user)
    except ConfigError as refused:
        said = f"Not promoted: it would break a tenant that follows it. {refused}"
        messages.error(request, said, "alarm")
        return redirect("ui:preset-promotion", preset, number)
    messages.success(request, f"Version {number} of {own.name} is in force.", "ok")
    return redirect("ui:preset", preset)


def _version(own: Preset, number: int) -> ConfigVersion:
    found = ConfigVersion.objects.filter(document=own.document, number=number)
    version = found.select_related("document", "document__preset").first()
    if version is None:
        raise Http404
    version.document = own.document
    return version


@login_required
@require_POST
def archive(request: PersonRequest, preset: str) -> HttpResponse:
    """archived=no offers it again."""
    own = own_preset(request, preset)
    archived = request.POST.get("archived") != "no"
    archive_preset(own, request.user, archived=archived)
    said = "is archived: it is not offered for new uses" if archived else "is offered again"
    messages.success(request, f"{own.name} {said}.", "ok")
    return redirect("ui:preset", preset)
