"""Callers of the API: by token, by session."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from controlplane.accounts.models import User
from controlplane.accounts.tokens import TokenTerms, issue_token

Caller = Callable[..., Client]
API = "/api/v1"


def sent(client: Client, method: str, path: str, body: Any = None, **headers: str) -> Any:
    text = json.dumps(body) if body is not None else ""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return client.generic(method, API + path, text, content_type="application/json", headers=named)


@pytest.fixture
def caller() -> Caller:
    """A client that sends a token in the person's name."""

    def with_token(user: User, terms: TokenTerms | None = None) -> Client:
        _, plaintext = issue_token(user, "ci", user, terms)
        return Client(headers={"authorization": f"Bearer {plaintext}"})

    return with_token
