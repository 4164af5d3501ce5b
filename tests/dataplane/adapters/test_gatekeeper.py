"""Whose address is charged with a failed sign-in (03 sections 1.2, 1.3)."""

from __future__ import annotations

from typing import Any

import pytest

from dataplane.adapters.gatekeeper import address_of, is_direct_loopback
from dataplane.adapters.http import Call


async def nothing(*_: Any) -> Any:
    raise AssertionError("an address is known without receiving or sending")


def call(peer: str, *headers: tuple[bytes, bytes]) -> Call:
    scope = {"type": "http", "client": (peer, 5000) if peer else None, "headers": [*headers]}
    return Call(scope, nothing, nothing, "R")


@pytest.mark.parametrize(
    ("peer", "forwarded", "address"),
    [
        pytest.param("10.0.0.1", "", "10.0.0.1", id="direct"),
        pytest.param("10.0.0.1", "1.1.1.1", "10.0.0.1", id="a-stranger-speaks-for-nobody"),
        pytest.param("127.0.0.1", "1.1.1.1, 2.2.2.2", "2.2.2.2", id="last-of-a-local-proxy"),
        pytest.param("127.0.0.1", "2001:db8:1:2:3::4", "2001:db8:1:2::/64", id="ipv6-by-network"),
        pytest.param("2001:db8:1:2::9", "", "2001:db8:1:2::/64", id="ipv6-direct"),
        pytest.param("::ffff:192.0.2.7", "", "192.0.2.7", id="ipv4-at-a-socket-for-both"),
        pytest.param("127.0.0.1", "unknown", "unknown", id="no-address"),
        pytest.param("127.0.0.1", "1.1.1.1\n2.2.2.2", "2.2.2.2", id="last-of-several-headers"),
        pytest.param("", "", "", id="no-peer"),
    ],
)
def test_failures_are_charged_to_the_nearest_address_that_can_be_believed(
    peer: str, forwarded: str, address: str
) -> None:
    lines = [(b"x-forwarded-for", line.encode()) for line in forwarded.splitlines()]

    assert address_of(call(peer, *lines)) == address


@pytest.mark.parametrize(
    "header", [b"x-forwarded-for", b"x-real-ip", b"x-forwarded-proto", b"x-forwarded-host"]
)
def test_behind_a_proxy_nobody_is_local(header: bytes) -> None:
    assert is_direct_loopback(call("127.0.0.1"))
    assert not is_direct_loopback(call("127.0.0.1", (header, b"x")))
    assert not is_direct_loopback(call("10.0.0.1"))
