"""The data plane alone: HEADRACE_SNAPSHOT=FILE uvicorn dataplane.asgi:application.

With HEADRACE_DOCUMENT=FILE instead it serves that document to everyone who reaches it.

The control plane mounts a Node of its own beside its pages.
Source: 00-start-here.md 3; 07-house-style.md 4.
"""

from __future__ import annotations

import time
from typing import Any

from dataplane.adapters.figures import logs
from dataplane.adapters.figures.uplink_http import HttpSink
from dataplane.adapters.node import Node
from dataplane.adapters.serving.snapshot_file import FileSource, FixedSource
from dataplane.core.config.problems import ConfigError
from dataplane.core.serving import single
from dataplane.settings import Settings, SettingsError, from_environment

__all__ = ["Node", "application"]

application: Node


def _standalone() -> Node:
    settings = from_environment()
    logs.configure(settings.log_level)
    sink = HttpSink(settings.report_url, settings.report_token) if settings.report_url else None
    source = _source(settings)
    node = Node(settings, source, sink=sink)
    if node.uplink is not None:
        source.on_answers = node.uplink.answer
    return node


def _source(settings: Settings) -> FixedSource:
    if settings.document is None:
        return FileSource(settings.snapshot)
    try:
        text = settings.document.read_text(encoding="utf-8")
        found = single.resources(text, settings.upstreams, version=int(time.time()))
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"HEADRACE_DOCUMENT cannot be read: {error}") from error
    except ConfigError as error:
        named = "\n".join(f"  {p.path}: {p.code}: {p.message}" for p in error.problems)
        raise SettingsError(
            f"HEADRACE_DOCUMENT={settings.document} is not valid:\n{named}"
        ) from error
    return FixedSource(found)


def __getattr__(name: str) -> Any:
    """`application` is made at its first use, so that mounting a Node reads no environment."""
    if name != "application":
        raise AttributeError(name)
    try:
        globals()["application"] = made = _standalone()
    except SettingsError as problem:
        raise SystemExit(f"headrace: {problem}") from problem  # uvicorn ends with it, untraced
    return made
