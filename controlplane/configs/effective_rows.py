"""The effective document of a tenant as rows, each with where it comes from (04 §3.4)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from controlplane.accounts.models import Tenant
from controlplane.configs.checking import resolved
from controlplane.configs.documents import document_of, in_force
from controlplane.configs.models import EffectiveRevision
from controlplane.fleet import running
from dataplane.core.components import components
from dataplane.core.config.diff import key_at
from dataplane.core.config.imposed import Imposed
from dataplane.core.config.problems import DocumentRef
from dataplane.core.config.registry import Key, registry
from dataplane.core.config.resolve import Effective, Origin, Said, value_at
from dataplane.core.config.tree import steps_of
from dataplane.core.port.declaration import Declaration

DEFAULT_LAYER = "default"
ENVIRONMENT_LAYER = "environment"


@dataclass(frozen=True, slots=True)
class OriginChip:
    """layer: default, server_default, org_default, preset, tenant, or environment for what a
    setting of the node's process beats. text: "preset:lean@v2:line 3".

    line: in the text of that version; None for a default.
    """

    layer: str
    text: str
    line: int | None


@dataclass(frozen=True, slots=True)
class Overridden:
    value: Any
    origin: OriginChip


@dataclass(frozen=True, slots=True)
class EffectiveRow:
    """One key. path: JSON pointer; name: dotted, within its component. overridden: highest first.

    is_ignored: it was written, but its component is not in the pipeline.
    """

    path: str
    component: str
    name: str
    value: Any
    origin: OriginChip
    overridden: tuple[Overridden, ...] = ()
    unit: str = ""
    meaning: str = ""
    calls_model: bool = False
    is_ignored: bool = False

    @property
    def is_default(self) -> bool:
        return self.origin.layer == DEFAULT_LAYER


@dataclass(frozen=True, slots=True)
class EffectiveView:
    """rows: the pipeline first, then the document's own keys, then each component's in its order.

    following: "server default → preset house@v1" while the tenant has no text of its own, else "".
    """

    rows: tuple[EffectiveRow, ...]
    pipeline: tuple[str, ...]
    effective_hash: str
    revision: EffectiveRevision | None
    following: str


def effective_view(tenant: Tenant) -> EffectiveView:
    """What the tenant runs now; ConfigError when its layers no longer go together."""
    found = resolved(tenant)
    follows = in_force(document_of(tenant)) is None
    return EffectiveView(
        rows=effective_rows(found.effective, running.imposed()),
        pipeline=tuple(found.effective.pipeline),
        effective_hash=found.effective.effective_hash,
        revision=EffectiveRevision.objects.filter(tenant=tenant).first(),
        following=_following(found.inputs) if follows else "",
    )


def effective_rows(
    effective: Effective, imposed: Sequence[Imposed] = ()
) -> tuple[EffectiveRow, ...]:
    """imposed: what the environment of the node that runs it sets above every document."""
    known = components()
    root = registry(known)
    rows = [*_rows(effective, root, known), *_ignored(effective, root, known)]
    for one in imposed:
        rows = _beaten(rows, one, (root, known)) if one.path else rows
    places = {name: place for place, name in enumerate(effective.pipeline)}
    return tuple(sorted(rows, key=lambda row: (_group(row, places), row.is_ignored)))


def _group(row: EffectiveRow, places: dict[str, int]) -> int:
    """The sort is stable: inside a group keys keep the order of the registry."""
    if row.path == "/pipeline":
        return -2
    return places.get(row.component, len(places)) if row.component else -1


def _rows(
    effective: Effective, root: Key, known: Mapping[str, Declaration]
) -> Iterator[EffectiveRow]:
    for path, origin in effective.origins.items():
        said = effective.overridden.get(path, ())
        value = value_at(effective.document, path)
        yield _row(path, value, origin, (root, known), tuple(map(_overridden, said)))


def _beaten(
    rows: Sequence[EffectiveRow],
    imposed: Imposed,
    registered: tuple[Key, Mapping[str, Declaration]],
) -> list[EffectiveRow]:
    """The row of its key says what counts instead; a key that nobody wrote gets one."""
    said = next((row for row in rows if row.path == imposed.path), None)
    origin = Origin(DocumentRef(ENVIRONMENT_LAYER, imposed.variable))
    over = (Overridden(said.value, said.origin), *said.overridden) if said else ()
    wins = _row(imposed.path, imposed.value, origin, registered, over)
    return [wins if row is said else row for row in rows] + ([] if said else [wins])


def _ignored(
    effective: Effective, root: Key, known: Mapping[str, Declaration]
) -> Iterator[EffectiveRow]:
    for path, origin in effective.ignored.items():
        yield _row(path, None, origin, (root, known), is_ignored=True)


def _row(
    path: str,
    value: Any,
    origin: Origin,
    registered: tuple[Key, Mapping[str, Declaration]],
    overridden: tuple[Overridden, ...] = (),
    *,
    is_ignored: bool = False,
) -> EffectiveRow:
    root, known = registered
    steps = steps_of(path)
    key = key_at(root, steps)
    component = steps[1] if steps[0] == "components" else ""
    return EffectiveRow(
        path=path,
        component=component,
        name=".".join(steps[2:] if component else steps),
        value=value,
        origin=chip(origin),
        overridden=overridden,
        unit=(key.unit if key else None) or "",
        meaning=key.title if key else "",
        calls_model=component in known and known[component].calls_model,
        is_ignored=is_ignored,
    )


def _overridden(said: Said) -> Overridden:
    return Overridden(said.value, chip(said.origin))


def chip(origin: Origin) -> OriginChip:
    return OriginChip(origin.ref.layer, str(origin), origin.line)


def _following(inputs: list[dict[str, Any]]) -> str:
    """The highest document and the presets that it led to."""
    documents = [one for one in inputs if one["layer"] != "preset"]
    presets = [one for one in inputs if one["layer"] == "preset"][-1:]
    words = [documents[-1]["layer"].replace("_", " ").replace("org ", "organisation ")]
    return " → ".join([*words, *(f"preset {one['name']}@v{one['number']}" for one in presets)])
