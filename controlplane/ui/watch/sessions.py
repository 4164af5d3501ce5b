"""Which conversations, what was done to them, and whether anything is wrong (04 §5.6, 5.7)."""

from __future__ import annotations

from urllib.parse import urlencode

from django import forms
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from controlplane.accounts.models import Tenant
from controlplane.arrivals import scope_of_request
from controlplane.audit.origin import current
from controlplane.figures.numerals import count, plural
from controlplane.fleet import originals
from controlplane.telemetry import captured
from controlplane.telemetry import queries as telemetry
from controlplane.telemetry.captured import READ_TEXT
from controlplane.telemetry.queries import SessionDetail, SessionFilter, State
from controlplane.telemetry.queries.windows import now_ms
from controlplane.ui.frame.forms import DesignedForm
from controlplane.ui.frame.page import PersonRequest, page
from controlplane.ui.frame.panels import UNREADABLE, Panel, notes_of
from controlplane.ui.frame.shown_text import pages_of, visible
from controlplane.ui.watch.looks import look_of
from controlplane.ui.watch.session_rows import (
    list_rows,
    marker_rows,
    ratios_of,
    session_href,
    tiles_of,
    turn_rows,
)
from controlplane.ui.watch.text_rows import (
    state_of_session,
    state_of_turn,
    text_rows,
    turns_with_texts,
)

HERE = "ui:sessions"
SORTS = (("last", "Last activity"), ("cost", "Cost"), ("turns", "Turns"))
FILTERS = ("search", "model", "sort", "lost")
NOT_HELD = {
    "expired": "It has expired.",
    "lost": "The store no longer has it.",
    "never_minted": "This session has no such marker.",
    "foreign_session": "This session has no such marker.",
    "malformed": "This session has no such marker.",
    "deleted": "It was deleted.",
    "store_error": "The store does not answer.",
    "decrypt_error": "The key that opens it is gone.",
}


class SessionForm(DesignedForm):
    ids = "sessions"

    tenant = forms.CharField(required=False, widget=forms.HiddenInput())
    search = forms.CharField(
        required=False,
        max_length=128,
        label="Session begins with",
        widget=forms.TextInput(attrs={"type": "search"}),
    )
    model = forms.CharField(required=False, max_length=128, label="Model")
    sort = forms.ChoiceField(required=False, label="Order", choices=SORTS)
    lost = forms.BooleanField(required=False, label="Lost an original")


@login_required
@require_safe
def sessions(request: PersonRequest) -> HttpResponse:
    """Filters narrow what the person sees; ?after= continues below a session."""
    form = SessionForm(request.GET)
    look = look_of(request, *FILTERS, is_list=True)
    form.is_valid()
    cleaned, (since, until) = form.cleaned_data, look.bounds
    chosen = SessionFilter(
        tenant=look.tenant,
        search=cleaned.get("search", ""),
        model=cleaned.get("model", ""),
        lost=cleaned.get("lost", False),
        sort=cleaned.get("sort") or "last",
        since=since,
        until=until,
    )
    listed = telemetry.sessions(look.reach, chosen, after=request.GET.get("after", ""))
    said = {name: request.GET[name] for name in form.fields if request.GET.get(name)}
    asked = {**said, **look.range}
    labels = {tenant.uid: tenant.label for tenant in look.scope.tenants}
    narrowed = bool(chosen.search or chosen.model or chosen.lost or look.is_ranged)
    context = {
        "look": look,
        "form": form,
        "rows": list_rows(listed.rows, labels, now_ms()),
        "panel": _panel(listed.state, is_narrowed=narrowed),
        "request_id": current().request_id,
        "notes": notes_of(look.window if look.is_ranged else None)
        if listed.state is not State.UNKNOWN
        else (),
        "older": f"{reverse(HERE)}?{urlencode({**asked, 'after': listed.after})}"
        if listed.after
        else "",
        "newest": f"{reverse(HERE)}?{urlencode(asked)}" if "after" in request.GET else "",
        "stream": look.stream("sessions"),
    }
    return page(request, "sessions/sessions.html", context, here=HERE)


def _panel(state: State, *, is_narrowed: bool) -> Panel | None:
    if state is State.UNKNOWN:
        return UNREADABLE
    if state is not State.NO_DATA:
        return None
    if is_narrowed:
        return Panel(
            "empty", "No session matches", "The filters hide all.", "Remove them", reverse(HERE)
        )
    return Panel(
        "empty",
        "No session yet",
        "One appears with the first request of an agent.",
        "Connect an agent",
        reverse("ui:connect"),
    )


