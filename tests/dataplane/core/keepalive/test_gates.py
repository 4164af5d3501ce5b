"""Which request leaves a thread that may be kept alive (03 §7.3, 10.10 (140))."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

import msgspec
import pytest

from dataplane.core.config.document import Cache
from dataplane.core.effects import OpenTurn, PastTurn, Scope
from dataplane.core.keepalive import gates
from dataplane.core.keepalive.gates import Ended, closed_gate
from dataplane.core.keepalive.ping import ping_body
from dataplane.core.port.signals import Gate
from dataplane.core.prices.money import rates_of
from dataplane.core.resource import ModelPrice
from dataplane.core.wire.message import Dialect
from dataplane.core.wire.spans import Member, UnparseableError, outline
from dataplane.core.wire.usage import Usage

CACHE = Cache(keepalive=True)
TURN = OpenTurn(Scope("ten", "p", "s"), 3, 1000.0, 300, offered=False)
RATES = rates_of(ModelPrice(input="3", cache_read="0.30", cache_write_5m="3.75", output="15"))
FLAT = rates_of(ModelPrice(input="3", cache_read="3", cache_write_5m="3", output="3"))
GOOD = Ended(
    Dialect.ANTHROPIC,
    succeeded=True,
    turn=TURN,
    previous=PastTurn(1, 900.0, 300, offered=False),
    usage=Usage(0, 29_000, 1_000, 0, 50),
    rates=RATES,
    sent=b'{"max_tokens":9,"messages":[]}',
)


def thinking(value: str) -> bytes:
    return b'{"thinking":' + value.encode() + b"}"


@pytest.mark.parametrize(
    "body",
    [
        GOOD.sent,
        thinking('{"type":"adaptive"}'),
        thinking('{"type":"disabled"}'),
        thinking('{"budget_tokens":5}'),
        thinking("null"),
        thinking('{"type":{"type":"enabled"}}'),
        thinking('{"type":1e999}'),
    ],
)
def test_a_long_warm_prefix_may_be_kept_alive(body: bytes) -> None:
    assert closed_gate(replace(GOOD, sent=body), CACHE) is None


@pytest.mark.parametrize(
    ("change", "gate"),
    [
        pytest.param({"dialect": Dialect.OPENAI_CHAT}, gates.DIALECT, id="dialect"),
        pytest.param({"succeeded": False}, gates.NOT_SUCCESS, id="error"),
        pytest.param({"turn": None}, gates.NOT_SUCCESS, id="no messages"),
        pytest.param({"previous": None}, gates.FIRST_REQUEST, id="140-first request"),
        pytest.param({"usage": None}, gates.USAGE_UNKNOWN, id="usage unknown"),
        pytest.param({"usage": Usage(50_000)}, gates.NO_CACHE_ACTIVITY, id="no cache"),
        pytest.param(
            {"usage": Usage(0, 19_000, 999)}, gates.PREFIX_BELOW_MIN, id="140-prefix 19,999"
        ),
        pytest.param({"rates": None}, gates.PRICE_UNKNOWN, id="price unknown"),
        pytest.param({"usage": Usage(0, 833_300)}, gates.TOO_EXPENSIVE, id="above 0.25 USD"),
        pytest.param({"rates": FLAT}, gates.CANNOT_PAY, id="a read costs as much as a write"),
        pytest.param({"turn": TURN._replace(ttl_s=3600)}, gates.LONG_LIFETIME, id="one hour"),
        pytest.param({"sent": bytes((8 << 20) + 1)}, gates.BODY_TOO_LARGE, id="above 8 MiB"),
        pytest.param(
            {"sent": thinking('{"type":"enabled","budget_tokens":2000}')},
            gates.THINKING_ENABLED,
            id="140-thinking",
        ),
        pytest.param(
            {"sent": thinking(r'{"type":"\u0065nabled"}')}, gates.THINKING_ENABLED, id="escaped"
        ),
    ],
)
def test_every_gate_turns_away_what_it_names(change: dict[str, Any], gate: Gate) -> None:
    assert closed_gate(replace(GOOD, **change), CACHE) is gate


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"usage": Usage(0, 20_000)}, id="140-prefix 20,000"),
        pytest.param({"usage": Usage(0, 833_283)}, id="at most 0.25 USD"),
    ],
)
def test_a_limit_itself_is_within_it(change: dict[str, Any]) -> None:
    assert closed_gate(replace(GOOD, **change), CACHE) is None


@pytest.mark.parametrize(
    "change",
    [{"keepalive_max_pings": 0}, {"keepalive_idle_seconds": 0}],
)
def test_a_document_that_allows_no_ping_keeps_nothing(change: dict[str, int]) -> None:
    cache = msgspec.structs.replace(CACHE, **change)

    assert closed_gate(GOOD, cache) is gates.NO_PINGS_ALLOWED


def test_the_price_of_a_ping_is_compared_exactly() -> None:
    exact = Decimal("0.009015")  # 30,000 read at 0.30 and one token at 15 USD per million
    cache = msgspec.structs.replace(CACHE, keepalive_max_usd_per_ping=exact)
    below = msgspec.structs.replace(cache, keepalive_max_usd_per_ping=exact - Decimal("1e-12"))

    assert closed_gate(GOOD, cache) is None
    assert closed_gate(GOOD, below) is gates.TOO_EXPENSIVE


def test_a_body_is_read_once_for_the_gates_and_the_ping(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[bytes] = []

    def counted(body: bytes) -> tuple[dict[str, Member], bytes]:
        read.append(body)
        return outline(body)

    monkeypatch.setattr(gates, "outline", counted)
    ended = replace(GOOD, sent=thinking('{"type":"adaptive"}'))

    assert closed_gate(ended, CACHE) is None
    assert b'"max_tokens":1' in ping_body(ended.sent, ended.members)
    assert read == [ended.sent]


def test_a_body_that_cannot_be_edited_safely_has_no_members() -> None:
    twice = replace(GOOD, sent=b'{"stream":true,"stream":false}')

    with pytest.raises(UnparseableError):
        _ = twice.members


def test_names_are_unique() -> None:
    assert len({gate.name for gate in gates.GATES}) == len(gates.GATES)
