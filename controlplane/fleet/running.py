"""The node that runs in this process, if one does: where the pages get live figures from."""

from __future__ import annotations

from typing import Any, Protocol

from dataplane.core.config.imposed import Imposed
from dataplane.core.effects import Recalled


class Uid(Protocol):
    @property
    def uid(self) -> str: ...


class Settings(Protocol):
    @property
    def imposed(self) -> tuple[Imposed, ...]: ...


class RunningNode(Protocol):
    """As much of dataplane.asgi.Node as a page needs."""

    @property
    def settings(self) -> Settings: ...

    def stats(self, tenant: str | None) -> dict[str, Any]: ...

    def original(self, tenant: str, session: str, marker_id: str) -> Recalled: ...


_running: list[RunningNode] = []


def register(node: RunningNode) -> None:
    """Called by controlplane.asgi once the node has started."""
    _running[:] = [node]


def unregister() -> None:
    _running.clear()


def stats(tenant_uid: str | None) -> dict[str, Any] | None:
    """The figures of 03 §6.1 for one tenant, or of the whole node; None without a node, and
    from one that is too busy to say.
    """
    try:
        return _running[0].stats(tenant_uid) if _running else None
    except TimeoutError:
        return None


def original(tenant_uid: str, session: str, marker_id: str) -> Recalled | None:
    """The original of a marker that the session owns; None without a node in this process."""
    return _running[0].original(tenant_uid, session, marker_id) if _running else None


def imposed() -> tuple[Imposed, ...]:
    """What the node's environment sets above every document; nothing without a node here."""
    return _running[0].settings.imposed if _running else ()


def is_here() -> bool:
    """Whether a node runs in this process, which answers a publication within moments."""
    return bool(_running)