@login_required
@require_safe
def session(request: PersonRequest, tenant: str, session: str) -> HttpResponse:
    """Http404 for an unknown one and for a foreign one alike."""
    owner, detail = _found(request, tenant, session)
    may_read = scope_of_request(request).may(READ_TEXT, owner)
    look = look_of(request)
    turns, widest = turn_rows(detail)
    record = detail.session.record
    kept = captured.counts(turn.record.pk for turn in detail.turns)
    context = {
        "owner": owner,
        "look": look,
        "stream": look.stream(f"session.{owner.uid}.{record.session_uid}"),
        "session": record,
        "models": visible(", ".join(detail.session.models)),
        "tiles": tiles_of(detail.session),
        "ratios": ratios_of(detail.session),
        "turns": turns,
        "widest": widest,
        "is_cut": record.requests > len(turns),
        "all_turns": count(record.requests),
        "markers": marker_rows([row.record for row in detail.markers], may_read=may_read),
        "may_read": may_read,
        "took_out": detail.session.saved_gross > 0,
        "text_state": state_of_session(detail, owner, len(kept), may_read=may_read),
        "text_turns": turns_with_texts(detail, kept),
        "requests_href": f"{reverse('ui:requests')}?{urlencode({'session': session})}",
    }
    return page(request, "sessions/session.html", context, here=HERE)


def _found(request: PersonRequest, tenant: str, session_uid: str) -> tuple[Tenant, SessionDetail]:
    scope = scope_of_request(request)
    owner = scope.tenants("telemetry:read").filter(uid=tenant).first()
    detail = telemetry.session(scope, tenant, session_uid) if owner else None
    if owner is None or detail is None:
        raise Http404
    return owner, detail


@login_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def original(request: PersonRequest, tenant: str, session: str, marker: str) -> HttpResponse:
    """GET says what it is, POST shows its text and leaves a line in the trail (04 §8.7)."""
    owner, _detail = _found(request, tenant, session)
    scope = scope_of_request(request)
    if not scope.may(READ_TEXT, owner):
        raise PermissionDenied
    row = telemetry.marker(scope, tenant, marker)
    if row is None or row.record.session_uid != session:
        raise Http404
    context: dict[str, object] = {
        "owner": owner,
        "session": session,
        "session_href": session_href(tenant, session),
        "marker": marker,
        "row": marker_rows([row.record], may_read=True)[0],
    }
    if request.method == "POST":
        context |= _opened(request, owner, session, marker)
    return page(request, "sessions/original.html", context, here=HERE)


@login_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def texts(request: PersonRequest, tenant: str, session: str, record: str) -> HttpResponse:
    """GET says what is kept of a turn, POST shows it and leaves a line in the trail (04 §8.7)."""
    scope = scope_of_request(request)
    owner = scope.tenants("telemetry:read").filter(uid=tenant).first()
    turn = telemetry.request(scope, record)
    if owner is None or turn is None:
        raise Http404
    if not scope.may(READ_TEXT, owner):
        raise PermissionDenied
    if (turn.record.tenant_uid, turn.record.session_uid) != (owner.uid, session):
        raise Http404
    kept = captured.counts([turn.record.pk]).get(turn.record.pk, 0)
    context: dict[str, object] = {
        "owner": owner,
        "session": session,
        "session_href": session_href(tenant, session),
        "turn": turn.record,
        "kept": plural(kept, "text"),
        "left_out": turn.record.texts_left_out,
        "state": state_of_turn(turn, owner, kept),
    }
    if request.method == "POST":
        context["texts"] = text_rows(captured.read(owner, turn.record, by=request.user))
    return page(request, "sessions/texts.html", context, here=HERE)


def _opened(
    request: PersonRequest, owner: Tenant, session_uid: str, marker: str
) -> dict[str, object]:
    reading = originals.read(owner, session_uid, marker, by=request.user)
    if reading is None:
        return {"problem": "No node that holds it answers in this process."}
    if reading.original is None:
        return {"problem": NOT_HELD.get(reading.found.value, "It cannot be given.")}
    return {"text": pages_of(reading.original, request.POST.get("from", "0"))}
