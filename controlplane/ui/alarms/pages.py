"""What is wrong, since when, whose, and what to do (04 §5.3)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from urllib.parse import urlencode

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied, ValidationError
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe
from django_htmx.http import HttpResponseClientRedirect

from controlplane.accounts.scopes import Scope
from controlplane.alarms import actions, queries
from controlplane.alarms.models import Alarm
from controlplane.alarms.queries import AlarmFilter
from controlplane.alarms.rules import RULES
from controlplane.arrivals import scope_of_request
from controlplane.figures.numerals import plural, span
from controlplane.figures.scope import scope_of
from controlplane.release import identity
from controlplane.ui.alarms.forms import AckForm, ResolveForm, SilenceForm
from controlplane.ui.alarms.rows import (
    alarm_row,
    alarm_rows,
    cause_of,
    history,
    life_of,
    seen_rows,
)
from controlplane.ui.frame.bell import bell
from controlplane.ui.frame.forms import DesignedForm
from controlplane.ui.frame.page import PersonRequest, page

HERE = "ui:alarms"
ACK, SILENCE = "alarm:ack", "alarm:silence"
LISTS = (("open", "Open"), ("resolved", "Resolved"), ("", "All"))
SEVERITIES = ("critical", "warning", "info")


@dataclass(frozen=True, slots=True)
class Choice:
    label: str
    href: str
    is_current: bool


@login_required
@require_safe
def alarms(request: PersonRequest) -> HttpResponse:
    """?state=, ?severity=, ?tenant= narrow it; ?before= continues below an alarm."""
    scope, asked = scope_of_request(request), _asked(request)
    chosen = scope_of(request.user, request.GET.get("tenant", "")).chosen
    filters = AlarmFilter(
        state=asked["state"],
        severity=asked["severity"],
        tenant=chosen.uid if chosen else "",
        before=request.GET.get("before", ""),
    )
    listed, now = queries.alarms(scope, filters), timezone.now()
    rows = alarm_rows(listed.rows, now)
    context = {
        "rows": rows,
        "lists": [_choice(label, asked, state=state) for state, label in LISTS],
        "severities": _severities(asked),
        "older": _href({**asked, "before": listed.older}) if listed.older else "",
        "is_open_list": asked["state"] == "open",
        "is_narrowed": bool(asked["severity"] or asked["tenant"]),
        "here": reverse(HERE),
        "empty": _empty(),
        "tenant": chosen,
    }
    return page(request, "alarms/alarms.html", context, here=HERE)


def _asked(request: PersonRequest) -> dict[str, str]:
    state = request.GET.get("state", "open")
    severity = request.GET.get("severity", "")
    return {
        "state": state if state in {"open", "resolved", ""} else "open",
        "severity": severity if severity in SEVERITIES else "",
        "tenant": request.GET.get("tenant", ""),
    }


def _href(asked: dict[str, str]) -> str:
    said = {
        name: value
        for name, value in asked.items()
        if (value and (name, value) != ("state", "open")) or (name == "state" and not value)
    }
    return f"{reverse(HERE)}?{urlencode(said)}" if said else reverse(HERE)


def _choice(label: str, asked: dict[str, str], **changed: str) -> Choice:
    return Choice(label, _href({**asked, **changed}), asked == {**asked, **changed})


def _severities(asked: dict[str, str]) -> list[Choice]:
    every = _choice("Every severity", asked, severity="")
    return [every, *(_choice(name, asked, severity=name) for name in SEVERITIES)]


def _empty() -> str:
    """On what the sentence that nothing is wrong rests."""
    first = queries.first_alarm_at()
    if first is None:
        return "Nothing has been wrong since alarms are kept."
    return f"Alarms are kept since {span((timezone.now() - first).total_seconds())} ago."


# ---- one alarm ---------------------------------------------------------------------------------


@login_required
@require_safe
def alarm(request: PersonRequest, alarm: str) -> HttpResponse:
    return _shown(request, _found(request, alarm))


def _found(request: PersonRequest, uid: str) -> Alarm:
    """Http404 for an unknown one and for a foreign one alike."""
    found = queries.alarm(scope_of_request(request), uid)
    if found is None:
        raise Http404
    return found


def _shown(
    request: PersonRequest, alarm: Alarm, failed: DesignedForm | None = None
) -> HttpResponse:
    scope, now, rule = scope_of_request(request), timezone.now(), RULES[alarm.rule]
    marker, life = life_of(scope, alarm)
    context = {
        "row": alarm_row(alarm, now),
        "alarm": alarm,
        "rule": rule,
        "seen": seen_rows(alarm),
        "marker": marker,
        "life": life,
        "cause": cause_of(alarm),
        "impact": _impact(alarm),
        "history": history(alarm),
        "silenced_until": queries.silenced_until(alarm, now),
        "others": alarm_rows(queries.open_alarms(scope), now),
        **_forms(scope, alarm, failed),
    }
    status = HTTPStatus.UNPROCESSABLE_ENTITY if failed else HTTPStatus.OK
    return page(request, "alarms/alarm.html", context, here=HERE, status=status)


def _forms(
    scope: Scope, alarm: Alarm, failed: DesignedForm | None
) -> dict[str, DesignedForm | None]:
    """Those that the person may fill in; a refused one with what was wrong."""
    made: dict[str, DesignedForm | None] = {"ack": None, "resolve": None, "silence": None}
    if not alarm.is_open:
        return made
    if scope.may(ACK, alarm.tenant):
        made |= {"ack": AckForm(), "resolve": ResolveForm()}
    if scope.may(SILENCE, alarm.tenant):
        made["silence"] = SilenceForm()
    if failed is not None:
        made[failed.ids] = failed
    return made


def _impact(alarm: Alarm) -> dict[str, object]:
    sessions = set(alarm.occurrences.exclude(session="").values_list("session", flat=True))
    return {
        "number": len(sessions),
        "sessions": plural(len(sessions), "session"),
        "seen": plural(alarm.count, "time"),
    }


# ---- answers -----------------------------------------------------------------------------------


@login_required
@require_POST
def acknowledge(request: PersonRequest, alarm: str) -> HttpResponse:
    form = AckForm(request.POST)

    def act(found: Alarm) -> str:
        said = form.cleaned_data["comment"]
        actions.acknowledge(found, said, by=request.user, until=form.ends_at())
        return "You have it now. It stays open until it is resolved."

    return _answered(request, _allowed(request, alarm, ACK), form, act)


@login_required
@require_POST
def resolve(request: PersonRequest, alarm: str) -> HttpResponse:
    form = ResolveForm(request.POST)

    def act(found: Alarm) -> str:
        actions.resolve(found, form.cleaned_data["resolution"], by=request.user)
        return "Resolved. What happens next is a new alarm."

    return _answered(request, _allowed(request, alarm, ACK), form, act)


@login_required
@require_POST
def silence(request: PersonRequest, alarm: str) -> HttpResponse:
    form = SilenceForm(request.POST)

    def act(found: Alarm) -> str:
        reason = form.cleaned_data["reason"]
        actions.silence(found, form.ends_at(), reason, by=request.user)
        return "Silenced: nobody is told of it meanwhile."

    return _answered(request, _allowed(request, alarm, SILENCE), form, act)


def _allowed(request: PersonRequest, uid: str, permission: str) -> Alarm:
    found = _found(request, uid)
    if not scope_of_request(request).may(permission, found.tenant):
        raise PermissionDenied
    return found


def _answered(
    request: PersonRequest, alarm: Alarm, form: DesignedForm, act: Callable[[Alarm], str]
) -> HttpResponse:
    """Back to the alarm; with the form and what was wrong with it where it was not taken."""
    if form.is_valid():
        try:
            messages.success(request, act(alarm), "ok")
            return redirect("ui:alarm", alarm.uid)
        except ValidationError as refused:
            form.refuse(refused)
    return _shown(request, alarm, form)


# ---- the bell, which every page asks for -------------------------------------------------------


@require_safe
def ring(request: PersonRequest) -> HttpResponse:
    """The leaves of the frame that have changed; ?known= is what the page shows."""
    if not request.user.is_authenticated:
        return HttpResponseClientRedirect(reverse("ui:login"))
    known = request.GET.get("known", "")
    found = bell(scope_of_request(request), known)
    context = {
        "bell": found,
        "changed": found.known != known,
        "has_tile": "tile" in request.GET,
    }
    answer = render(request, "alarms/bell.html", context)
    answer["Headrace-Release"] = identity()  # for a page that has no stream to hear it from
    return answer
