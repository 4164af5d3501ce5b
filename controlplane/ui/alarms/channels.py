"""Where people are told of alarms (04 §5.16)."""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from controlplane.accounts.models import Organisation
from controlplane.accounts.scopes import Scope
from controlplane.alarms import channels as alarms
from controlplane.alarms import queries
from controlplane.alarms.models import Channel
from controlplane.arrivals import scope_of_request
from controlplane.ui.alarms.channel_forms import ChannelForm
from controlplane.ui.alarms.rows import delivery_verdict
from controlplane.ui.frame.access import handle_of, name_of, place_of, scope_for
from controlplane.ui.frame.asking import Crumb, Question, ask
from controlplane.ui.frame.page import PersonRequest, page
from controlplane.ui.frame.showing_once import Once, show_once
from controlplane.ui.frame.verdicts import Verdict

HERE = "ui:channels"
WRITE = "secret:write"
ASKED = ["GET", "HEAD", "POST"]
HOW_TO_CHECK = (
    ("Signature", "hex HMAC-SHA256 over X-CG-Timestamp, a full stop and the body"),
    ("Compare", "in constant time with X-CG-Signature, which has v1= in front; any one may match"),
    ("Refuse", "what is older than 5 minutes"),
    ("Take once", "each X-CG-Delivery, which stays the same when it is tried again"),
)


@dataclass(frozen=True, slots=True)
class ChannelRow:
    uid: str
    name: str
    kind: str
    target: str
    least: str
    state: Verdict
    href: str


@login_required
@require_safe
def channels(request: PersonRequest) -> HttpResponse:
    """To the first place whose channels the person may change."""
    places = _places(scope_for(request, WRITE))
    return redirect("ui:channels-there", handle_of(places[0]))


def _places(scope: Scope) -> list[Organisation | None]:
    own: list[Organisation | None] = list(scope.organisations(WRITE))
    return [None, *own] if scope.may(WRITE, None) else own


@login_required
@never_cache
@require_http_methods(ASKED)
def channels_there(request: PersonRequest, place: str) -> HttpResponse:
    """GET lists them, POST adds one and shows a webhook's secret once."""
    organisation = place_of(request, place, WRITE)
    form = _form(request, organisation)
    value = ""
    if form.is_valid():
        try:
            made, value = alarms.add(organisation, form.terms(), by=request.user)
        except ValidationError as refused:
            form.refuse(refused)
        else:
            if not value:
                messages.success(request, f"{made.name} is told from now on.", "ok")
                return redirect("ui:channels-there", place)
            return _secret(request, made, value, "is told from now on")
    rows = [_row(channel, place) for channel in queries.channels(organisation)]
    places = [(name_of(each), handle_of(each)) for each in _places(scope_of_request(request))]
    context = {
        "rows": rows,
        "form": form,
        "place": place,
        "place_name": name_of(organisation),
        "places": places,
    }
    status = HTTPStatus.UNPROCESSABLE_ENTITY if form.errors else HTTPStatus.OK
    return page(request, "alarms/channels.html", context, here=HERE, status=status)


def _form(
    request: PersonRequest, organisation: Organisation | None, channel: Channel | None = None
) -> ChannelForm:
    """Only who manages the deployment may point a webhook at its own network."""
    may_be_private = scope_of_request(request).may("upstream:write", None)
    sent = request.POST if request.method == "POST" else None
    return ChannelForm(sent, channel=channel, may_be_private=may_be_private)


def _secret(request: PersonRequest, made: Channel, value: str, what: str) -> HttpResponse:
    place = handle_of(made.organisation)
    crumbs = [Crumb("Channels", reverse("ui:channels-there", args=[place]))]
    shown = Once(
        title=f"The secret of {made.name}",
        lede=f"{made.name} {what}. A receiver checks with it that a message is ours.",
        what="Secret",
        plaintext=value,
        leave=_back(made),
        done="Done, the secret is kept",
        crumbs=crumbs,
        here=HERE,
        facts=HOW_TO_CHECK,
    )
    return show_once(request, shown)


