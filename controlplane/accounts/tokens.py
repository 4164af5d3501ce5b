"""Tokens of the control plane's API: give out, replace, take back, recognise (04 §1.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from ipaddress import ip_network

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from controlplane.accounts import secrets
from controlplane.accounts.models import ApiToken, Membership, Organisation, Tenant, User
from controlplane.accounts.problems import (
    AccountError,
    TokenElsewhereError,
    TokenExpiredError,
    TokenRevokedError,
)
from controlplane.accounts.roles import PERMISSIONS
from controlplane.accounts.scopes import Principal, Scope, person_behind
from controlplane.audit.actions import Actor, Subject, record
from controlplane.databases import hold
from controlplane.storage import noted_if_possible
from dataplane.core.door.addresses import is_within

TOKEN_DAYS = 90
MAX_TOKEN_DAYS = 365
OVERLAP = timedelta(hours=24)
LONGEST_OVERLAP = timedelta(days=7)
SEEN_EVERY = timedelta(seconds=30)


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenTerms:
    """What a token may. scopes: permission names; ip_allow: networks in CIDR form, () for any.

    organisation, tenant: where it may it, None for wherever its maker may. parent: the token that
    asks for it, if one does.
    """

    scopes: Sequence[str] = tuple(sorted(PERMISSIONS[Membership.Role.MANAGER]))
    organisation: Organisation | None = None
    tenant: Tenant | None = None
    days: int = TOKEN_DAYS
    parent: ApiToken | None = None
    ip_allow: Sequence[str] = ()


@transaction.atomic
def issue_token(
    user: User, name: str, by: Actor | None, terms: TokenTerms | None = None
) -> tuple[ApiToken, str]:
    """A token in the person's name and its text, which is never shown again.

    ValidationError for an unknown scope, a network that is none, or more days than allowed.
    """
    terms = terms or TokenTerms()
    return _issue(_drafted(user, name, terms), by)


def _drafted(user: User, name: str, terms: TokenTerms) -> ApiToken:
    longest = longest_days(terms, user)
    if not 1 <= terms.days <= longest:
        raise ValidationError(f"A token lives for 1 to {longest} days.")
    unknown = set(terms.scopes) - PERMISSIONS[Membership.Role.MANAGER]
    if unknown or not terms.scopes:
        raise ValidationError(f"Unknown scopes: {', '.join(sorted(unknown)) or 'none given'}.")
    return ApiToken(
        name=name.strip(),
        organisation=terms.organisation,
        tenant=terms.tenant,
        created_by=user,
        scopes=sorted(set(terms.scopes)),
        ip_allow=[_network(text) for text in terms.ip_allow],
        parent=terms.parent,
        expires_at=timezone.now() + timedelta(days=terms.days),
    )


def longest_days(token: ApiToken | TokenTerms, maker: User) -> int:
    """What the policy of its organisation says.

    A token that is good wherever its maker may is bound by each organisation that the maker
    belongs to, or none of them could rely on its policy.
    """
    organisation = token.tenant.organisation if token.tenant else token.organisation
    if organisation is not None:
        return _longest_in(organisation)
    own = Organisation.objects.filter(memberships__user=maker)
    return min((MAX_TOKEN_DAYS, *map(_longest_in, own)))


def _longest_in(organisation: Organisation) -> int:
    return int(organisation.policy.get("max_token_days", MAX_TOKEN_DAYS))


def _network(text: str) -> str:
    try:
        return str(ip_network(text.strip()))
    except ValueError as problem:
        raise ValidationError(f"{text!r} is not a network like 192.0.2.0/24.") from problem


def _issue(token: ApiToken, by: Actor | None) -> tuple[ApiToken, str]:
    """The one way in which a token comes to be, whether it is new or replaces another.

    ValidationError for the child of one that is revoked or over.
    """
    if token.parent is not None:
        token.expires_at = min(token.expires_at, _held(token.parent).expires_at)
    credential = secrets.new_token()
    token.prefix, token.token_hash = credential.prefix, credential.digest
    token.full_clean()
    token.save()
    after = {
        "prefix": token.prefix,
        "scopes": token.scopes,
        "expires_at": token.expires_at.isoformat(),
        "rotated_from": token.rotated_from.uid if token.rotated_from else None,
        "parent": token.parent.uid if token.parent else None,
    }
    record("token.issue", _subject(token), by, after=after)
    return token, credential.plaintext


@transaction.atomic
def rotate_token(
    token: ApiToken, by: Actor | None, *, overlap: timedelta = OVERLAP
) -> tuple[ApiToken, str]:
    """A new token of the same terms; the old one works on for the overlap of 0 to 7 days.

    Tokens that the old one asked for end with it: whoever has its text may have asked for them.
    """
    _held(token)
    now = timezone.now()
    until = min(token.expires_at, now + checked_overlap(overlap))
    lifetime = token.expires_at - token.created_at
    fresh = ApiToken(
        name=token.name,
        organisation=token.organisation,
        tenant=token.tenant,
        created_by=token.created_by,
        scopes=token.scopes,
        ip_allow=token.ip_allow,
        rotated_from=token,
        parent=token.parent,
        expires_at=now + min(lifetime, timedelta(days=longest_days(token, token.created_by))),
    )
    before = {"expires_at": token.expires_at.isoformat()}
    token.expires_at = until
    token.save(update_fields=["expires_at"])
    _end_children_with(token)
    after = {"expires_at": until.isoformat()}
    record("token.rotate", _subject(token), by, before=before, after=after)
    return _issue(fresh, by)


def _end_children_with(token: ApiToken) -> None:
    """No child outlives it, and no child of a child."""
    for child in token.children.filter(expires_at__gt=token.expires_at):
        child.expires_at = token.expires_at
        child.save(update_fields=["expires_at"])
        _end_children_with(child)


def _held(token: ApiToken) -> ApiToken:
    """Nobody revokes or rotates it meanwhile; ValidationError for one that is revoked or over."""
    hold(token, "revoked_at", "expires_at", "parent")
    if token.revoked_at is not None or token.expires_at <= timezone.now():
        raise ValidationError("A token that is revoked or over is neither rotated nor a parent.")
    return token


def checked_overlap(overlap: timedelta) -> timedelta:
    """How long two credentials of one owner may live side by side; ValidationError else."""
    if not timedelta(0) <= overlap <= LONGEST_OVERLAP:
        raise ValidationError("The overlap is between none and 7 days.")
    return overlap


@transaction.atomic
def revoke_token(token: ApiToken, by: Actor | None) -> ApiToken:
    """Stop accepting it and those that it asked for; doing so twice changes nothing."""
    hold(token, "revoked_at")
    for child in token.children.filter(revoked_at=None):
        revoke_token(child, by)
    if token.revoked_at is not None:
        return token
    token.revoked_at = timezone.now()
    token.revoked_by = person_behind(by)
    token.save(update_fields=["revoked_at", "revoked_by"])
    record("token.revoke", _subject(token), by, before={"prefix": token.prefix})
    return token


def authenticate_token(plaintext: str, ip: str) -> Principal | None:
    """Who the token speaks for, at this address, now; None for anything that is not in order.

    A mistyped token is known by its checksum, without a look into the database.
    """
    if not secrets.is_token(plaintext):
        return None
    now = timezone.now()
    live = ApiToken.objects.filter(revoked_at=None, expires_at__gt=now, created_by__is_active=True)
    token = (
        live.filter(token_hash=secrets.digest_of(plaintext))
        .select_related("created_by", "organisation", "tenant__organisation")
        .first()
    )
    if token is None or (token.ip_allow and not is_within(ip, token.ip_allow)):
        return None
    _note_use(token, ip, now)
    return Principal(token.created_by, token)


def why_refused(plaintext: str, ip: str) -> AccountError | None:
    """Why a token of ours is not accepted; None for what never was one, or whose maker is out.

    Whoever sends the whole text may know what became of it.
    """
    if not secrets.is_token(plaintext):
        return None
    token = ApiToken.objects.filter(
        token_hash=secrets.digest_of(plaintext), created_by__is_active=True
    ).first()
    if token is None:
        return None
    if token.revoked_at is not None:
        return TokenRevokedError()
    return TokenExpiredError() if token.expires_at <= timezone.now() else TokenElsewhereError(ip)


def _note_use(token: ApiToken, ip: str, now: datetime) -> None:
    """One write per token and half minute, however many requests and processes there are."""
    is_due = Q(last_used_at=None) | Q(last_used_at__lte=now - SEEN_EVERY)
    if token.last_used_at is None or token.last_used_at <= now - SEEN_EVERY:
        with noted_if_possible():
            ApiToken.objects.filter(is_due, pk=token.pk).update(last_used_at=now, last_used_ip=ip)


def tokens_of(scope: Scope) -> Sequence[ApiToken]:
    """The principal's own tokens and those that it may manage, newest first."""
    if scope.principal is None:
        return []
    wanted = Q(created_by=scope.principal.user)
    if scope.may("token:write", None):
        wanted = Q()
    else:
        wanted |= Q(organisation__in=scope.organisations("token:write"))
    found = ApiToken.objects.filter(wanted).order_by("-id")
    return list(found.select_related("created_by", "organisation", "tenant", "revoked_by"))


def may_manage(scope: Scope, token: ApiToken) -> bool:
    """Everyone their own, an admin the organisation's, a manager all (04 §1.1)."""
    if scope.principal is None:
        return False
    is_own = scope.principal.user == token.created_by and scope.principal.token is None
    return is_own or scope.may_in("token:write", token.organisation)


def _subject(token: ApiToken) -> Subject:
    organisation = token.organisation.uid if token.organisation else ""
    return Subject(token.uid, token.name, organisation)
