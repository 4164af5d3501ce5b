"""Names of providers become addresses that were checked, and connections go to those alone.

A name that was public when its upstream was saved may lead into our own network a minute later;
so each look-up is judged, and the client connects to what was judged (04 §8.6).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.resolver import ThreadedResolver

from dataplane.core.door.addresses import rule_broken

log = logging.getLogger("headrace.upstream")
# Whether the upstreams say that this host may be in a private network.
Permission = Callable[[str], bool]


class AddressRefusedError(OSError):
    """The name leads where no provider of ours may be. rule: the name of the rule."""

    def __init__(self, rule: str) -> None:
        super().__init__(f"the name leads to a {rule} address")
        self.rule = rule


class CheckedResolver(AbstractResolver):
    """The system's resolver, of which an answer is taken whole or not at all."""

    def __init__(self, may_be_private: Permission, behind: AbstractResolver | None = None) -> None:
        self._may_be_private = may_be_private
        self._behind = behind or ThreadedResolver()

    async def resolve(self, host: str, port: int = 0, family: int = 0) -> list[ResolveResult]:
        """AddressRefusedError when any address of the name breaks a rule."""
        found = await self._behind.resolve(host, port, family)  # type: ignore[arg-type]
        self._check(host, [entry["host"] for entry in found])
        return found

    def _check(self, host: str, addresses: Sequence[str]) -> None:
        allowed = self._may_be_private(host)
        for address in addresses:
            if rule := rule_broken(address, allow_private=allowed):
                log.warning("cg.upstream_address_refused host=%s rule=%s", host, rule)
                raise AddressRefusedError(rule)

    async def close(self) -> None:
        await self._behind.close()
