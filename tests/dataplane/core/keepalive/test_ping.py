"""The bytes of a ping and what its answer means (03 §7.3, 10.10 (138))."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataplane.core.keepalive.ping import Outcome, outcome_of, ping_body
from dataplane.core.wire.spans import outline
from dataplane.core.wire.usage import Usage

values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**40), 2**40) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=8,
)
CHANGED = {"max_tokens", "stream"}


def ping_of(body: bytes) -> bytes:
    return ping_body(body, outline(body)[0])


def test_case_138_only_the_two_members_differ() -> None:
    body = b'{ "model":"m" ,"max_tokens" : 4096,\n"stream":true, "messages":[ {"a":1.0e2} ]}'

    assert ping_of(body) == (
        b'{ "model":"m" ,"max_tokens" : 1,\n"stream":false, "messages":[ {"a":1.0e2} ]}'
    )


@pytest.mark.parametrize(
    ("body", "ping"),
    [
        pytest.param(b'{"messages":[]}', b'{"max_tokens":1,"messages":[]}', id="neither"),
        pytest.param(b"{ }", b'{"max_tokens":1 }', id="empty"),
        pytest.param(
            b'{"stream":false,"max_tokens":1}', b'{"stream":false,"max_tokens":1}', id="as it is"
        ),
        pytest.param(
            b'{"m":{"max_tokens":9,"stream":true},"max_tokens":2}',
            b'{"m":{"max_tokens":9,"stream":true},"max_tokens":1}',
            id="deeper ones are text",
        ),
    ],
)
def test_a_member_that_is_missing_is_added_only_where_it_is_needed(
    body: bytes, ping: bytes
) -> None:
    assert ping_of(body) == ping


@given(body=st.dictionaries(st.text(max_size=8) | st.sampled_from(sorted(CHANGED)), values))
def test_everything_else_means_what_it_meant(body: dict[str, Any]) -> None:
    found = json.loads(ping_of(json.dumps(body).encode()))

    assert {name: value for name, value in found.items() if name not in CHANGED} == {
        name: value for name, value in body.items() if name not in CHANGED
    }
    assert found["max_tokens"] == 1
    assert found.get("stream", False) is False


@pytest.mark.parametrize(
    ("status", "usage", "outcome"),
    [
        pytest.param(200, Usage(3, 30_000, 0, 0, 1), Outcome.READ, id="read"),
        pytest.param(200, Usage(3, 10, 10, 0, 1), Outcome.READ, id="as much written as read"),
        pytest.param(200, Usage(3, 10, 11, 0, 1), Outcome.WROTE, id="139-wrote"),
        pytest.param(200, Usage(30_000, 0, 0, 0, 1), Outcome.FAILED, id="nothing cached"),
        pytest.param(200, None, Outcome.FAILED, id="usage unknown"),
        pytest.param(400, None, Outcome.REFUSED, id="refused"),
        pytest.param(499, None, Outcome.REFUSED, id="last refusal"),
        pytest.param(500, None, Outcome.FAILED, id="fault"),
        pytest.param(302, None, Outcome.FAILED, id="redirect"),
    ],
)
def test_only_a_read_has_kept_anything_alive(
    status: int, usage: Usage | None, outcome: Outcome
) -> None:
    assert outcome_of(status, usage) is outcome
