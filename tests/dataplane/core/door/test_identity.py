"""Who is calling, from headers alone (03 §1.3 and 1.4, 10.1 (2, 3, 6, 7, 10))."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataplane.core.door.identity import (
    credentials_in,
    digest_of,
    foreign_slots,
    has_provider_key,
    has_token_shape,
    tenant_token,
)

KEY = b"cg_live_AAAAAAAAAAAAAAAAAAAAAAAAAA"
AUTH, API, GOOGLE, OWN = (
    b"authorization",
    b"x-api-key",
    b"x-goog-api-key",
    b"x-context-guru-token",
)


@pytest.mark.parametrize(
    ("headers", "token"),
    [
        pytest.param([(AUTH, b"Bearer " + KEY), (API, b"sk-1")], KEY, id="02-bearer"),
        pytest.param([(API, KEY)], KEY, id="02-x-api-key"),
        pytest.param([(GOOGLE, KEY)], KEY, id="02-google"),
        pytest.param([(AUTH, b"Apikey  " + KEY)], KEY, id="02-other-scheme"),
        pytest.param([(AUTH, KEY)], KEY, id="02-bare"),
        pytest.param([(AUTH, b"a.b.c"), (AUTH, b"Bearer " + KEY)], KEY, id="03-second-value"),
        pytest.param([(OWN, b"anything"), (API, KEY)], b"anything", id="own-header-first"),
        pytest.param([(OWN, b"Bearer"), (API, KEY)], KEY, id="own-header-with-a-scheme-alone"),
        pytest.param([(OWN, b""), (API, KEY)], KEY, id="own-header-empty"),
        pytest.param([(API, KEY[:-1])], None, id="06-truncated"),
        pytest.param([(API, KEY + b"A")], None, id="06-too-long"),
        pytest.param([(API, b"sk-" + KEY[3:])], None, id="06-other-prefix"),
        pytest.param([(AUTH, b"Bearer")], None, id="07-scheme-alone"),
        pytest.param([(AUTH, b"")], None, id="07-empty"),
        pytest.param([], None, id="07-nothing"),
        pytest.param([(b"x-other", KEY)], None, id="07-elsewhere"),
    ],
)
def test_a_tenant_key_is_found_where_it_may_stand(
    headers: list[tuple[bytes, bytes]], token: bytes | None
) -> None:
    assert tenant_token(headers) == token


@pytest.mark.parametrize("scheme", [b"Bearer", b"BASIC", b"apikey", b"Token"])
def test_case_07_a_lone_scheme_is_no_credential(scheme: bytes) -> None:
    assert list(credentials_in([(AUTH, scheme), (API, b" ")])) == []


@pytest.mark.parametrize(
    ("value", "is_ours"),
    [
        (KEY, True),
        (b"Bearer " + KEY[:12], True),
        (b"cg_node_X", True),
        (b"Bearer " + KEY + b" x", True),
        (b"sk-cg_live", False),
        (b"Bearer", False),
    ],
)
def test_whatever_starts_like_one_of_our_keys_keeps_its_slot_here(
    value: bytes, *, is_ours: bool
) -> None:
    assert foreign_slots([(AUTH, value), (b"x-other", KEY)]) == (
        frozenset({AUTH}) if is_ours else frozenset()
    )


@pytest.mark.parametrize(
    ("headers", "has_key"),
    [
        ([(API, b"sk-1"), (AUTH, b"Bearer " + KEY)], True),
        ([(AUTH, b"Bearer " + KEY), (AUTH, b"Bearer sk-1")], False),
        pytest.param([(OWN, KEY)], False, id="10-token-only"),
        ([(OWN, KEY), (AUTH, b"Bearer")], False),
        ([(OWN, KEY), (GOOGLE, b"g-1")], True),
    ],
)
def test_a_provider_key_is_a_credential_in_a_slot_that_may_leave(
    headers: list[tuple[bytes, bytes]], *, has_key: bool
) -> None:
    assert has_provider_key(headers, foreign_slots(headers)) is has_key


@given(body=st.text("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", min_size=26, max_size=26))
def test_keys_of_the_issued_shape_are_recognised_and_never_leave(body: str) -> None:
    key = b"cg_live_" + body.encode()

    assert has_token_shape(key)
    assert tenant_token([(AUTH, b"Bearer " + key)]) == key
    assert foreign_slots([(AUTH, b"Bearer " + key)]) == {AUTH}


@pytest.mark.parametrize("token", [KEY[:-1], KEY + b"A", KEY.lower(), b"cg_node_" + b"A" * 26])
def test_other_shapes_are_not(token: bytes) -> None:
    assert not has_token_shape(token)


def test_a_credential_is_known_by_its_digest() -> None:
    assert digest_of(b"abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
