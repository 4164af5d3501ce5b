"""Presets ready to show: the packaged ones, then each organisation's (04 §3.1, 5.10)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from controlplane.accounts.models import Organisation
from controlplane.accounts.scopes import Scope
from controlplane.configs import visible
from controlplane.configs.catalogue import presets_for
from controlplane.configs.models import Preset as PresetRecord
from controlplane.configs.usage import Uses
from dataplane.core.components import components
from dataplane.core.config.check import check
from dataplane.core.config.layers import Context
from dataplane.core.config.presets import BUILT_IN, Preset, find
from dataplane.core.config.problems import DocumentRef
from dataplane.core.port.declaration import Kind


@dataclass(frozen=True, slots=True)
class PresetRow:
    """version: the promoted one; head: the newest saved. uid and organisation: "" when packaged.

    pipeline: resolved, empty for none; is_sound False: it has errors in this build. base_changed:
    what it was cloned from has a newer version. following, pinned: tenants and presets on it.
    """

    name: str
    version: int
    head: int
    pipeline: tuple[str, ...]
    calls_model: bool
    is_lossy: bool
    is_sound: bool
    title: str = ""
    description: str = ""
    labels: tuple[str, ...] = ()
    uid: str = ""
    document: str = ""
    organisation: str = ""
    cloned_from: str = ""
    base_changed: bool = False
    is_archived: bool = False
    following: int = 0
    pinned: int = 0

    @property
    def is_packaged(self) -> bool:
        return not self.uid


def preset_rows(scope: Scope, *, archived: bool = False) -> list[PresetRow]:
    """Those that the principal may name or read; archived ones only when asked for."""
    organisations = list(visible.organisations(scope))
    records = list(visible.presets(scope).order_by("organisation__slug", "name"))
    uses = Uses(organisations)
    rows = [_packaged(preset, uses) for preset in BUILT_IN] if organisations else []
    for organisation in organisations:
        own = [one for one in records if one.organisation_id == organisation.pk]
        rows += _rows_of(organisation, own, uses)
    return [row for row in rows if archived or not row.is_archived]


def _rows_of(
    organisation: Organisation, records: Sequence[PresetRecord], uses: Uses
) -> Iterator[PresetRow]:
    known = presets_for(organisation, []) if records else ()
    for record in records:
        promoted, head = record.document.promoted, record.document.head
        version = promoted or head
        if version is None or head is None:
            continue
        preset = Preset(record.name, version.number, version.source)
        usage = uses.of(record.name, organisation)
        yield PresetRow(
            **_nature(preset, known),
            name=record.name,
            version=version.number,
            head=head.number,
            title=record.title,
            description=record.description,
            labels=tuple(record.labels),
            uid=record.uid,
            document=record.document.uid,
            organisation=organisation.slug,
            cloned_from=record.cloned_from,
            base_changed=_base_changed(record.cloned_from, known),
            is_archived=record.archived_at is not None,
            following=usage.following,
            pinned=usage.pinned,
        )


def _packaged(preset: Preset, uses: Uses) -> PresetRow:
    usage = uses.of(preset.name, None)
    return PresetRow(
        **_nature(preset, BUILT_IN),
        name=preset.name,
        version=preset.version,
        head=preset.version,
        description=preset.note,
        following=usage.following,
        pinned=usage.pinned,
    )


def _nature(preset: Preset, known: Sequence[Preset]) -> dict[str, Any]:
    """What resolving it shows."""
    declared = components()
    ref = DocumentRef("preset", preset.name, preset.version)
    checked = check(preset.text, context=Context(declared, tuple(known), document=ref))
    pipeline = tuple(checked.effective.pipeline) if checked.effective else ()
    return {
        "pipeline": pipeline,
        "calls_model": any(declared[name].calls_model for name in pipeline),
        "is_lossy": any(declared[name].kind is Kind.OFFLOAD for name in pipeline),
        "is_sound": checked.effective is not None,
    }


def _base_changed(cloned_from: str, known: Sequence[Preset]) -> bool:
    name, _, number = cloned_from.partition("@")
    now = find(known, name) if name else None
    return now is not None and number != str(now.version)
