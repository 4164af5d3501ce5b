"""What a caller's failures are counted for (03 §1.6, 04 §8.1)."""

from __future__ import annotations

import pytest

from dataplane.core.door.addresses import site_of


@pytest.mark.parametrize(
    ("address", "site"),
    [
        pytest.param("192.0.2.7", "192.0.2.7", id="IPv4"),
        pytest.param("::ffff:192.0.2.7", "192.0.2.7", id="IPv4 in the spelling of IPv6"),
        pytest.param("2001:db8:1:2:3::4", "2001:db8:1:2::/64", id="IPv6"),
        pytest.param("fe80::1%eth0", "fe80::/64", id="IPv6 with its zone"),
        pytest.param("", "", id="a socket of this machine"),
        pytest.param("somewhere", "somewhere", id="no address"),
    ],
)
def test_one_caller_is_one_site_whichever_of_its_addresses_it_uses(address: str, site: str) -> None:
    assert site_of(address) == site
