"""One spelling per meaning: the bytes that versions are compared and hashed by.

Source: 04-controlplane-and-dashboard.md 2.3.
"""

from __future__ import annotations

import hashlib
import json
import unicodedata
from typing import Any

from dataplane.core.config.registry import Key
from dataplane.core.config.tree import MappingNode, Node, ScalarNode, SequenceNode


def canonical(tree: Node, key: Key | None = None) -> bytes:
    """JSON in UTF-8: keys sorted by code point, no spaces, NFC, numbers typed by the registry.

    key: the registry's root; None keeps every number as it was written. Defaults are not filled
    in. ValueError for a number that is not finite: validation has refused it before.
    """
    return encode(_value(tree, key))


def encode(value: Any) -> bytes:
    """The canonical bytes of a plain JSON value."""
    text = json.dumps(
        value, ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":")
    )
    return text.encode()


def content_hash(body: bytes) -> str:
    """SHA-256 of canonical bytes in hex."""
    return hashlib.sha256(body).hexdigest()


def _value(node: Node, key: Key | None) -> Any:
    if isinstance(node, MappingNode):
        fields = key.fields if key else {}
        return {
            unicodedata.normalize("NFC", entry.key): _value(entry.value, fields.get(entry.key))
            for entry in node.entries
        }
    if isinstance(node, SequenceNode):
        return [_value(item, key.item if key else None) for item in node.items]
    return _scalar(node, key)


def _scalar(node: ScalarNode, key: Key | None) -> Any:
    value = node.value
    if isinstance(value, str):
        return unicodedata.normalize("NFC", value)
    if key is None or isinstance(value, bool):
        return value
    if value is None:
        return {} if key.kind == "block" else None
    if key.kind == "integer" and value == int(value):
        return int(value)
    return float(value) if key.kind in ("number", "decimal") else value
