"""The tests by hand use a node and a provider of their own, as the gateway's cases do."""

from __future__ import annotations

from tests.dataplane.gateway_cases.conftest import serve, served

__all__ = ["serve", "served"]
