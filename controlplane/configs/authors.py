"""Who signs a version: a person, or a token in a person's name."""

from __future__ import annotations

from controlplane.accounts.models import ApiToken, User
from controlplane.accounts.scopes import Principal
from controlplane.audit.actions import Actor


def person_of(by: Actor | None) -> User | None:
    if isinstance(by, Principal):
        return by.user
    return by if isinstance(by, User) else None


def token_of(by: Actor | None) -> ApiToken | None:
    return by.token if isinstance(by, Principal) else None


def label_of(by: Actor | None) -> str:
    return by.actor_label if by else "system"
