"""The control plane's use of the one validator and the one resolver (04 section 0.4)."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from ruamel.yaml import YAML

from controlplane.configs.models import ConfigVersion
from dataplane.core.config import resource


@dataclass(frozen=True, slots=True)
class Checked:
    canonical: bytes
    content_hash: str
    warnings: list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Effective:
    document: dict[str, Any]
    content_hash: str


def check(source: str, *, layer: str, name: str) -> Checked:
    canonical = msgspec.json.encode(YAML(typ="safe").load(source) or {}, order="sorted")
    return Checked(canonical, hashlib.sha256(canonical).hexdigest(), [])


def resolve(layers: Sequence[ConfigVersion]) -> Effective:
    document: dict[str, Any] = {}
    for version in layers:
        document.update(msgspec.json.decode(version.canonical))
    raw = msgspec.json.encode(document, order="sorted")
    return Effective(document, hashlib.sha256(raw).hexdigest())


def host_of(document: dict[str, Any]) -> resource.Host:
    return resource.Host()
