"""Who changed what, when, from where (04 §5.12)."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from urllib.parse import urlencode

from django import forms
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse, QueryDict
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_safe

from controlplane.audit import queries
from controlplane.audit.queries import Filters
from controlplane.digits import whole
from controlplane.figures.numerals import Figure, count
from controlplane.ui.deployment.audit_rows import VIA, event_rows
from controlplane.ui.frame.access import scope_for
from controlplane.ui.frame.forms import DesignedForm
from controlplane.ui.frame.page import PersonRequest, page

HERE = "ui:audit"
EVERY = ("", "every")
DAY = timedelta(days=1)


class TrailForm(DesignedForm):
    """Days are whole ones, in UTC. `subject`, an identifier, comes from a link."""

    ids = "trail"

    text = forms.CharField(required=False, max_length=200, label="Text", widget=forms.TextInput(
        attrs={"type": "search", "placeholder": "person, object, reason"}
    ))  # fmt: skip
    action = forms.ChoiceField(required=False)
    via = forms.ChoiceField(required=False, label="Through", choices=[EVERY, *VIA.items()])
    since = forms.DateField(
        required=False, label="From", widget=forms.DateInput(attrs={"type": "date"})
    )
    until = forms.DateField(
        required=False, label="To", widget=forms.DateInput(attrs={"type": "date"})
    )
    subject = forms.CharField(required=False, widget=forms.HiddenInput())

    def __init__(self, actions: Collection[str], sent: QueryDict) -> None:
        super().__init__(sent)
        groups = sorted({f"{name.partition('.')[0]}." for name in actions})
        named = [(group, f"{group}*") for group in groups] + [(name, name) for name in actions]
        self.fields["action"].choices = [EVERY, *sorted(named)]  # type: ignore[attr-defined]

    def filters(self) -> Filters:
        """What was not understood narrows nothing, and is said beside its field."""
        cleaned = self.cleaned_data
        since, until = cleaned.get("since"), cleaned.get("until")
        return Filters(
            action=cleaned.get("action", ""),
            subject=cleaned.get("subject", ""),
            via=cleaned.get("via", ""),
            text=cleaned.get("text", "").strip(),
            since=_midnight(since) if since else None,
            until=_midnight(until) + DAY if until else None,
        )


@dataclass(frozen=True, slots=True)
class Chip:
    """A filter that is in force, and the address without it."""

    text: str
    href: str


@dataclass(frozen=True, slots=True)
class Proof:
    """How much of the trail holds together."""

    is_whole: bool
    events: Figure
    first: str
    last: str
    broken_at: int | None
    problem: str


@login_required
@require_safe
def audit(request: PersonRequest) -> HttpResponse:
    """?before= continues below an event; ?verify walks the chain."""
    visible = scope_for(request, "audit:read").trail()
    form = TrailForm(list(queries.actions(visible)), request.GET)
    form.is_valid()
    filters, before = form.filters(), whole(request.GET.get("before", ""), None)
    trail = queries.trail(visible, filters, before=before)
    asked = {name: request.GET[name] for name in form.fields if request.GET.get(name)}
    context = {
        "form": form,
        "rows": event_rows(trail.events),
        "chips": _chips(asked),
        "has_filters": filters != Filters(),
        "export": _export(filters),
        "newest": "" if before is None else _at(asked),
        "older": _at({**asked, "before": str(trail.older)}) if trail.older else "",
        "here": reverse(HERE),
        "proof": _proof() if "verify" in request.GET else None,
    }
    return page(request, "audit/audit.html", context, here=HERE)


def _export(filters: Filters) -> str:
    """The address of the API that gives what is filtered as a file."""
    moments = {"since": filters.since, "until": filters.until}
    asked = {
        "action": filters.action,
        "object": filters.subject,
        "via": filters.via,
        "q": filters.text,
        **{name: str(int(at.timestamp() * 1000)) for name, at in moments.items() if at},
    }
    query = urlencode({name: value for name, value in asked.items() if value})
    return f"/api/v1/audit/export?{query}" if query else "/api/v1/audit/export"


def _chips(asked: dict[str, str]) -> list[Chip]:
    return [
        Chip(f"{name} {value}", _at({key: kept for key, kept in asked.items() if key != name}))
        for name, value in asked.items()
    ]


def _at(asked: dict[str, str]) -> str:
    return f"{reverse(HERE)}?{urlencode(asked)}" if asked else reverse(HERE)


def _proof() -> Proof:
    verified = queries.verify()
    return Proof(
        is_whole=verified.broken_at is None,
        events=count(verified.events),
        first=verified.first_hash,
        last=verified.last_hash,
        broken_at=verified.broken_at,
        problem=verified.problem,
    )


def _midnight(day: date) -> datetime:
    return timezone.make_aware(datetime.combine(day, time()))