def _row(channel: Channel, place: str) -> ChannelRow:
    return ChannelRow(
        uid=channel.uid,
        name=channel.name,
        kind=channel.get_kind_display(),
        target=shown_target(channel),
        least=channel.least,
        state=_state(channel),
        href=reverse("ui:channel", args=[place, channel.uid]),
    )


def shown_target(channel: Channel) -> str:
    """Without the path of a webhook, which is a secret with some receivers."""
    if channel.kind == Channel.Kind.EMAIL:
        return channel.target
    return "/".join(channel.target.split("/")[:3]) + "/…"


def _state(channel: Channel) -> Verdict:
    if channel.disabled_at is not None:
        return Verdict("switched off, it only failed", "no", "alarm")
    if channel.failures:
        return Verdict(f"failing, {channel.failures} in a row", "watch", "watch")
    if channel.verified_at is None:
        return Verdict("nothing sent yet", "wait", "quiet")
    return Verdict("works", "ok", "ok")


# ---- one channel -------------------------------------------------------------------------------


def _found(request: PersonRequest, place: str, uid: str) -> Channel:
    organisation = place_of(request, place, WRITE)
    found = Channel.objects.filter(organisation=organisation, uid=uid).first()
    if found is None:
        raise Http404
    return found


@login_required
@require_http_methods(ASKED)
def channel(request: PersonRequest, place: str, channel: str) -> HttpResponse:
    """Its terms, and what was sent lately; POST changes the terms."""
    chosen_channel = _found(request, place, channel)
    form = _form(request, chosen_channel.organisation, chosen_channel)
    if form.is_valid():
        try:
            alarms.change(chosen_channel, form.terms(), by=request.user)
        except ValidationError as refused:
            form.refuse(refused)
        else:
            messages.success(request, f"{chosen_channel.name} is changed.", "ok")
            return redirect("ui:channel", place, channel)
    sent = queries.recent_deliveries(chosen_channel)
    context = {
        "row": _row(chosen_channel, place),
        "channel": chosen_channel,
        "form": form,
        "place": place,
        "place_name": name_of(chosen_channel.organisation),
        "deliveries": [(each, delivery_verdict(each)) for each in sent],
        "both_valid": alarms.is_both_valid(chosen_channel, timezone.now()),
        "is_webhook": chosen_channel.kind == Channel.Kind.WEBHOOK,
    }
    status = HTTPStatus.UNPROCESSABLE_ENTITY if form.errors else HTTPStatus.OK
    return page(request, "alarms/channel.html", context, here=HERE, status=status)


@login_required
@require_POST
def send_test(request: PersonRequest, place: str, channel: str) -> HttpResponse:
    chosen_channel = _found(request, place, channel)
    alarms.send_test(chosen_channel, by=request.user)
    messages.success(request, "A test is on its way; its answer appears below.", "ok")
    return redirect("ui:channel", place, channel)


@login_required
@never_cache
@require_POST
def rotate(request: PersonRequest, place: str, channel: str) -> HttpResponse:
    chosen_channel = _found(request, place, channel)
    if chosen_channel.kind != Channel.Kind.WEBHOOK:
        raise Http404
    value = alarms.rotate(chosen_channel, by=request.user)
    return _secret(
        request, chosen_channel, value, "signs with it; for a day with the former one as well"
    )


@login_required
@require_http_methods(ASKED)
def remove(request: PersonRequest, place: str, channel: str) -> HttpResponse:
    chosen_channel = _found(request, place, channel)
    if request.method == "POST":
        alarms.remove(chosen_channel, by=request.user)
        messages.success(request, f"{chosen_channel.name} is removed.", "ok")
        return redirect("ui:channels-there", place)
    question = Question(
        title=f"Remove {chosen_channel.name}",
        lede="Nobody is told there any more. Its delivery log and its secret go with it.",
        act="Remove the channel",
        leave=_back(chosen_channel),
        crumbs=[Crumb("Channels", reverse("ui:channels-there", args=[place]))],
        here=HERE,
    )
    return ask(request, question)


def _back(channel: Channel) -> str:
    return reverse("ui:channel", args=[handle_of(channel.organisation), channel.uid])
