"""Refusals that an interface answers with a code and a status (04 §6.2)."""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus
from typing import ClassVar


class AccountError(Exception):
    """A change that the rules of accounts forbid; its text is a sentence for people."""

    code: ClassVar[str]
    status: ClassVar[HTTPStatus]


class LastManagerError(AccountError):
    """The deployment would be left without an active manager."""

    code = "account.last_manager"
    status = HTTPStatus.CONFLICT

    def __init__(self) -> None:
        super().__init__("The last active manager stays, or nobody could manage the deployment.")


class AmbiguousNameError(AccountError):
    """A name that several organisations in reach use: none of theirs is guessed to be meant.

    uids: of those that bear it.
    """

    code = "conflict.ambiguous"
    status = HTTPStatus.CONFLICT

    def __init__(self, what: str, uids: Sequence[str]) -> None:
        super().__init__(f"Several organisations have a {what} of this name; use its uid.")
        self.uids = tuple(uids)


class SameHandsError(AccountError):
    """One person would give away both the password and the second factor of another's account."""

    code = "account.same_hands"
    status = HTTPStatus.CONFLICT

    def __init__(self) -> None:
        super().__init__(
            "Whoever gives the password away cannot take the second factor as well. Another "
            "manager can, or headrace factor remove on the machine."
        )


class LinkError(AccountError):
    """An invitation or a reset link that is unknown, used or over; it does not say which."""

    code = "auth.invalid_token"
    status = HTTPStatus.UNAUTHORIZED

    def __init__(self) -> None:
        super().__init__("This link is not valid any more. Ask for a new one.")


class KeyTooShortError(AccountError):
    """Too short to be a provider key: anybody could guess it and be taken for the tenant."""

    code = "key.too_short"
    status = HTTPStatus.UNPROCESSABLE_ENTITY

    def __init__(self, shortest: int) -> None:
        super().__init__(f"A key has at least {shortest} characters.")


class BoundElsewhereError(AccountError):
    """The provider key stands for another tenant already; it is never moved."""

    code = "key.bound_elsewhere"
    status = HTTPStatus.CONFLICT

    def __init__(self) -> None:
        super().__init__("This key is bound to another tenant. It has to be unbound there first.")


class TokenExpiredError(AccountError):
    """A token of the API beyond its end."""

    code = "auth.expired"
    status = HTTPStatus.UNAUTHORIZED

    def __init__(self) -> None:
        super().__init__("This token is over. Make another one on the page of your account.")


class TokenRevokedError(AccountError):
    """A token of the API that was taken back."""

    code = "auth.revoked"
    status = HTTPStatus.UNAUTHORIZED

    def __init__(self) -> None:
        super().__init__("This token was revoked. Its line on the page of tokens says by whom.")


class TokenElsewhereError(AccountError):
    """A token of the API from outside the networks that it was made for."""

    code = "auth.ip_not_allowed"
    status = HTTPStatus.FORBIDDEN

    def __init__(self, ip: str) -> None:
        super().__init__(f"This token is not for use from {ip}.")
