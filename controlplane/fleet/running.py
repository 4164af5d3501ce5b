"""The node that runs in this process, if one does: where the pages get live figures from."""

from __future__ import annotations

from typing import Any, Protocol


class RunningNode(Protocol):
    """As much of dataplane.asgi.Node as a page needs."""

    def stats(self, tenant: str | None) -> dict[str, Any]: ...


_running: list[RunningNode] = []


def register(node: RunningNode) -> None:
    """Called by controlplane.asgi once the node has started."""
    _running[:] = [node]


def unregister() -> None:
    _running.clear()


def stats(tenant_uid: str | None) -> dict[str, Any] | None:
    """The figures of 03 section 6.1 for one tenant, or of the whole node; None without a node."""
    return _running[0].stats(tenant_uid) if _running else None
