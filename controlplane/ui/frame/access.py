"""What a page lets whoever is asking reach: absent when it is not theirs, refused when it is."""

from __future__ import annotations

from django.core.exceptions import PermissionDenied
from django.db.models import Q
from django.http import Http404

from controlplane.accounts.models import Organisation
from controlplane.accounts.scopes import Scope
from controlplane.arrivals import scope_of_request
from controlplane.ui.frame.page import PersonRequest

DEPLOYMENT = "_deployment"  # the handle of no organisation; slugs have no underscore


def scope_for(request: PersonRequest, permission: str) -> Scope:
    """PermissionDenied for somebody who has the permission nowhere."""
    scope = scope_of_request(request)
    if not scope.may_somewhere(permission):
        raise PermissionDenied
    return scope


def deployment_scope(request: PersonRequest, permission: str) -> Scope:
    """The same for what belongs to the deployment as a whole."""
    scope = scope_of_request(request)
    if not scope.may(permission, None):
        raise PermissionDenied
    return scope


def place_of(request: PersonRequest, handle: str, permission: str) -> Organisation | None:
    """The organisation of that slug or uid; None is the deployment.

    Http404 for one that the person does not belong to, PermissionDenied for what they may not do.
    """
    scope = scope_of_request(request)
    organisation = None if handle == DEPLOYMENT else _own(scope, handle)
    if handle == DEPLOYMENT and not scope.may(permission, None):
        raise Http404
    if not scope.may_in(permission, organisation):
        raise PermissionDenied
    return organisation


def _own(scope: Scope, handle: str) -> Organisation:
    places = [grant.organisation for grant in scope.grants if grant.organisation is not None]
    named = Organisation.objects.filter(Q(slug=handle) | Q(uid=handle))
    sees_all = len(places) < len(scope.grants)
    found = named.first() if sees_all else named.filter(pk__in=places).first()
    if found is None:
        raise Http404
    return found


def handle_of(organisation: Organisation | None) -> str:
    return organisation.slug if organisation else DEPLOYMENT


def name_of(organisation: Organisation | None) -> str:
    return organisation.name if organisation else "the deployment"
