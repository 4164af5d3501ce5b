"""Who writes the body of a resource: the feature that owns what is in it.

The fleet knows how to publish, not what a tenant or a key is; features register here when
Django starts (apps.ready), so that imports point one way: accounts and configs to fleet.
"""

from __future__ import annotations

from collections.abc import Callable

Compose = Callable[[str], bytes]
_composers: dict[str, Compose] = {}


def register(resource_type: str, compose: Compose) -> None:
    """compose(name) gives the exact bytes to publish for that resource of the type."""
    _composers[resource_type] = compose


def body_of(resource_type: str, name: str) -> bytes:
    return _composers[resource_type](name)
