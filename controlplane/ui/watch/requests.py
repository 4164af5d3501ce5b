"""Every request: the list with its filters, and one in full (04 §5.8)."""

from __future__ import annotations

from urllib.parse import urlencode

from django import forms
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_safe

from controlplane.accounts.models import Tenant
from controlplane.accounts.scopes import Scope
from controlplane.arrivals import scope_of_request
from controlplane.audit.origin import current
from controlplane.telemetry import queries as telemetry
from controlplane.telemetry.captured import READ_TEXT
from controlplane.telemetry.models import RequestRecord
from controlplane.telemetry.queries import CSV, NDJSON, RequestFilter, State
from controlplane.telemetry.queries.export import MAY as MAY_EXPORT
from controlplane.ui.frame.forms import DesignedForm
from controlplane.ui.frame.moments import at
from controlplane.ui.frame.page import PersonRequest, page
from controlplane.ui.frame.panels import UNREADABLE, Panel, notes_of
from controlplane.ui.watch.looks import Look, look_of
from controlplane.ui.watch.request_rows import (
    facts_of,
    list_rows,
    recovery_rows,
    run_rows,
    tiers_of,
    tiles_of,
)
from controlplane.ui.watch.session_rows import session_href, status_of

HERE = "ui:requests"
FORMS = (CSV, NDJSON)
OUTCOMES = (
    ("", "every"),
    ("ok", "ok"),
    ("error", "error"),
    ("truncated", "truncated"),
    ("client_disconnect", "client left"),
)
ACCOUNTINGS = (
    ("", "every"),
    ("complete", "known"),
    ("estimated", "estimated"),
    ("partial", "no price"),
    ("missing", "no usage"),
)
TEXTS = (
    "request",
    "session",
    "model",
    "outcome",
    "accounting",
    "component",
    "gate",
    "event",
    "bypassed",
)


class RequestForm(DesignedForm):
    """component, gate, event and bypassed come from links of other pages."""

    ids = "requests"

    tenant = forms.CharField(required=False, widget=forms.HiddenInput())
    request = forms.CharField(required=False, max_length=64, label="Request id")
    session = forms.CharField(required=False, max_length=128, label="Session")
    model = forms.CharField(required=False, max_length=128, label="Model")
    outcome = forms.ChoiceField(required=False, label="Outcome", choices=OUTCOMES)
    accounting = forms.ChoiceField(required=False, label="Cost", choices=ACCOUNTINGS)
    component = forms.CharField(required=False, max_length=64, label="Component")
    gate = forms.CharField(required=False, max_length=64, label="Gate")
    event = forms.CharField(required=False, max_length=64, widget=forms.HiddenInput())
    bypassed = forms.CharField(required=False, max_length=64, widget=forms.HiddenInput())
    lost = forms.BooleanField(required=False, label="Lost an original")


@login_required
@require_safe
def requests(request: PersonRequest) -> HttpResponse:
    """Newest first; ?after= continues below a request."""
    form = RequestForm(request.GET)
    look = look_of(request, *TEXTS, "lost", is_list=True)
    form.is_valid()
    said = {name: request.GET[name] for name in form.fields if request.GET.get(name)}
    asked = {**said, **look.range}
    texts = {name: form.cleaned_data.get(name, "") for name in TEXTS}
    lost, (since, until) = bool(form.cleaned_data.get("lost")), look.bounds
    wanted = RequestFilter(tenant=look.tenant, lost=lost, since=since, until=until, **texts)
    listed = telemetry.requests(look.reach, wanted, after=request.GET.get("after", ""))
    labels = {tenant.uid: tenant.label for tenant in look.scope.tenants}
    narrowed = {name: value for name, value in asked.items() if name != "tenant"}
    context = {
        "look": look,
        "form": form,
        "chips": _chips(asked, ("event", "bypassed")),
        "rows": list_rows(listed.rows, labels),
        "panel": _panel(listed.state, is_narrowed=bool(narrowed)),
        "request_id": current().request_id,
        "notes": notes_of(look.window if look.is_ranged else None)
        if listed.state is not State.UNKNOWN
        else (),
        "exports": _exports(look, said) if listed.rows else (),
        "older": _href({**asked, "after": listed.after}) if listed.after else "",
        "stream": look.stream("requests"),
        "newest": _href(asked) if "after" in request.GET else "",
    }
    return page(request, "requests/requests.html", context, here=HERE)


def _href(asked: dict[str, str]) -> str:
    return f"{reverse(HERE)}?{urlencode(asked)}" if asked else reverse(HERE)


def _exports(look: Look, said: dict[str, str]) -> list[tuple[str, str]]:
    """What is listed, as files: their words and addresses, for whoever may take them away."""
    if not look.reach.tenants(MAY_EXPORT).exists():
        return []
    since, until = look.bounds
    asked = said if since is None else {**said, "since": str(since), "until": str(until)}
    narrowed = {**asked, "lost": "true"} if "lost" in asked else asked
    path = reverse("api-1:export_requests")
    return [(form.upper(), f"{path}?{urlencode({**narrowed, 'format': form})}") for form in FORMS]


def _chips(asked: dict[str, str], shown: tuple[str, ...]) -> list[tuple[str, str]]:
    """Filters without a field of their own: their words, and the page without them."""
    return [
        (f"{name} {asked[name]}", _href({k: v for k, v in asked.items() if k != name}))
        for name in shown
        if name in asked
    ]


def _panel(state: State, *, is_narrowed: bool) -> Panel | None:
    if state is State.UNKNOWN:
        return UNREADABLE
    if state is not State.NO_DATA:
        return None
    if is_narrowed:
        return Panel(
            "empty", "No request matches", "The filters hide all.", "Remove them", reverse(HERE)
        )
    return Panel(
        "empty",
        "No request yet",
        "One appears within seconds of its last byte.",
        "Connect an agent",
        reverse("ui:connect"),
    )


@login_required
@require_safe
def request_page(request: PersonRequest, record: str) -> HttpResponse:
    """Http404 for an unknown one, a foreign one, and one that retention removed."""
    scope = scope_of_request(request)
    row = telemetry.request(scope, record)
    if row is None:
        raise Http404
    kept = row.record
    tenant = Tenant.objects.filter(uid=kept.tenant_uid).first()
    context = {
        "record": kept,
        "tenant": tenant.label if tenant else kept.tenant_uid,
        "at": at(kept.at),
        "status": status_of(kept),
        "session_href": session_href(kept.tenant_uid, kept.session_uid),
        "tiles": tiles_of(row),
        "texts_href": _texts_href(scope, tenant, kept),
        "tiers": tiers_of(kept),
        "runs": run_rows(row.runs),
        "facts": facts_of(kept),
        "recoveries": recovery_rows(kept),
    }
    return page(request, "requests/request.html", context, here=HERE)


def _texts_href(scope: Scope, tenant: Tenant | None, kept: RequestRecord) -> str:
    """Where its changed texts are compared; "" for whoever may not, and where none are kept."""
    may_read = tenant is not None and scope.may(READ_TEXT, tenant)
    if not (may_read and kept.captured and session_href(kept.tenant_uid, kept.session_uid)):
        return ""
    return reverse("ui:texts", args=[kept.tenant_uid, kept.session_uid, kept.uid])
