"""What providers charge: the card in force, its history, a new version (04 §5.14)."""

from __future__ import annotations

from http import HTTPStatus

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from controlplane.accounts.scopes import Scope
from controlplane.arrivals import scope_of_request
from controlplane.digits import whole
from controlplane.prices import queries
from controlplane.prices.actions import StaleCardError, save_card
from controlplane.prices.entries import Entry
from controlplane.prices.models import PriceCard
from controlplane.ui.deployment.price_rows import entries_sent, lines, price_rows, unpriced_rows
from controlplane.ui.frame.page import PersonRequest, page
from dataplane.core.prices import catalogue
from dataplane.core.prices.money import PriceError

WRITE = "price:write"
HERE = "ui:prices"
MATCH_MAX = 120
FOUND = {
    "entry": "The entry {match} has exactly this name.",
    "without its date": "The entry {match} has this name without the date at its end.",
    "longest match": "The entry {match} is the longest one that this name begins with.",
    "listed": "No entry has this name, so it costs what {source} lists for {match}.",
    "missing": "No entry has this name: its requests are counted, and their cost is unknown.",
}


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def prices(request: PersonRequest) -> HttpResponse:
    """GET shows a version, the one in force if none is named; POST saves the next one."""
    scope = scope_of_request(request)
    if request.method == "POST":
        return _save(request, scope)
    shown = _version(request.GET.get("version", ""))
    entries = queries.entries_of(shown) if shown else queries.entries_in_force()
    wanted = request.GET.get("add", "").strip()[:MATCH_MAX]
    is_edited = bool(wanted or "edit" in request.GET) and scope.may(WRITE, None)
    if is_edited and wanted:
        entries = [*entries, Entry(match=wanted, input="", output="")]
    return _page(request, shown, entries, is_edited=is_edited)


def _version(wanted: str) -> PriceCard | None:
    """Http404 for a version that never was; None before the first."""
    if not wanted:
        return queries.card_in_force()
    found = PriceCard.objects.filter(version=whole(wanted, None)).first()
    if found is None:
        raise Http404
    return found


def _save(request: PersonRequest, scope: Scope) -> HttpResponse:
    if not scope.may(WRITE, None):
        raise PermissionDenied
    based_on, message = request.POST.get("based_on", ""), request.POST.get("message", "").strip()
    entries: list[Entry] = []
    try:
        entries = entries_sent(request.POST)
        if not message:
            raise PriceError("Say in a few words what changes, and why.")
        number = whole(based_on, 0)
        card = save_card(entries, message[:500], request.user, based_on=number)
    except StaleCardError:
        return _refused(request, entries, HTTPStatus.CONFLICT)
    except PriceError as refused:
        return _refused(request, entries, HTTPStatus.UNPROCESSABLE_ENTITY, str(refused))
    messages.success(request, f"Version {card.version} is in force.", "ok")
    return redirect(HERE)


def _refused(
    request: PersonRequest, entries: list[Entry], status: HTTPStatus, problem: str = ""
) -> HttpResponse:
    """The form as it was sent; a lost race names the version that won."""
    head = queries.card_in_force()
    kept = {
        "problem": problem,
        "overtaken": head if status == HTTPStatus.CONFLICT else None,
        "message": request.POST.get("message", ""),
        "based_on": head.version if head else 0,
    }
    return _page(request, head, entries, is_edited=True, status=status, **kept)


def _page(
    request: PersonRequest,
    shown: PriceCard | None,
    entries: list[Entry],
    *,
    is_edited: bool,
    status: int = HTTPStatus.OK,
    **kept: object,
) -> HttpResponse:
    head = queries.card_in_force()
    model = request.GET.get("model", "").strip()
    context = {
        "shown": shown,
        "is_in_force": shown == head,
        "cards": queries.cards(),
        "rows": [] if is_edited else price_rows(entries),
        "lines": lines(entries) if is_edited else [],
        "is_edited": is_edited,
        "may_write": scope_of_request(request).may(WRITE, None),
        "based_on": head.version if head else 0,
        "model": model,
        "found": _found(model) if model else "",
        "unpriced": [] if is_edited else unpriced_rows(scope_of_request(request)),
        "listed_by": catalogue.source(),
        "here": reverse(HERE),
        **kept,
    }
    return page(request, "prices/prices.html", context, here=HERE, status=status)


def _found(model: str) -> str:
    found = queries.find(model)
    return FOUND[found.how].format(match=found.match, source=catalogue.source())
