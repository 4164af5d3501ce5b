"""How a value is written into a document: plain where that is safe, in quotes where it is not.

Source: 04-controlplane-and-dashboard.md 2.10.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from dataplane.core.config.scalars import resolve

_PLAIN = re.compile(r"[A-Za-z_./][A-Za-z0-9_./@+-]*")


def scalar(value: Any, *, quote: str = "") -> str:
    """One value on one line. quote: of the text that it replaces, kept for a text."""
    if not isinstance(value, str):
        return json.dumps(value)
    if quote == "'" and "\n" not in value:
        return "'" + value.replace("'", "''") + "'"
    if quote != '"' and _PLAIN.fullmatch(value) and resolve(value) == value:
        return value
    return json.dumps(value, ensure_ascii=False)


def flow(value: Any, *, as_json: bool) -> str:
    """A value in brackets, on one line."""
    if isinstance(value, Mapping):
        pairs = (
            f"{_text(key, as_json)}: {flow(one, as_json=as_json)}" for key, one in value.items()
        )
        return "{" + ", ".join(pairs) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(flow(one, as_json=as_json) for one in value) + "]"
    return _text(value, as_json)


def block(key: str, value: Any, *, indent: int, step: int) -> list[str]:
    """A key and its value as indented lines; lists are written in brackets."""
    at = " " * indent + scalar(key) + ":"
    if not isinstance(value, Mapping) or not value:
        return [f"{at} {flow(value, as_json=False)}"]
    lines = [at]
    for name, below in value.items():
        lines += block(name, below, indent=indent + step, step=step)
    return lines


def _text(value: Any, as_json: bool) -> str:  # noqa: FBT001  one of two spellings
    return scalar(value, quote='"' if as_json else "")
