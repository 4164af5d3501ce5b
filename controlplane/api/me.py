"""The caller's own account: name, theme, password, machines (04 §6.3)."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from django.contrib.auth import update_session_auth_hash
from django.db import transaction
from django.http import HttpRequest
from ninja import Router, Status

from controlplane.accounts import websessions
from controlplane.accounts.attempts import TooManyAttemptsError
from controlplane.accounts.models import User, WebSession
from controlplane.accounts.people import change_password, choose_theme, rename
from controlplane.api import account_schemas as schemas
from controlplane.api import shown_accounts as shown
from controlplane.api.access import by_hand, plain, scope_of
from controlplane.api.operations import operation
from controlplane.api.refusals import RefusedError, not_found

router = Router(tags=["me"])


@operation(router, "GET", "/me", scope="", tenancy="self", response={200: schemas.MeOut})
def get_me(request: HttpRequest) -> schemas.MeOut:
    """The person who is signed in, or for whom the token speaks."""
    principal = scope_of(request).principal
    if principal is None:
        raise not_found()
    return _me(principal.user)


@operation(router, "PATCH", "/me", scope="", tenancy="self", response={200: schemas.MeOut})
def patch_me(request: HttpRequest, body: schemas.MyChange) -> schemas.MeOut:
    """Name and theme; what is left out stays."""
    user = by_hand(request)
    with transaction.atomic():
        if body.display_name is not None:
            rename(user, body.display_name, user)
        if body.theme is not None:
            choose_theme(user, body.theme)
    return _me(user)


# A dry run of it would undo the count of wrong tries, too, and so let anybody guess.
@operation(
    router, "POST", "/me/password", scope="", tenancy="self", tried=False, response={204: None}
)  # fmt: skip
def change_my_password(request: HttpRequest, body: schemas.NewPassword) -> Any:
    """The current one is asked for; every other machine is signed out."""
    user = by_hand(request)
    try:
        change_password(user, current=body.current, new=body.new)
    except TooManyAttemptsError:
        detail = "Too many tries. The next one counts in a minute."
        raise RefusedError(HTTPStatus.TOO_MANY_REQUESTS, "rate_limited", detail) from None
    update_session_auth_hash(request, user)
    return Status(204, None)


@operation(
    router, "GET", "/me/sessions", scope="", tenancy="self", response={200: schemas.MachinesOut}
)  # fmt: skip
def list_machines(request: HttpRequest) -> dict[str, Any]:
    """Where the caller is signed in, this machine first."""
    user = by_hand(request)
    rows = websessions.machines_of(user, request.session.session_key or "")
    return {"items": [shown.machine(row) for row in rows]}


@operation(
    router, "DELETE", "/me/sessions/{uid}", scope="", tenancy="self", response={204: None}
)  # fmt: skip
def end_machine(request: HttpRequest, uid: str) -> Any:
    """The machine is signed out at its next request."""
    user = by_hand(request)
    found = WebSession.objects.select_related("user").filter(user=user, uid=plain(uid)).first()
    if found is None:
        raise not_found()
    websessions.revoke(found, user)
    return Status(204, None)


def _me(user: User) -> schemas.MeOut:
    return schemas.MeOut(
        uid=user.uid, email=user.email, display_name=user.display_name, theme=user.theme
    )
