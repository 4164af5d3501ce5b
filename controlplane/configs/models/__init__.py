"""The tables of configuration (04 §1.2): what people write, and what came of it."""

from __future__ import annotations

from controlplane.configs.models.documents import (
    ConfigDocument,
    ConfigDraft,
    ConfigVersion,
    Preset,
)
from controlplane.configs.models.outcomes import (
    EffectiveRevision,
    IdempotencyRecord,
    Plan,
    SchemaRelease,
    ValidationReport,
)

__all__ = [
    "ConfigDocument",
    "ConfigDraft",
    "ConfigVersion",
    "EffectiveRevision",
    "IdempotencyRecord",
    "Plan",
    "Preset",
    "SchemaRelease",
    "ValidationReport",
]
