"""Which of the two databases a table lives in (04 sections 0.5 and 1.8)."""

from __future__ import annotations

from typing import Any

from django.db.models import Model

TELEMETRY = "telemetry"
DEFAULT = "default"


class ByAppLabel:
    """The telemetry app has a database of its own; everything else is in the control database."""

    def db_for_read(self, model: type[Model], **_hints: Any) -> str:
        return _alias(model._meta.app_label)

    db_for_write = db_for_read

    def allow_relation(self, one: Model, other: Model, **_hints: Any) -> bool:
        """Rows of one database never point into the other: it stores uids."""
        return _alias(one._meta.app_label) == _alias(other._meta.app_label)

    def allow_migrate(self, db: str, app_label: str, **_hints: Any) -> bool:
        return db == _alias(app_label)


def _alias(app_label: str) -> str:
    return TELEMETRY if app_label == TELEMETRY else DEFAULT
