"""Which network address may be a provider's: the rules for saving a name and for connecting to it;
and what one caller's addresses have in common.

Source: 04-controlplane-and-dashboard.md 8.1, 8.6, 03-proxy-and-recovery.md 1.5, 1.6.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network

Address = IPv4Address | IPv6Address

METADATA = frozenset(
    ip_address(text)
    for text in ("169.254.169.254", "169.254.170.2", "100.100.100.200", "fd00:ec2::254")
)
# In the order in which an address is tried; the first that contains it names the rule.
NEVER = (
    ("unspecified", ("0.0.0.0/8", "::/128")),
    ("link-local", ("169.254.0.0/16", "fe80::/10")),
    ("multicast", ("224.0.0.0/4", "ff00::/8")),
    ("reserved", ("240.0.0.0/4", "192.0.0.0/24", "fec0::/10")),
)
PRIVATE = (
    ("loopback", ("127.0.0.0/8", "::1/128")),
    ("private", ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "198.18.0.0/15", "fc00::/7")),
    ("carrier-grade NAT", ("100.64.0.0/10",)),
)
EMBEDDING = (ip_network("64:ff9b::/96"), ip_network("::/96"))  # an IPv4 address in the last 32 bits


def rule_broken(text: str, *, allow_private: bool) -> str:
    """The name of the rule that the address breaks, "" for none.

    text: as a resolver writes it, with its zone or without. allow_private: this machine and
    private networks; never link-local, multicast or the metadata of a cloud.
    """
    address = ip_address(text.partition("%")[0])
    broken = (_broken(form, allow_private=allow_private) for form in _spellings(address))
    return next(filter(None, broken), "")


def peer_of(client: Sequence[str | int] | None) -> str:
    """Whom a connection comes from, "" where that is not known. client: address and port, of ASGI.

    No connection comes from port 0: that is an address which the server took from a header, as
    uvicorn does for peers on its own machine unless it is told otherwise. Nobody vouches for it.
    """
    return str(client[0]) if client and client[1] else ""


def is_within(ip: str, networks: Sequence[str]) -> bool:
    """Whether the address is in one of the networks; what is no address is in none."""
    try:
        address = ip_address(ip)
    except ValueError:
        return False
    return any(address in ip_network(network) for network in networks)


def address_behind(peer: str, forwarded: str, proxies: Sequence[str]) -> str:
    """Of the peer; where that is one of the proxies, of who is in front of it.

    forwarded: X-Forwarded-For, of which only the last element was written by the proxy itself.
    proxies: networks that the deployment names.
    """
    last = forwarded.rpartition(",")[2].strip()
    return last if is_within(peer, proxies) and _is_address(last) else peer


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


def site_of(text: str) -> str:
    """What failures of a caller are counted for: an IPv4 address, or the /64 that one subscriber of
    IPv6 chooses addresses from; a text that is no address as it is.
    """
    try:
        address = ip_address(text.partition("%")[0])
    except ValueError:
        return text
    if isinstance(address, IPv4Address):
        return str(address)
    return str(address.ipv4_mapped or IPv6Network((address, 64), strict=False))


def _spellings(address: Address) -> Iterable[Address]:
    """The address, and the IPv4 addresses that an IPv6 one is another spelling of."""
    yield address
    if isinstance(address, IPv4Address):
        return
    if address.ipv4_mapped:
        yield address.ipv4_mapped
    if address.sixtofour:
        yield address.sixtofour
    if any(address in network for network in EMBEDDING) and int(address) > 1:
        yield IPv4Address(int(address) & 0xFFFFFFFF)


def _broken(address: Address, *, allow_private: bool) -> str:
    if address in METADATA:
        return "cloud metadata"
    for rule, networks in NEVER if allow_private else (*NEVER, *PRIVATE):
        if any(address in ip_network(network) for network in networks):
            return rule
    return ""
