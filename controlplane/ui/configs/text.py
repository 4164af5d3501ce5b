"""The text of a document: read it, check it while typing, mend it, save it (04 §5.9)."""

from __future__ import annotations

from http import HTTPStatus

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from controlplane.configs import drafts
from controlplane.configs.actions import save_version
from controlplane.configs.checking import checked_as, context_of
from controlplane.configs.models import ConfigDraft
from controlplane.configs.problems import StaleBaseError
from controlplane.ui.configs import merge, problem_rows
from controlplane.ui.configs.editor import (
    WRITE,
    draft_shown,
    looked,
    text_page,
    typed_base,
    typed_source,
)
from controlplane.ui.configs.forms import MAX_SOURCE, DocumentForm
from controlplane.ui.configs.opened import Opened, open_by_handle
from controlplane.ui.configs.page import answer
from controlplane.ui.configs.saved import tell_saved
from controlplane.ui.frame.page import PersonRequest
from dataplane.core.config import fix
from dataplane.core.config.problems import ConfigError
from dataplane.core.config.source import EditError


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def text(request: PersonRequest, handle: str) -> HttpResponse:
    """GET shows the draft, or the newest text; POST saves what was typed."""
    if request.method == "POST":
        return save(request, handle)
    opened = open_by_handle(request, handle)
    draft = draft_shown(request, opened)
    if draft is None:
        return text_page(request, opened)
    return text_page(request, opened, draft.source, draft=draft, based_on=draft.base)


def save(request: PersonRequest, handle: str) -> HttpResponse:
    """The posted text as the next version; whatever is refused comes back with the text."""
    opened = open_by_handle(request, handle, WRITE)
    form = DocumentForm(request.POST)
    if not form.is_valid():
        return _kept(request, opened, form=form)
    sent, before = form.cleaned_data, opened.head
    try:
        version = save_version(
            opened.document, sent["source"], sent["message"], request.user,
            based_on=sent["based_on"],
        )  # fmt: skip
    except StaleBaseError:
        return merge.overtaken(request, opened, sent)
    except ConfigError:
        return _kept(request, opened, form=form, not_saved=True)
    drafts.drop_draft(opened.document, request.user)
    tell_saved(request, opened, version, before)
    return redirect("ui:config-text", handle)


def _kept(request: PersonRequest, opened: Opened, **refused: object) -> HttpResponse:
    source = typed_source(request)
    kept = {"message": request.POST.get("message", ""), "based_on": typed_base(request, opened)}
    status = HTTPStatus.UNPROCESSABLE_ENTITY
    return text_page(request, opened, source, status, **{**kept, **refused})


@login_required
@require_POST
def check(request: PersonRequest, handle: str) -> HttpResponse:
    """The problem list and the summary of a text that is being typed; keeps it as a draft."""
    opened = open_by_handle(request, handle)
    source = typed_source(request)
    kept = _draft(request, opened, source) if opened.may_write else None
    context = {"opened": opened, "look": looked(request, opened, source), "draft": kept}
    return render(request, "configs/text.html#checked", context)


def _draft(request: PersonRequest, opened: Opened, source: str) -> ConfigDraft | None:
    """None when there is nothing to keep: the text is the saved one, or holds a credential."""
    if len(source) > MAX_SOURCE or source == opened.source:
        drafts.drop_draft(opened.document, request.user)
        return None
    try:
        base = typed_base(request, opened)
        return drafts.keep_draft(opened.document, request.user, source, base=base)
    except ConfigError:
        return None


@login_required
@require_POST
def mend(request: PersonRequest, handle: str) -> HttpResponse:
    """Apply the fix of one problem to the posted text; nothing is saved."""
    opened = open_by_handle(request, handle, WRITE)
    source, wanted = typed_source(request), request.POST.get("fix", "")
    context = context_of(opened.document, source, request.user)
    problems = checked_as(opened.document, source, request.user).problems
    problem = next(
        (one for one in problems if problem_rows.fix_name(one.code, one.path) == wanted), None
    )
    if problem is None:
        said = "Nothing was changed: the text has no such problem any more."
        return _mended(request, opened, source, not_done=said)
    try:
        source, _ = fix.fixed(source, problem, context)
    except EditError as refused:
        return _mended(request, opened, source, not_done=f"Nothing was changed. {refused}")
    (row,) = problem_rows.rows([problem])
    return _mended(request, opened, source, said=f"Done: {row.fix_says}. Not saved yet.")


def _mended(request: PersonRequest, opened: Opened, source: str, **told: object) -> HttpResponse:
    """told: said, or not_done and why."""
    _draft(request, opened, source)
    kept = {"message": request.POST.get("message", ""), "based_on": typed_base(request, opened)}
    return text_page(request, opened, source, HTTPStatus.OK, **kept, **told)


@login_required
@require_POST
def discard(request: PersonRequest, handle: str) -> HttpResponse:
    opened = open_by_handle(request, handle, WRITE)
    drafts.drop_draft(opened.document, request.user)
    messages.success(request, "The draft is discarded; this is the newest version.", "ok")
    return redirect("ui:config-text", handle)


@login_required
@require_safe
def node_answer(request: PersonRequest, handle: str) -> HttpResponse:
    """The chip that says whether the nodes run the newest version; asked until they answer."""
    opened = open_by_handle(request, handle)
    context = {"opened": opened, "answer": answer(opened)}
    return render(request, "configs/document.html#answer", context)
