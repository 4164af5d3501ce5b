"""Who may come in: credentials, throttle of failures, and room in this process.

Identity always fails closed. Source: 03-proxy-and-recovery.md 1.3, 1.6.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from urllib.parse import urlsplit

from dataplane.adapters.http import Call, RefusedError
from dataplane.adapters.serving.snapshots import Principal, Snapshots, Tenant
from dataplane.core.door import identity
from dataplane.core.door.addresses import address_behind, site_of
from dataplane.core.resource import AGENT_KEY_KIND, OPERATOR_KIND, TOKEN_KIND
from dataplane.core.serving import single
from dataplane.settings import is_loopback

_MINUTE = 60
# What proxies add: Forwarded, X-Forwarded-*, Via, X-Real-IP, CF-Connecting-IP and their like.
_RELAYED = re.compile(rb"via|.*forwarded.*|.*-ip")

ANYONE = Principal(single.TENANT, "", TOKEN_KIND)


class Gatekeeper:
    """Authenticates from headers alone, before the body is asked for."""

    def __init__(
        self,
        snapshots: Snapshots,
        *,
        failures_per_minute: int,
        clock: Callable[[], float],
        proxies: Sequence[str] = (),
        hosts: Sequence[str] = (),
        asks_nobody: bool = False,
    ) -> None:
        """proxies: networks whose X-Forwarded-For counts. asks_nobody: everyone is the node's only
        tenant (single-tenant mode). hosts: for `refuse_other_sites`.
        """
        self._asks_nobody = asks_nobody
        self._proxies, self._hosts = proxies, hosts
        self._snapshots = snapshots
        self._allowed = failures_per_minute
        self._clock = clock
        self._minute = 0
        self._failures: Counter[str] = Counter()

    def admit(self, call: Call, *, slug: str = "") -> tuple[Principal, Tenant]:
        """Whose request this is. Raises RefusedError."""
        if not self._snapshots.is_ready or self._snapshots.auth_is_stale:
            raise RefusedError("not_ready")
        if self._asks_nobody:
            refuse_other_sites(call, self._hosts)
        principal = ANYONE if self._asks_nobody else self._authenticated(call)
        tenant = self._snapshots.tenants.get(principal.tenant)
        if tenant is None:
            raise RefusedError("not_ready")
        if slug and slug != tenant.body.slug:
            raise RefusedError("tenant_mismatch", tenant=tenant.body.tenant)
        if tenant.body.status != "active":
            raise RefusedError(
                "account_disabled", tenant=tenant.body.tenant, detail=tenant.body.status_reason
            )
        return principal, tenant

    def digest(self, call: Call) -> str:
        """What the auth index knows the credential by that a request was admitted with."""
        token = identity.tenant_token(call.headers)
        tokens = identity.credentials_in(call.headers) if token is None else iter((token,))
        digests = (identity.digest_of(each) for each in tokens)
        return next((each for each in digests if self._snapshots.principal(each)), "")

    def is_operator(self, call: Call) -> bool:
        """An operator's own key came with the request; it opens views and no provider route."""
        token = identity.tenant_token(call.headers)
        found = None if token is None else self._snapshots.principal(identity.digest_of(token))
        return found is not None and found.kind == OPERATOR_KIND

    def require_operator(self, call: Call) -> None:
        """Raises RefusedError for everybody else, and counts them as failed sign-ons."""
        if self.is_operator(call):
            return
        address = self._address(call)
        if self._is_throttled(address):
            raise RefusedError("auth_throttled")
        self._charge(address)
        raise RefusedError("view_forbidden")

    def _authenticated(self, call: Call) -> Principal:
        token = identity.tenant_token(call.headers)
        found = None if token is None else self._snapshots.principal(identity.digest_of(token))
        if found is not None and found.kind == TOKEN_KIND:
            return found
        if token is None and (bound := self._bound(call)) is not None:
            return bound
        address = self._address(call)
        if self._is_throttled(address):
            raise RefusedError("auth_throttled")
        self._charge(address)
        if token is not None:
            raise RefusedError("bad_token")
        has_key = any(True for _ in identity.credentials_in(call.headers))
        raise RefusedError("unbound_key" if has_key else "no_token")

    def _bound(self, call: Call) -> Principal | None:
        """Whom a provider key in this request is bound to."""
        for credential in identity.credentials_in(call.headers):
            found = self._snapshots.principal(identity.digest_of(credential))
            if found is not None and found.kind == AGENT_KEY_KIND:
                return found
        return None

    def _address(self, call: Call) -> str:
        """Whom a failure is charged to."""
        lines = [value for name, value in call.headers if name == b"x-forwarded-for"]
        forwarded = b",".join(lines).decode("latin-1")
        return site_of(address_behind(call.peer, forwarded, self._proxies))

    def _is_throttled(self, address: str) -> bool:
        return self._failures_now()[address] >= self._allowed

    def _charge(self, address: str) -> None:
        self._failures_now()[address] += 1

    def _failures_now(self) -> Counter[str]:
        """Failures of this minute by address. They go as a whole, so that none has to look
        through the others.
        """
        minute = int(self._clock() // _MINUTE)
        if minute != self._minute:
            self._minute, self._failures = minute, Counter()
        return self._failures


def is_direct_loopback(call: Call) -> bool:
    """True for a peer on this machine that no proxy speaks for."""
    relayed = any(_RELAYED.fullmatch(name) for name, _ in call.headers)
    return is_loopback(call.peer) and not relayed


def refuse_other_sites(call: Call, hosts: Sequence[str]) -> None:
    """Where being on this machine is the credential, a browser on it lends it to no other site.

    A page may have its own name resolve to this machine, which Host then tells, or send what it
    cannot read the answer of, which Origin and Sec-Fetch-Site tell. hosts: names that are ours
    beside those of the loopback. Raises RefusedError.
    """
    if not is_direct_loopback(call):
        return
    host, origin = call.header(b"host"), call.header(b"origin")
    if host and not _is_ours(f"//{host}", hosts):
        raise RefusedError("host_forbidden")
    is_foreign = bool(origin) and not _is_ours(origin, hosts)
    if is_foreign or call.header(b"sec-fetch-site") == "cross-site":
        raise RefusedError("cross_site")


def _is_ours(url: str, hosts: Sequence[str]) -> bool:
    try:
        name = urlsplit(url).hostname or ""
    except ValueError:
        return False
    return name == "localhost" or name.endswith(".localhost") or name in hosts or is_loopback(name)
