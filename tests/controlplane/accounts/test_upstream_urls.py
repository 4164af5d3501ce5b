"""The rules of 04 §8.6 for an upstream's address, row by row."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from django.core.exceptions import ValidationError

from controlplane.accounts.upstream_urls import CODE, Resolve, Rules, checked

PUBLIC = Rules()
PRIVATE = Rules(allow_private=True)
INSECURE = Rules(allow_insecure=True)
BOTH = Rules(allow_insecure=True, allow_private=True)
LISTED = Rules(ports=frozenset({8443}))


def resolving(*addresses: str) -> Resolve:
    def resolve(_host: str) -> Sequence[str]:
        return addresses

    return resolve


def rule_of(url: str, rules: Rules, *addresses: str) -> str:
    """The name of the rule that refuses the address."""
    with pytest.raises(ValidationError) as refused:
        checked(url, rules, resolve=resolving(*addresses))
    assert refused.value.code == CODE
    for address in addresses:
        assert address not in str(refused.value)
    assert refused.value.params is not None
    return str(refused.value.params["rule"])


@pytest.mark.parametrize(
    ("given", "rules", "kept"),
    [
        ("https://api.anthropic.com", PUBLIC, "https://api.anthropic.com"),
        (" https://API.Anthropic.com:443/ ", PUBLIC, "https://api.anthropic.com"),
        ("https://api.example.", PUBLIC, "https://api.example"),
        ("https://api.example:8443", LISTED, "https://api.example:8443"),
        ("http://api.example", INSECURE, "http://api.example"),
        ("https://gateway.internal:9443", PRIVATE, "https://gateway.internal:9443"),
        ("http://simulator:9100", BOTH, "http://simulator:9100"),
        ("http://localhost:9100", PRIVATE, "http://localhost:9100"),
        ("http://127.0.0.1:9100", PRIVATE, "http://127.0.0.1:9100"),
        ("http://[::1]:9100", PRIVATE, "http://[::1]:9100"),
        ("https://10.1.2.3", PRIVATE, "https://10.1.2.3"),
    ],
)
def test_an_upstream_is_kept_as_scheme_host_and_port(given: str, rules: Rules, kept: str) -> None:
    assert checked(given, rules, resolve=resolving()) == kept


@pytest.mark.parametrize(
    ("given", "rules", "rule"),
    [
        ("", PUBLIC, "form"),
        ("api.anthropic.com", PUBLIC, "form"),
        ("ftp://api.example", PUBLIC, "form"),
        ("https://", PUBLIC, "form"),
        ("https://host:notaport", PUBLIC, "form"),
        ("https://host:99999", PUBLIC, "form"),
        ("http://[::1", PUBLIC, "form"),
        ("https://a b", PUBLIC, "form"),
        ("https://a\\@b", PUBLIC, "form"),
        ("https://%31.example", PUBLIC, "form"),
        ("https://-a.example", PUBLIC, "form"),
        ("https://user:secret@api.example", PUBLIC, "userinfo"),
        ("https://@api.example", PUBLIC, "userinfo"),
        ("https://api.example/v1", PUBLIC, "path"),
        ("https://api.example?x=1", PUBLIC, "path"),
        ("https://api.example?", PUBLIC, "path"),
        ("https://api.example/#x", PUBLIC, "path"),
        ("http://api.example", PUBLIC, "scheme"),
        ("http://10.0.0.1", PRIVATE, "scheme"),
        ("https://api.example:8443", PUBLIC, "port"),
        ("https://api.example:80", PUBLIC, "port"),
        ("https://8.8.8.8", PUBLIC, "number"),
        ("https://[2001:4860:4860::8888]", PUBLIC, "number"),
        ("http://127.0.0.1:9100", PUBLIC, "number"),
        ("https://2130706433", PUBLIC, "form"),
        ("https://127.1", PUBLIC, "form"),
        ("https://0x7f.1", PUBLIC, "form"),
        ("https://0x7f000001", PRIVATE, "form"),
        ("https://localhost", PUBLIC, "loopback"),
        ("https://a.localhost", PUBLIC, "loopback"),
    ],
)
def test_an_address_that_breaks_a_rule_is_refused_by_its_name(
    given: str, rules: Rules, rule: str
) -> None:
    assert rule_of(given, rules) == rule


@pytest.mark.parametrize(
    ("address", "rule"),
    [
        ("127.0.0.1", "loopback"),
        ("127.255.255.254", "loopback"),
        ("::1", "loopback"),
        ("10.0.0.1", "private"),
        ("172.16.0.1", "private"),
        ("172.31.255.255", "private"),
        ("192.168.1.1", "private"),
        ("198.18.0.1", "private"),
        ("fd12::1", "private"),
        ("fc00::1", "private"),
        ("100.64.0.1", "carrier-grade NAT"),
        ("100.127.255.255", "carrier-grade NAT"),
    ],
)
def test_a_name_that_leads_into_a_private_network_takes_a_manager_who_allows_it(
    address: str, rule: str
) -> None:
    assert rule_of("https://rebound.example", PUBLIC, "8.8.8.8", address) == rule
    assert checked("https://rebound.example", PRIVATE, resolve=resolving(address))


@pytest.mark.parametrize(
    ("address", "rule"),
    [
        ("169.254.169.254", "cloud metadata"),
        ("169.254.170.2", "cloud metadata"),
        ("100.100.100.200", "cloud metadata"),
        ("fd00:ec2::254", "cloud metadata"),
        ("::ffff:169.254.169.254", "cloud metadata"),
        ("169.254.0.1", "link-local"),
        ("fe80::1", "link-local"),
        ("fe80::1%eth0", "link-local"),
        ("224.0.0.1", "multicast"),
        ("ff02::1", "multicast"),
        ("0.0.0.0", "unspecified"),  # noqa: S104  refused, not bound
        ("0.1.2.3", "unspecified"),
        ("::", "unspecified"),
        ("255.255.255.255", "reserved"),
        ("240.0.0.1", "reserved"),
    ],
)
@pytest.mark.parametrize("rules", [PUBLIC, BOTH], ids=["public", "everything allowed"])
def test_some_addresses_are_nobodys_provider(address: str, rule: str, rules: Rules) -> None:
    assert rule_of("https://rebound.example", rules, address) == rule


@pytest.mark.parametrize(
    ("spelling", "rule"),
    [
        ("::ffff:127.0.0.1", "loopback"),
        ("::ffff:10.0.0.1", "private"),
        ("::10.0.0.1", "private"),
        ("64:ff9b::7f00:1", "loopback"),
        ("64:ff9b::a9fe:a9fe", "cloud metadata"),
        ("2002:7f00:1::", "loopback"),
        ("2002:c0a8:101::", "private"),
    ],
)
def test_an_ipv4_address_is_known_in_each_of_its_ipv6_spellings(spelling: str, rule: str) -> None:
    assert rule_of("https://rebound.example", PUBLIC, spelling) == rule


@pytest.mark.parametrize(
    "address",
    ["8.8.8.8", "172.15.255.255", "172.32.0.0", "100.63.255.255", "100.128.0.0", "2606:4700::1111",
     "::ffff:8.8.8.8"],
)  # fmt: skip
def test_a_public_address_passes(address: str) -> None:
    assert checked("https://api.example", PUBLIC, resolve=resolving(address))


def test_a_number_in_the_metadata_network_stays_refused_whatever_is_allowed() -> None:
    assert rule_of("http://169.254.169.254", BOTH) == "cloud metadata"
    assert rule_of("http://[::ffff:169.254.169.254]", BOTH) == "cloud metadata"
