"""Every code that a refusal carries has a page behind its `type` (04 §2.4, 6.2)."""

from __future__ import annotations

import re

import pytest
from django.test import Client

from controlplane.accounts.models import User
from controlplane.accounts.problems import AccountError
from controlplane.configs.problems import ConfigsError
from controlplane.refusal_codes import CODES
from tests import house

WORD = re.compile(
    r'"((?:auth|request|account|key|policy|precondition|conflict|idempotency|cursor|upstream|'
    r'price|export|plan)\.[a-z_]+|not_found|rate_limited|internal)"'
)


def signed_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def used() -> set[str]:
    """Codes as the API and the features spell them."""
    places = [name for name in house.files() if name.parts[:2] == ("controlplane", "api")]
    found = {code for name in places for code in WORD.findall(house.read(name))}
    found |= {problem.code for problem in AccountError.__subclasses__()}
    return found | {problem.code for problem in ConfigsError.__subclasses__()}


def test_every_code_in_use_is_explained() -> None:
    missing = used() - CODES.keys()

    assert not missing


def test_every_explained_code_is_an_answer_of_its_class() -> None:
    for code, meaning in CODES.items():
        assert 400 <= meaning.status < 600, code
        assert meaning.why.endswith(".")
        assert meaning.instead.endswith(".")


@pytest.mark.parametrize("code", ["rate_limited", "auth.second_factor_owed", "price.invalid"])
def test_the_page_that_a_refusal_names_says_what_to_do(admin: User, code: str) -> None:
    page = signed_in(admin).get(f"/docs/errors/{code}")

    assert page.status_code == 200
    assert CODES[code].instead in page.content.decode()


def test_a_code_that_is_none_has_no_page(admin: User) -> None:
    assert signed_in(admin).get("/docs/errors/no.such_code").status_code == 404
