"""The presets that a document may name: the packaged ones and its organisation's (04 §3.1, 3.2)."""

from __future__ import annotations

from collections.abc import Iterable

from django.db.models import F, QuerySet

from controlplane.accounts.models import Organisation
from controlplane.configs.models import ConfigVersion
from dataplane.core.config.presets import BUILT_IN, Preset

PIN = "@"


def presets_for(organisation: Organisation | None, mentioned: Iterable[str]) -> tuple[Preset, ...]:
    """As core.config.layers.Context takes them; mentioned: the texts that will be resolved.

    The promoted version of a preset comes first, because an unpinned name means it. The other
    versions are read only when a text pins one.
    """
    if organisation is None:
        return BUILT_IN
    versions = ConfigVersion.objects.filter(
        document__preset__organisation=organisation, kind=ConfigVersion.Kind.CONTENT
    )
    promoted = _read(versions.filter(document__promoted=F("pk")))
    texts = [*mentioned, *(preset.text for preset in promoted)]
    if not any(PIN in text for text in texts):
        return (*BUILT_IN, *promoted)
    return (*BUILT_IN, *promoted, *_read(versions.exclude(document__promoted=F("pk"))))


def _read(versions: QuerySet[ConfigVersion]) -> list[Preset]:
    rows = versions.values_list(
        "document__preset__name",
        "number",
        "source",
        "document__preset__title",
        "document__preset__archived_at",
    )
    return [
        Preset(name, number, source, title, archived=archived_at is not None)
        for name, number, source, title, archived_at in rows.order_by(
            "document__preset__name", "-number"
        )
    ]
