"""The control plane's use of the one validator and the one resolver (04 §0.4)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from controlplane.accounts.models import Tenant
from controlplane.accounts.scopes import scope_of_user
from controlplane.audit.actions import Actor
from controlplane.configs.authors import person_of
from controlplane.configs.catalogue import presets_for
from controlplane.configs.documents import (
    in_force,
    layers_below,
    layers_of,
    name_of,
    owner_of,
)
from controlplane.configs.models import ConfigDocument, ConfigVersion
from controlplane.configs.surroundings import caches, surroundings
from dataplane.core.components import components
from dataplane.core.config.canonical import content_hash
from dataplane.core.config.check import Checked, check
from dataplane.core.config.deployment import NOWHERE, Policy
from dataplane.core.config.layers import Context, Layer
from dataplane.core.config.presets import Preset
from dataplane.core.config.problems import ConfigError, DocumentRef
from dataplane.core.config.resolve import Effective


@dataclass(frozen=True, slots=True)
class Accepted:
    """A document without errors. canonical: its JSON text; warnings: with the advice."""

    canonical: str
    content_hash: str
    warnings: list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Resolved:
    """inputs: {layer, name, number, content_hash} of what went in, the lowest first."""

    effective: Effective
    inputs: list[dict[str, Any]]


def accept(document: ConfigDocument, source: str, by: Actor | None = None) -> Accepted:
    """What the text means as the next version of the document; ConfigError(problems)."""
    checked = checked_as(document, source, by)
    if checked.canonical is None:
        raise ConfigError(checked.problems)
    return Accepted(
        checked.canonical.decode(),
        content_hash(checked.canonical),
        [msgspec.to_builtins(problem) for problem in checked.problems],
    )


def checked_as(
    document: ConfigDocument, source: str | bytes, by: Actor | None, *, number: int | None = None
) -> Checked:
    """The text as it would stand in the document, written by this author; None is the product."""
    return check(source, context=context_of(document, source, by, number=number))


def context_of(
    document: ConfigDocument, source: str | bytes, by: Actor | None, *, number: int | None = None
) -> Context:
    """Everything that decides over the text: layers below, presets, policy of the place."""
    text = source.decode(errors="replace") if isinstance(source, bytes) else source
    below = layers_below(document)
    organisation = owner_of(document)
    policy = organisation.policy if organisation else {}
    here = surroundings(document, organisation)
    return Context(
        components(),
        presets_for(organisation, [text, *(version.source for version in below)]),
        tuple(Layer(ref_of(version), version.source) for version in below),
        DocumentRef(document.kind, name_of(document), number),
        policy=Policy(
            policy.get("llm_components", "allow"),
            policy.get("irreversible_marker_modes", "ack"),
            by_manager=_manages(by),
        ),
        here=here,
        caching_upstream=caches(here),
        named_before=_named_before(document, below),
    )


def ref_of(version: ConfigVersion) -> DocumentRef:
    return DocumentRef(version.document.kind, name_of(version.document), version.number)


def resolved(tenant: Tenant) -> Resolved:
    """The tenant's layers merged, with what went in.

    ConfigError when they no longer go together; its problems name the layer.
    """
    layers = layers_of(tenant)
    if not layers:
        raise LookupError("a deployment has a server default before it has tenants")
    top = layers[-1]
    context = context_of(top.document, top.source, None, number=top.number)
    # What surrounds it was asked when it was saved: a secret that has gone since blocks no other
    # change of the layers.
    context = replace(context, here=NOWHERE)
    checked = check(top.source, context=context)
    if checked.effective is None:
        raise ConfigError(checked.problems)
    found = [_input(ref_of(version), version.content_hash) for version in layers]
    found += _presets_in(checked.effective, context.presets)
    return Resolved(checked.effective, found)


def _presets_in(effective: Effective, presets: Sequence[Preset]) -> list[dict[str, Any]]:
    texts = {(preset.name, preset.version): preset.text for preset in presets}
    sources = effective.document["sources"]
    refs = [msgspec.convert(one, DocumentRef) for one in sources if one["layer"] == "preset"]
    return [_input(ref, _digest(texts[ref.name, ref.version or 0])) for ref in reversed(refs)]


def _input(ref: DocumentRef, digest: str) -> dict[str, Any]:
    return {
        "layer": ref.layer,
        "name": ref.name,
        "number": ref.version,
        "content_hash": digest,
    }


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _named_before(document: ConfigDocument, below: Sequence[ConfigVersion]) -> str:
    """The preset that the document is on already, its own or a lower layer's."""
    own = in_force(document) or document.head
    for version in (own, *reversed(below)):
        written = json.loads(version.canonical) if version and version.canonical else {}
        if named := written.get("preset") or written.get("extends"):
            return str(named)
    return ""


def _manages(by: Actor | None) -> bool:
    """The product itself may do what a manager may: it carries on what was once allowed."""
    if by is None:
        return True
    person = person_of(by)
    return person is not None and scope_of_user(person).may("config:write", None)
