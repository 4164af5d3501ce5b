"""Offer a preset's version in force to those that pinned another (04 §3.2)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from controlplane.accounts.models import User as Person
from controlplane.accounts.scopes import Scope
from controlplane.configs import drafts, visible
from controlplane.configs.documents import document_of
from controlplane.configs.models import ConfigDocument, Preset
from controlplane.configs.usage import User
from dataplane.core.config.fix import set_key
from dataplane.core.config.source import EditError


@dataclass(frozen=True, slots=True)
class Offered:
    """offered: who has a draft with the new number now. left: name to why it has none."""

    offered: tuple[str, ...]
    left: dict[str, str]


def offer_update(preset: Preset, users: tuple[User, ...], scope: Scope, by: Person) -> Offered:
    """A draft of this person in each document that pinned another version; nothing live changes."""
    promoted = preset.document.promoted
    if promoted is None:
        return Offered((), {})
    offered, left = [], {}
    for user in pinned_elsewhere(users, promoted.number):
        why = _offered(user, f"{preset.name}@{promoted.number}", scope, by)
        if why:
            left[user.name] = why
        else:
            offered.append(user.name)
    return Offered(tuple(offered), left)


def pinned_elsewhere(users: tuple[User, ...], number: int) -> Iterator[User]:
    """Those whose own text names another version."""
    return (user for user in users if user.pinned not in (None, number) and not user.via)


def _offered(user: User, reference: str, scope: Scope, by: Person) -> str:
    """Why no draft was made, "" when one was."""
    document = _document(user, scope)
    if document is None or document.head is None or not visible.may_write(scope, document):
        return "your role cannot change it"
    if drafts.draft_of(document, by) is not None:
        return "you have unsaved text there"
    key = "/preset" if user.kind == "tenant" else "/extends"
    try:
        text = set_key(document.head.source, key, reference)
    except EditError:
        return "its text cannot be changed by itself"
    drafts.keep_draft(document, by, text, base=document.head.number)
    return ""


def _document(user: User, scope: Scope) -> ConfigDocument | None:
    if user.kind == "tenant":
        tenant = scope.tenant(user.uid)
        return document_of(tenant) if tenant else None
    found = visible.presets(scope).filter(uid=user.uid).first()
    return found.document if found else None
