"""The machines on which a person is signed in: seen, listed, revoked (04 §1.1, 8.1)."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from controlplane.accounts.models import Membership, User, WebSession
from controlplane.audit.actions import Actor, Subject, record
from controlplane.storage import noted_if_possible

LIFETIME = timedelta(days=30)
MANAGER_LIFETIME = timedelta(hours=12)
SEEN_EVERY = timedelta(minutes=1)
SID_CHARACTERS = 16
LONGEST_AGENT = 200
BROWSERS = (("Edg", "Edge"), ("OPR", "Opera"), ("Firefox", "Firefox"), ("Chrome", "Chrome"),
            ("Safari", "Safari"), ("curl", "curl"))  # fmt: skip
SYSTEMS = (("Android", "Android"), ("iPhone|iPad", "iOS"), ("Windows", "Windows"),
           ("Mac OS X", "macOS"), ("Linux", "Linux"))  # fmt: skip


@dataclass(frozen=True, slots=True)
class Machine:
    user_agent: str
    ip: str

    @property
    def label(self) -> str:
        """ "Firefox on Linux", as far as the user agent tells."""
        browser = next((name for mark, name in BROWSERS if mark in self.user_agent), "")
        system = next((n for mark, n in SYSTEMS if re.search(mark, self.user_agent)), "")
        return " on ".join(filter(None, (browser, system))) or "Unknown machine"


def sid_of(session_key: str) -> str:
    return hashlib.sha256(session_key.encode()).hexdigest()[:SID_CHARACTERS]


@dataclass(frozen=True, slots=True)
class Admission:
    """slid: the session was lengthened, so its cookie has to be, too."""

    session: WebSession
    slid: bool = False


def admit(session_key: str, user: User, machine: Machine) -> Admission | None:
    """The machine's row, opened at its first request; None when it was revoked or is over."""
    now = timezone.now()
    row = WebSession.objects.filter(sid=sid_of(session_key)).first()
    if row is None:
        return Admission(_open(session_key, user, machine, now))
    if row.user_id != user.pk or row.revoked_at is not None or row.expires_at <= now:
        return None
    if row.last_seen_at <= now - SEEN_EVERY:
        with noted_if_possible():
            return _seen(row, user, machine, now)
    return Admission(row)


@transaction.atomic
def _open(session_key: str, user: User, machine: Machine, now: datetime) -> WebSession:
    WebSession.objects.filter(expires_at__lt=now - LIFETIME).delete()
    return WebSession.objects.get_or_create(
        sid=sid_of(session_key),
        defaults={
            "user": user,
            "label": machine.label,
            "user_agent": machine.user_agent[:LONGEST_AGENT],
            "ip": machine.ip,
            "created_at": now,
            "last_seen_at": now,
            "expires_at": now + (MANAGER_LIFETIME if _manages(user) else LIFETIME),
        },
    )[0]


def _seen(row: WebSession, user: User, machine: Machine, now: datetime) -> Admission | None:
    """Use lengthens a session by 30 days from now; a manager's ends 12 hours after its start."""
    manages = _manages(user)
    row.last_seen_at, row.ip = now, machine.ip
    row.expires_at = row.created_at + MANAGER_LIFETIME if manages else now + LIFETIME
    row.save(update_fields=["last_seen_at", "ip", "expires_at"])
    return Admission(row, slid=not manages) if row.expires_at > now else None


def _manages(user: User) -> bool:
    return user.memberships.filter(role=Membership.Role.MANAGER).exists()


def close(session_key: str) -> None:
    """Signed out: its row goes, and its cookie with it."""
    WebSession.objects.filter(sid=sid_of(session_key)).delete()


@transaction.atomic
def revoke(session: WebSession, by: Actor | None) -> None:
    """The machine is signed out at its next request; doing so twice changes nothing."""
    if session.revoked_at is not None:
        return
    session.revoked_at = timezone.now()
    session.save(update_fields=["revoked_at"])
    subject = Subject(session.user.uid, session.user.email)
    record("session.revoke", subject, by, before={"session": session.uid, "label": session.label})


@transaction.atomic
def revoke_all(user: User, by: Actor | None, *, but: str = "") -> int:
    """Every machine of the person, except the one of this session key; how many there were."""
    found = list(_live(user).exclude(sid=sid_of(but)) if but else _live(user))
    for session in found:
        revoke(session, by)
    return len(found)


@dataclass(frozen=True, slots=True)
class SignedIn:
    session: WebSession
    is_this_one: bool


def machines_of(user: User, session_key: str = "") -> Sequence[SignedIn]:
    """Where the person is signed in now, the machine of the session key first."""
    here = sid_of(session_key)
    rows = [SignedIn(session, session.sid == here) for session in _live(user)]
    return sorted(rows, key=lambda row: not row.is_this_one)


def _live(user: User) -> QuerySet[WebSession]:
    return WebSession.objects.filter(
        user=user, revoked_at=None, expires_at__gt=timezone.now()
    ).select_related("user")
