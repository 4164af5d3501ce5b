"""Callers of the API: by token, by session."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.test import Client

from controlplane.accounts.models import User
from controlplane.accounts.tokens import TokenTerms, issue_token

Caller = Callable[..., Client]


@pytest.fixture
def caller() -> Caller:
    """A client that sends a token in the person's name."""

    def with_token(user: User, terms: TokenTerms | None = None) -> Client:
        _, plaintext = issue_token(user, "ci", user, terms)
        return Client(headers={"authorization": f"Bearer {plaintext}"})

    return with_token
