"""Which address may be an upstream: the rules where a manager enters it (04 §8.6, 03 §1.5).

The same rules hold when a node connects, because what a name resolves to may change.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from urllib.parse import SplitResult, urlsplit

from django.core.exceptions import ValidationError

from dataplane.core.door.addresses import Address, rule_broken

# The addresses that a host name stands for, () when it stands for none at the moment.
Resolve = Callable[[str], Sequence[str]]

HTTPS_PORT = 443
SCHEME_PORTS = {"http": 80, "https": HTTPS_PORT}
CODE = "upstream.url_refused"
HOST = re.compile(r"(?!-)[a-z0-9-]{1,63}(?<!-)(?:\.(?!-)[a-z0-9-]{1,63}(?<!-))*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What a manager allows. ports: besides the scheme's own.

    allow_insecure: plain http. allow_private: this machine and private networks, by name or by
    number and at any port; never link-local, multicast or the metadata of a cloud.
    """

    allow_insecure: bool = False
    allow_private: bool = False
    ports: frozenset[int] = frozenset()


def addresses_of(host: str) -> Sequence[str]:
    """By the system's resolver."""
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return ()
    return [str(entry[4][0]) for entry in found]


def unresolved(_host: str) -> Sequence[str]:
    """For names that are known to be public, where asking for them would only take time."""
    return ()


def checked(base_url: str, rules: Rules, *, resolve: Resolve = addresses_of) -> str:
    """The address as scheme://host[:port]; ValidationError names the rule that it breaks.

    A name that does not resolve now passes: whoever connects checks what it resolves to then.
    """
    parts, port = _split(base_url.strip())
    host = (parts.hostname or "").rstrip(".")
    _check_shape(base_url, parts, host)
    literal = _literal(host)
    _check_host(host, literal, rules)
    for address in [host] if literal else resolve(host):
        _check_address(address, rules)
    _check_scheme(parts.scheme, host, rules)
    own_port = SCHEME_PORTS[parts.scheme]
    if not (port in (None, own_port) or rules.allow_private or port in rules.ports):
        raise _refused("port", "An upstream listens on port 443 or one that the deployment lists.")
    written = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{written}{f':{port}' if port not in (None, own_port) else ''}"


def _split(url: str) -> tuple[SplitResult, int | None]:
    try:
        parts = urlsplit(url)
        return parts, parts.port
    except ValueError as problem:
        raise _refused("form", "This is not an address.") from problem


def _check_shape(base_url: str, parts: SplitResult, host: str) -> None:
    if parts.scheme not in SCHEME_PORTS or not host or re.search(r"[\s\\%]", base_url.strip()):
        raise _refused("form", "An upstream is written https://host or https://host:port.")
    if "@" in parts.netloc:
        raise _refused("userinfo", "An upstream carries no user name or password.")
    if parts.path.strip("/") or "?" in base_url or "#" in base_url:
        raise _refused(
            "path", "An upstream ends after the host and port: no path, query, fragment."
        )


def _literal(host: str) -> Address | None:
    try:
        return ip_address(host)
    except ValueError:
        return None


def _check_host(host: str, literal: Address | None, rules: Rules) -> None:
    if literal is not None:
        if not rules.allow_private:
            raise _refused("number", "An upstream is named by its host name, not by a number.")
        return
    # "127.1" and "0x7f.1" are numbers to some resolvers and names to others.
    if not HOST.fullmatch(host) or re.fullmatch(r"(?:\d+|0x[0-9a-f]*)", host.rpartition(".")[2]):
        raise _refused("form", "This is not a host name.")
    if is_loopback(host) and not rules.allow_private:
        raise _refused("loopback", _sentence("loopback"))


def _check_address(address: str, rules: Rules) -> None:
    rule = rule_broken(address, allow_private=rules.allow_private)
    if rule:
        raise _refused(rule, _sentence(rule))


def _check_scheme(scheme: str, host: str, rules: Rules) -> None:
    """Nobody listens in between on the way to this machine itself."""
    if scheme == "http" and not (rules.allow_insecure or is_loopback(host)):
        raise _refused(
            "scheme", "Plain http is accepted for this machine only (127.0.0.1, localhost)."
        )


def is_loopback(host: str) -> bool:
    literal = _literal(host)
    return literal.is_loopback if literal else host == "localhost" or host.endswith(".localhost")


def _sentence(rule: str) -> str:
    return f"An upstream may not be at a {rule} address."


def _refused(rule: str, sentence: str) -> ValidationError:
    """rule: its name, for programs; never what a name resolved to."""
    return ValidationError(sentence, code=CODE, params={"rule": rule})
