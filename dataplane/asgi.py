"""The data plane alone: HEADRACE_SNAPSHOT=FILE uvicorn dataplane.asgi:application.

The control plane mounts a Node of its own beside its pages.
Source: 00-start-here.md 3; 07-house-style.md 4.
"""

from __future__ import annotations

from typing import Any

from dataplane.adapters import logs
from dataplane.adapters.node import Node
from dataplane.adapters.snapshot_file import FileSource
from dataplane.adapters.uplink_http import HttpSink
from dataplane.settings import from_environment

__all__ = ["Node", "application"]

application: Node


def _standalone() -> Node:
    settings = from_environment()
    logs.configure(settings.log_level)
    sink = HttpSink(settings.report_url, settings.report_token) if settings.report_url else None
    return Node(settings, FileSource(settings.snapshot), sink=sink)


def __getattr__(name: str) -> Any:
    """`application` is made at its first use, so that mounting a Node reads no environment."""
    if name != "application":
        raise AttributeError(name)
    globals()["application"] = made = _standalone()
    return made
