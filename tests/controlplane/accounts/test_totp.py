"""The codes of RFC 6238, and how long each one is good (04 §8.1)."""

from __future__ import annotations

import base64
from urllib.parse import parse_qs, urlsplit

import pytest

from controlplane.accounts import totp

RFC_SECRET = base64.b32encode(b"12345678901234567890").decode()


@pytest.mark.parametrize(
    ("at_s", "code"),
    [
        (59, "287082"),
        (1111111109, "081804"),
        (1111111111, "050471"),
        (1234567890, "005924"),
        (2000000000, "279037"),
        (20000000000, "353130"),
    ],
)
def test_the_vectors_of_the_rfc_hold(at_s: int, code: str) -> None:
    assert totp.code_at(RFC_SECRET, at_s // totp.STEP_S) == code


@pytest.mark.parametrize(("drift_s", "is_good"), [(-60, False), (-30, True), (0, True), (30, True),
                                                  (60, False)])  # fmt: skip
def test_a_clock_may_be_off_by_one_step(drift_s: int, is_good: bool) -> None:  # noqa: FBT001
    now = 1234567890
    code = totp.code_at(RFC_SECRET, (now + drift_s) // totp.STEP_S)

    assert (totp.matching_step(RFC_SECRET, code, now, after=0) is not None) == is_good


def test_a_code_is_good_once() -> None:
    code = totp.code_at(RFC_SECRET, 100)
    step = totp.matching_step(RFC_SECRET, code, 3000, after=0)

    assert step == 100
    assert totp.matching_step(RFC_SECRET, code, 3000, after=step) is None


def test_what_is_no_code_matches_nothing() -> None:
    for text in ("", "12345", "\uff12\uff18\uff17\uff10\uff18\uff12", "28708 2", "287082x"):
        assert totp.matching_step(RFC_SECRET, text, 59, after=0) is None


def test_an_authenticator_reads_secret_issuer_and_account() -> None:
    found = urlsplit(totp.address("ABC", "a+b@example.com", "Headrace"))

    assert (found.scheme, found.netloc, found.path) == (
        "otpauth", "totp", "/Headrace:a%2Bb%40example.com",
    )  # fmt: skip
    assert parse_qs(found.query) == {
        "secret": ["ABC"], "issuer": ["Headrace"], "digits": ["6"], "period": ["30"],
    }  # fmt: skip
