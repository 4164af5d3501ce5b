"""People of an organisation as rows ready to show (04 §5.13)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, Max, Q
from django.utils import timezone

from controlplane.accounts.models import Invitation, Membership, Organisation, User
from controlplane.accounts.queries import members_of, open_invitations
from controlplane.accounts.scopes import Scope
from controlplane.ui.frame.verdicts import Verdict

ACTIVE = Verdict("active", "ok", "ok")
DISABLED = Verdict("disabled", "pause", "watch")
EVERY_TENANT = "every tenant"


@dataclass(frozen=True, slots=True)
class MemberRow:
    """seen_at: the last use of a session that is still open; machines: how many there are."""

    uid: str
    name: str
    email: str
    role: str
    tenants: str
    state: Verdict
    machines: int
    seen_at: datetime | None


@dataclass(frozen=True, slots=True)
class InvitationRow:
    uid: str
    email: str
    role: str
    tenants: str
    by: str
    expires_at: datetime


def member_rows(organisation: Organisation | None) -> list[MemberRow]:
    """Three queries, however many members there are."""
    memberships = members_of(organisation)
    seen = _sessions(memberships)
    return [_member(membership, *seen[membership.user_id]) for membership in memberships]


def _sessions(memberships: Sequence[Membership]) -> dict[int, tuple[int, datetime | None]]:
    is_open = Q(web_sessions__revoked_at=None, web_sessions__expires_at__gt=timezone.now())
    people = User.objects.filter(pk__in=[membership.user_id for membership in memberships])
    counted = people.annotate(
        machines=Count("web_sessions", filter=is_open),
        seen_at=Max("web_sessions__last_seen_at", filter=is_open),
    )
    return {pk: (number, at) for pk, number, at in counted.values_list("pk", "machines", "seen_at")}


def _member(membership: Membership, machines: int, seen_at: datetime | None) -> MemberRow:
    user = membership.user
    return MemberRow(
        uid=user.uid,
        name=user.display_name or user.email,
        email=user.email if user.display_name else "",
        role=membership.role,
        tenants=tenants_in_words(membership),
        state=ACTIVE if user.is_active else DISABLED,
        machines=machines,
        seen_at=seen_at,
    )


def invitation_rows(organisation: Organisation | None) -> list[InvitationRow]:
    return [
        InvitationRow(
            uid=invitation.uid,
            email=invitation.email,
            role=invitation.role,
            tenants=tenants_in_words(invitation),
            by=invitation.created_by.email if invitation.created_by else "Headrace",
            expires_at=invitation.expires_at,
        )
        for invitation in open_invitations(organisation)
    ]


def tenants_in_words(held: Membership | Invitation) -> str:
    return ", ".join(sorted(tenant.label for tenant in held.tenants.all())) or EVERY_TENANT


def is_theirs_alone(scope: Scope, user: User) -> bool:
    """Whether whoever asks may act on the account itself: all that it belongs to is theirs."""
    held = user.memberships.select_related("organisation")
    return all(scope.may_in("member:write", membership.organisation) for membership in held)
