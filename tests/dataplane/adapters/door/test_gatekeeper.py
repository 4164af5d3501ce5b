"""Whose address is charged with a failed sign-in (03 §1.2, 1.3)."""

from __future__ import annotations

from typing import Any

import pytest

from dataplane.adapters.door.gatekeeper import is_direct_loopback, refuse_other_sites
from dataplane.adapters.http import Call, RefusedError
from dataplane.core.door.addresses import address_behind, site_of


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
        pytest.param("10.1.0.1", "1.1.1.1, 2.2.2.2", "2.2.2.2", id="last-of-a-named-proxy"),
        pytest.param("10.1.0.1", "2001:db8:1:2:3::4", "2001:db8:1:2::/64", id="ipv6-by-network"),
        pytest.param("2001:db8:1:2::9", "", "2001:db8:1:2::/64", id="ipv6-direct"),
        pytest.param("::ffff:192.0.2.7", "", "192.0.2.7", id="ipv4-at-a-socket-for-both"),
        pytest.param("10.1.0.1", "unknown", "10.1.0.1", id="no-address"),
        pytest.param("10.1.0.1", "1.1.1.1\n2.2.2.2", "2.2.2.2", id="last-of-several-headers"),
        pytest.param("127.0.0.1", "1.1.1.1", "127.0.0.1", id="this-machine-is-no-proxy-by-itself"),
        pytest.param("", "", "", id="no-peer"),
    ],
)
def test_failures_are_charged_to_the_nearest_address_that_can_be_believed(
    peer: str, forwarded: str, address: str
) -> None:
    said = ",".join(forwarded.splitlines())

    assert site_of(address_behind(peer, said, ("10.1.0.0/16",))) == address


def test_an_address_that_the_server_took_from_a_header_is_nobodys() -> None:
    """uvicorn believes X-Forwarded-For of its own machine, or of FORWARDED_ALLOW_IPS, unasked."""
    scope = {"type": "http", "client": ("127.0.0.1", 0), "headers": []}

    assert Call(scope, nothing, nothing, "R").peer == ""
    assert not is_direct_loopback(Call(scope, nothing, nothing, "R"))


HERE = (b"host", b"127.0.0.1:4000")


@pytest.mark.parametrize(
    "headers",
    [
        [],
        [(b"host", b"localhost")],
        [(b"host", b"LOCALHOST:4000")],
        [(b"host", b"[::1]:4000")],
        [(b"host", b"127.9.9.9")],
        [(b"host", b"gateway.test:80")],
        [HERE, (b"origin", b"http://localhost:3000"), (b"sec-fetch-site", b"same-site")],
        [HERE, (b"sec-fetch-site", b"none")],
    ],
    ids=str,
)
def test_this_machines_own_programs_and_pages_may_use_what_is_open_to_it(
    headers: list[tuple[bytes, bytes]],
) -> None:
    refuse_other_sites(call("127.0.0.1", *headers), ("gateway.test",))


@pytest.mark.parametrize(
    ("name", "headers"),
    [
        ("host_forbidden", [(b"host", b"evil.example")]),
        ("host_forbidden", [(b"host", b"127.0.0.1.evil.example:4000")]),
        ("host_forbidden", [(b"host", b"localhost@evil.example")]),
        ("host_forbidden", [(b"host", b"0.0.0.0:4000")]),
        ("host_forbidden", [(b"host", b"[::1")]),
        ("cross_site", [HERE, (b"origin", b"https://evil.example")]),
        ("cross_site", [HERE, (b"origin", b"null")]),
        ("cross_site", [HERE, (b"origin", b"https://localhost.evil.example")]),
        ("cross_site", [HERE, (b"sec-fetch-site", b"cross-site")]),
    ],
    ids=str,
)
def test_a_page_of_another_site_may_not_use_what_is_open_to_this_machine(
    name: str, headers: list[tuple[bytes, bytes]]
) -> None:
    with pytest.raises(RefusedError, match=name):
        refuse_other_sites(call("127.0.0.1", *headers), ("gateway.test",))


@pytest.mark.parametrize(
    "header", [b"x-forwarded-for", b"x-real-ip", b"x-forwarded-proto", b"x-forwarded-host"]
)
def test_behind_a_proxy_nobody_is_local(header: bytes) -> None:
    assert is_direct_loopback(call("127.0.0.1"))
    assert not is_direct_loopback(call("127.0.0.1", (header, b"x")))
    assert not is_direct_loopback(call("10.0.0.1"))
