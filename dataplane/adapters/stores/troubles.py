"""What is said in the log of stores that fail: when it begins, and not once per request."""

from __future__ import annotations

import logging

_log = logging.getLogger("headrace.store")


class Troubles:
    """The tenants whose store is failing at present, and those with values that do not open."""

    def __init__(self) -> None:
        self._failing: set[str] = set()
        self._undecryptable: set[str] = set()
        self._refused = ""

    def unavailable(self, tenant: str, error: BaseException) -> None:
        if tenant not in self._failing:
            self._failing.add(tenant)
            _log.warning("cg.store_unavailable tenant=%s: %r", tenant, error)

    def refused(self, error: BaseException) -> None:
        """The place itself must not be used; said once, until another reason is found."""
        if self._refused != str(error):
            self._refused = str(error)
            _log.error("cg.store_refused: %s", error)

    def over(self, tenant: str) -> None:
        """It has just answered."""
        self._refused = ""
        self._failing.discard(tenant)

    def undecryptable(self, tenant: str, what: str) -> None:
        if tenant not in self._undecryptable:
            self._undecryptable.add(tenant)
            _log.error("cg.decrypt_error tenant=%s: %s", tenant, what)

    @staticmethod
    def was_reset(tenant: str, why: str) -> None:
        _log.error("cg.store_reset tenant=%s: %s", tenant, why)
