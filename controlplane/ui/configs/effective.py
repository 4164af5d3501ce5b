"""What would run, with the origin of every value (04 §3.4)."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlencode

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpResponse
from django.views.decorators.http import require_safe

from controlplane.configs import drafts
from controlplane.configs.checking import checked_as
from controlplane.configs.effective_text import as_json, as_yaml
from controlplane.configs.origins import origins_of
from controlplane.configs.queries import current_revision
from controlplane.fleet import running
from controlplane.ui.configs import problem_rows
from controlplane.ui.configs.effective_rows import FILTERS, filtered, rows
from controlplane.ui.configs.opened import Opened, open_by_handle
from controlplane.ui.configs.page import document_page
from controlplane.ui.frame.page import PersonRequest
from dataplane.core.config.check import Checked

TYPES = {"yaml": "application/yaml", "json": "application/json"}


@dataclass(frozen=True, slots=True)
class Filter:
    label: str
    href: str
    is_current: bool


@login_required
@require_safe
def effective(request: PersonRequest, handle: str) -> HttpResponse:
    """of=draft: of the reader's unsaved text."""
    opened = open_by_handle(request, handle)
    draft = drafts.draft_of(opened.document, request.user) if opened.may_write else None
    of_draft = draft is not None and request.GET.get("of") == "draft"
    source = draft.source if draft and of_draft else opened.source
    number = None if of_draft else opened.number
    checked = checked_as(opened.document, source, request.user, number=number)
    context = {
        "has_draft": draft is not None,
        "of_draft": of_draft,
        "revision": current_revision(opened.tenant) if opened.tenant else None,
        "problems": problem_rows.rows(checked.errors, source),
        **table(request, opened, checked),
    }
    return document_page(request, opened, "configs/effective.html", context, tab="Effective")


def table(request: PersonRequest, opened: Opened, checked: Checked) -> dict[str, object]:
    """The rows that the filters leave; nothing for a text that does not validate."""
    if checked.effective is None:
        return {"rows": (), "filters": (), "effective": None}
    imposed = running.imposed()
    every = rows(checked.effective, imposed)
    which, search = request.GET.get("show", ""), request.GET.get("q", "")
    left = filtered(every, which, search, opened.document.kind)
    return {
        "effective": checked.effective,
        "imposed": imposed,
        "rows": left,
        "shown": f"{len(left)} of {len(every)} keys",
        "which": which,
        "wanted": search,
        "filters": filters(request, which),
    }


def filters(request: PersonRequest, which: str) -> tuple[Filter, ...]:
    kept = {name: request.GET[name] for name in ("q", "of") if request.GET.get(name)}
    return tuple(
        Filter(label, "?" + urlencode({**kept, "show": name}), is_current=name == which)
        for name, label in FILTERS
    )


@login_required
@require_safe
def download(request: PersonRequest, handle: str, form: str) -> HttpResponse:
    """form: yaml, with a comment on each line that says where its value comes from, or json."""
    opened = open_by_handle(request, handle)
    effective = checked_as(
        opened.document, opened.source, request.user, number=opened.number
    ).effective
    if effective is None or form not in TYPES:
        raise Http404
    as_text = as_json(effective.document)
    if form == "yaml":
        as_text = as_yaml(effective.document, origins_of(effective), running.imposed())
    answer = HttpResponse(as_text, content_type=TYPES[form])
    answer["Content-Disposition"] = f'attachment; filename="{handle}-effective.{form}"'
    return answer
