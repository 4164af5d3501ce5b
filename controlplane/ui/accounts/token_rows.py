"""Tokens of the API as rows ready to show (04 §5.16)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.utils import timezone

from controlplane.accounts.models import ApiToken
from controlplane.ui.accounts.token_forms import is_every_scope
from controlplane.ui.frame.credentials import EXPIRED, LIVE, REVOKED
from controlplane.ui.frame.verdicts import Verdict


@dataclass(frozen=True, slots=True)
class TokenRow:
    token: ApiToken
    owner: str
    where: str
    scopes: str
    networks: str
    state: Verdict
    ended_at: datetime | None

    @property
    def is_live(self) -> bool:
        return self.state is LIVE


def token_rows(tokens: Iterable[ApiToken]) -> list[TokenRow]:
    now = timezone.now()
    rows = [_row(token, now) for token in tokens]
    return sorted(rows, key=lambda row: not row.is_live)


def _row(token: ApiToken, now: datetime) -> TokenRow:
    state, ended_at = _state(token, now)
    return TokenRow(
        token=token,
        owner=token.created_by.email,
        where=where_of(token),
        scopes=in_words(token.scopes),
        networks=", ".join(token.ip_allow),
        state=state,
        ended_at=ended_at,
    )


def _state(token: ApiToken, now: datetime) -> tuple[Verdict, datetime | None]:
    if token.revoked_at is not None:
        return REVOKED, token.revoked_at
    if token.expires_at <= now:
        return EXPIRED, token.expires_at
    return LIVE, None


def where_of(token: ApiToken) -> str:
    if token.tenant is not None:
        return f"tenant {token.tenant.label}"
    return token.organisation.name if token.organisation else "wherever its maker may"


def in_words(scopes: Sequence[str]) -> str:
    return "everything" if is_every_scope(scopes) else ", ".join(scopes)
