"""The node and the provider of each test are those of the first half of the cases."""

from __future__ import annotations

from tests.dataplane.gateway_cases.conftest import serve, served

__all__ = ["serve", "served"]
