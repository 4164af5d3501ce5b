"""Whoever gives somebody a way into an account could be the one who then acts in it.

The trail names them beside the person, until a sign-in that they could not have made: with an
authenticator, or with a password that the person has chosen since (04 §8.1, 8.8).
"""

from __future__ import annotations

from controlplane.accounts.models import PasswordReset, User
from controlplane.accounts.models.people import LONGEST_LABEL
from controlplane.accounts.problems import SameHandsError
from controlplane.audit.actions import Actor

_FIELDS = ("let_in_by", "let_in_by_uid", "let_in_with", "is_retaken")
With = User.LetInWith


def shown_to(by: Actor | None) -> dict[str, str]:
    """Who saw a link, as PasswordReset keeps it."""
    label = by.actor_label[:LONGEST_LABEL] if by else ""
    return {"seen_by": label, "seen_by_uid": by.actor_uid if by else ""}


def by_link(reset: PasswordReset) -> None:
    """Its password was chosen by whoever had the link; by nobody else where that went by mail."""
    if reset.seen_by_uid:
        _let_in(reset.user, reset.seen_by, reset.seen_by_uid, With.LINK)


def by_factor(user: User, by: Actor | None) -> None:
    """The password alone opens the account. The command line is whoever owns the machine."""
    if by is not None and by.actor_uid != user.uid:
        _let_in(user, by.actor_label[:LONGEST_LABEL], by.actor_uid, With.FACTOR)


def _let_in(user: User, label: str, uid: str, way: With) -> None:
    _set(user, label, uid, way, is_retaken=False)


def retake(user: User) -> None:
    """The person chose a password, which nobody else was given."""
    if user.let_in_by:
        user.is_retaken = True
        user.save(update_fields=["is_retaken"])


def signed_in(user: User, *, with_code: bool) -> None:
    """A sign-in that only the person can have made ends it."""
    if user.let_in_by and (with_code or user.is_retaken):
        _set(user, "", "", "", is_retaken=False)


def refuse_both(user: User, by: Actor, way: With) -> None:
    """SameHandsError for who would give away the password and the second factor alike.

    way: what they are about to give.
    """
    has_link = user.resets.filter(seen_by_uid=by.actor_uid).exists()
    gave = user.let_in_with if user.let_in_by_uid == by.actor_uid else ""
    if gave not in ("", way) or (has_link and way != With.LINK):
        raise SameHandsError


def _set(user: User, label: str, uid: str, way: str, *, is_retaken: bool) -> None:
    user.let_in_by, user.let_in_by_uid = label, uid
    user.let_in_with, user.is_retaken = way, is_retaken
    user.save(update_fields=_FIELDS)
