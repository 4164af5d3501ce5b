"""Presets of an organisation: create, clone, describe, archive (04 §3.2).

Their texts are saved and promoted by configs.actions. A preset is never deleted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils import timezone

from controlplane.accounts.models import Organisation
from controlplane.audit.actions import Actor, Subject, record
from controlplane.configs.actions import promote, save_version
from controlplane.configs.models import ConfigDocument, ConfigVersion, Preset
from dataplane.core.config.presets import BUILT_IN

PACKAGED = frozenset(preset.name for preset in BUILT_IN)


@dataclass(frozen=True, slots=True, kw_only=True)
class Labels:
    """What people read about a preset; it decides nothing."""

    title: str = ""
    description: str = ""
    labels: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Beginning:
    """A preset's first version. cloned_from: "name@version" when it is a copy of one."""

    source: str
    message: str
    cloned_from: str = ""
    origin: str = ""


@transaction.atomic
def create_preset(
    organisation: Organisation,
    name: str,
    first: Beginning,
    by: Actor | None,
    about: Labels | None = None,
) -> Preset:
    """A preset with a promoted first version, which nobody can be using yet.

    ValidationError for a name that is malformed, taken or packaged; ConfigError for the text.
    """
    if name in PACKAGED:
        raise ValidationError({"name": f"{name} is a packaged preset; choose another name."})
    document = ConfigDocument.objects.create(
        kind=ConfigDocument.Kind.PRESET, organisation=organisation
    )
    preset = Preset(
        organisation=organisation,
        name=name,
        document=document,
        cloned_from=first.cloned_from,
    )
    _describe(preset, about or Labels())
    preset.full_clean()
    preset.save()
    after = {"name": name, "cloned_from": first.cloned_from}
    record("preset.create", _subject(preset), by, after=after)
    origin = first.origin or (ConfigVersion.Origin.CLONE if first.cloned_from else "")
    version = save_version(document, first.source, first.message, by, based_on=0, origin=origin)
    promote(version, first.message, by)
    return preset


@transaction.atomic
def describe_preset(preset: Preset, about: Labels, by: Actor | None) -> Preset:
    before = _described(preset)
    _describe(preset, about)
    preset.full_clean()
    preset.save(update_fields=["title", "description", "labels"])
    record("preset.describe", _subject(preset), by, before=before, after=_described(preset))
    return preset


@transaction.atomic
def archive_preset(preset: Preset, by: Actor | None, *, archived: bool = True) -> Preset:
    """Offer it for new uses no more, or again; whoever names it already keeps it."""
    if (preset.archived_at is not None) == archived:
        return preset
    preset.archived_at = timezone.now() if archived else None
    preset.save(update_fields=["archived_at"])
    record("preset.archive" if archived else "preset.unarchive", _subject(preset), by)
    return preset


def _describe(preset: Preset, about: Labels) -> None:
    preset.title, preset.description = about.title.strip(), about.description.strip()
    preset.labels = sorted({label.strip() for label in about.labels if label.strip()})


def _described(preset: Preset) -> dict[str, object]:
    return asdict(Labels(title=preset.title, description=preset.description, labels=preset.labels))


def _subject(preset: Preset) -> Subject:
    return Subject(preset.uid, preset.name, preset.organisation.uid)
