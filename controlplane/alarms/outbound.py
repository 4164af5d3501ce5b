"""One POST to an address that somebody configured, to where it was checked to lead (04 §8.6).

The name is resolved once, every address it has must pass the rules, and the connection goes to one
of those. No redirect is followed, no proxy is asked, and ten seconds are all it gets.
"""

from __future__ import annotations

import http.client
import socket
import ssl
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

from django.conf import settings
from django.core.exceptions import ValidationError

from controlplane.accounts.upstream_urls import SCHEME_PORTS, Rules, addresses_of, checked

TIMEOUT_S = 10.0
LONGEST_ANSWER = 1024
LONGEST_URL = 500


class OutboundError(OSError):
    """The address may not be used now, or nobody answers there; the message is for people."""


@dataclass(frozen=True, slots=True)
class Answer:
    """body: its beginning, as text."""

    status: int
    body: str


def checked_url(url: str, *, allow_private: bool) -> str:
    """The URL as it may be kept; ValidationError names the rule that it breaks."""
    parts = urlsplit(url.strip())
    if len(url) > LONGEST_URL or parts.fragment or not url.isprintable():
        raise ValidationError("A webhook is written https://host/path, in 500 characters.")
    origin = checked(_origin(parts), _rules(allow_private=allow_private))
    query = f"?{parts.query}" if parts.query else ""
    return f"{origin}{parts.path or '/'}{query}"


def post(url: str, body: bytes, headers: Mapping[str, str], *, allow_private: bool) -> Answer:
    """OutboundError when it did not get as far as an answer."""
    parts = urlsplit(url)
    connection = _connection(parts, _address(parts, allow_private=allow_private))
    # A peer that sends one byte at a time never lets a read time out.
    deadline = threading.Timer(TIMEOUT_S, _cut, [connection])
    deadline.start()
    try:
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        connection.request("POST", target, body=body, headers=dict(headers))
        response = connection.getresponse()
        return Answer(response.status, response.read(LONGEST_ANSWER).decode("utf-8", "replace"))
    except (OSError, http.client.HTTPException) as problem:
        raise OutboundError(f"{type(problem).__name__}: {problem}"[:300]) from problem
    finally:
        deadline.cancel()
        connection.close()


def _origin(parts: SplitResult) -> str:
    return f"{parts.scheme}://{parts.netloc}"


def _rules(*, allow_private: bool) -> Rules:
    return Rules(
        allow_insecure=allow_private,
        allow_private=allow_private,
        ports=settings.OUTBOUND_PORTS,
    )


def _address(parts: SplitResult, *, allow_private: bool) -> str:
    found = list(addresses_of(parts.hostname or ""))
    if not found:
        raise OutboundError("The name does not resolve.")
    try:
        checked(_origin(parts), _rules(allow_private=allow_private), resolve=lambda _: found)
    except ValidationError as refused:
        raise OutboundError("; ".join(refused.messages)) from refused
    return found[0]


def _connection(parts: SplitResult, address: str) -> http.client.HTTPConnection:
    port = parts.port or SCHEME_PORTS[parts.scheme]
    if parts.scheme == "http":
        return _Pinned(parts.hostname or "", port, address)
    return _PinnedTls(parts.hostname or "", port, address)


class _Pinned(http.client.HTTPConnection):
    """Connects to the checked address, and names the host that was asked for."""

    def __init__(self, host: str, port: int, address: str) -> None:
        super().__init__(host, port, timeout=TIMEOUT_S)
        self._address = address

    def connect(self) -> None:
        self.sock = socket.create_connection((self._address, self.port), TIMEOUT_S)


class _PinnedTls(_Pinned):
    def connect(self) -> None:
        super().connect()
        context = ssl.create_default_context()
        self.sock = context.wrap_socket(self.sock, server_hostname=self.host)


def _cut(connection: http.client.HTTPConnection) -> None:
    if connection.sock is not None:
        connection.sock.shutdown(socket.SHUT_RDWR)
