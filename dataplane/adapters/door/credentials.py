"""How a request signs in at its provider, with the keys as they are now (03 §1.4)."""

from __future__ import annotations

from collections.abc import Callable

from dataplane.adapters.http import RefusedError
from dataplane.core.door.credential import CredentialError, CredentialPlan, plan_for
from dataplane.core.door.identity import Headers, foreign_slots
from dataplane.core.resource import Upstream
from dataplane.settings import Settings

Secrets = Callable[[str], str | None]


class Credentials:
    """secret: gives the key behind a key_ref, None for none; it is asked at every request."""

    def __init__(self, settings: Settings, secret: Secrets) -> None:
        self._settings = settings
        self.secret = secret

    def plan(self, upstream: Upstream, headers: Headers) -> CredentialPlan:
        """For a request with these headers. Raises RefusedError."""
        if self._settings.is_single_tenant:
            return CredentialPlan(foreign_slots(headers))  # the provider itself may ask
        held = None
        if upstream.key_ref is not None:
            held = self.secret(upstream.key_ref)
        elif upstream.key_env is not None:
            held = self._settings.secret(upstream.key_env)
        try:
            return plan_for(upstream, headers, held)
        except CredentialError as error:
            raise RefusedError(str(error)) from None
