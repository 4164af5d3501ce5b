"""A document as a form: every key of the registry, edits that touch nothing else (04 §2.10)."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods

from controlplane.configs import drafts, form_fields
from controlplane.configs.actions import save_version
from controlplane.configs.checking import checked_as
from controlplane.configs.problems import StaleBaseError
from controlplane.ui.configs import controls, merge, problem_rows
from controlplane.ui.configs.controls import Drawn
from controlplane.ui.configs.editor import WRITE, draft_shown, text_page, typed_base
from controlplane.ui.configs.opened import Opened, open_by_handle
from controlplane.ui.configs.page import document_page
from controlplane.ui.configs.saved import tell_saved
from controlplane.ui.frame.page import PersonRequest
from dataplane.core.config.check import Checked
from dataplane.core.config.problems import ConfigError
from dataplane.core.config.source import EditError

NO_MESSAGE = "Say in a few words what changes, and why."
SHORTEST = 3  # characters of a message


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def form(request: PersonRequest, handle: str) -> HttpResponse:
    """POST makes the edits that the form asks for: in the text, or at once as a new version."""
    if request.method == "POST":
        return _posted(request, open_by_handle(request, handle, WRITE))
    opened = open_by_handle(request, handle)
    source, base = _begun(request, opened)
    return form_page(request, opened, source, based_on=base)


def _begun(request: PersonRequest, opened: Opened) -> tuple[str, int]:
    """The draft, so that text and form are two views of one thing, else the newest text; and the
    version that it was begun on.
    """
    draft = draft_shown(request, opened)
    return (draft.source, draft.base) if draft else (opened.source, opened.based_on)


def form_page(
    request: PersonRequest,
    opened: Opened,
    source: str,
    status: int = HTTPStatus.OK,
    **more: object,
) -> HttpResponse:
    checked = checked_as(opened.document, source, request.user)
    drawn = draw(opened, source, checked)
    context = {
        "drawn": drawn,
        "is_draft": source != opened.source,
        "based_on": opened.based_on,
        "problems": () if drawn else problem_rows.rows(checked.errors, source),
        "has_own": not opened.follows or source != opened.source,
        **more,
    }
    return document_page(request, opened, "configs/form.html", context, tab="Form", status=status)


def draw(
    opened: Opened, source: str, checked: Checked, problems: Mapping[str, str] | None = None
) -> Drawn | None:
    """None for a text that does not validate: there is nothing to draw the form of."""
    if checked.effective is None:
        return None
    return controls.drawn(source, checked.effective, is_preset=opened.is_preset, problems=problems)


def _posted(request: PersonRequest, opened: Opened) -> HttpResponse:
    source, _ = _begun(request, opened)
    shown = draw(opened, source, checked_as(opened.document, source, request.user))
    if shown is None:
        return form_page(request, opened, source, HTTPStatus.CONFLICT)
    changed = controls.changed(shown, request.POST)
    values = form_fields.posted(changed, is_preset=opened.is_preset)
    pipeline = controls.pipeline_asked(shown, request.POST)
    try:
        text = form_fields.edited(source, values, pipeline)
    except EditError as refused:
        said = f"This form cannot make the change in this text. {refused}"
        return form_page(request, opened, source, HTTPStatus.UNPROCESSABLE_ENTITY, refused=said)
    if "show" in request.POST:
        return _shown(request, opened, text)
    return _saved(request, opened, text)


def _shown(request: PersonRequest, opened: Opened, text: str) -> HttpResponse:
    """The changed text in the editor, not saved."""
    said = "The form's changes are in the text. Not saved yet."
    message = request.POST.get("message", "")
    base = typed_base(request, opened)
    return text_page(request, opened, text, said=said, message=message, based_on=base)


def _saved(request: PersonRequest, opened: Opened, text: str) -> HttpResponse:
    message = request.POST.get("message", "").strip()
    base, before = typed_base(request, opened), opened.head
    if len(message) < SHORTEST:
        return text_page(
            request, opened, text, HTTPStatus.UNPROCESSABLE_ENTITY,
            message=message, based_on=base, not_done=f"Not saved. {NO_MESSAGE}",
        )  # fmt: skip
    try:
        version = save_version(opened.document, text, message, request.user, based_on=base)
    except StaleBaseError:
        sent = {"source": text, "message": message, "based_on": base}
        return merge.overtaken(request, opened, sent)
    except ConfigError as refused:
        return _refused(request, opened, refused, message)
    drafts.drop_draft(opened.document, request.user)
    tell_saved(request, opened, version, before)
    return redirect("ui:config-form", opened.handle)


def _refused(
    request: PersonRequest, opened: Opened, refused: ConfigError, message: str
) -> HttpResponse:
    """The form as it was sent, each refusal under its control; others in the list above."""
    source, _ = _begun(request, opened)
    checked = checked_as(opened.document, source, request.user)
    errors = [problem for problem in refused.problems if problem.severity == "error"]
    said = {problem.path: problem.message for problem in errors}
    drawn = draw(opened, source, checked, said)
    return form_page(
        request, opened, source, HTTPStatus.UNPROCESSABLE_ENTITY,
        drawn=drawn.sent(request.POST) if drawn else None,
        problems=problem_rows.rows(errors), message=message, not_saved=True,
    )  # fmt: skip
