from __future__ import annotations

from typing import Any

from django.apps import AppConfig
from django.db import connections
from django.db.models.signals import pre_migrate

from controlplane.databases import TELEMETRY

INCREMENTAL = 2


class TelemetryConfig(AppConfig):
    name = "controlplane.telemetry"

    def ready(self) -> None:
        from controlplane import topics
        from controlplane.fleet import presence, upkeep
        from controlplane.telemetry import live_rows
        from controlplane.telemetry.queries.living import heard
        from controlplane.telemetry.silences import ChangesOfState

        pre_migrate.connect(_give_back_by_the_page, sender=self)
        topics.written_by(live_rows.append)
        presence.told_by(heard)
        upkeep.register(ChangesOfState())


def _give_back_by_the_page(*, using: str, **_: Any) -> None:
    """What retention removes is given back to the disk page by page. It is said once, not at each
    connection: saying it writes to the file.
    """
    connection = connections[using]
    if using != TELEMETRY or connection.vendor != "sqlite":
        return
    with connection.cursor() as cursor:
        if cursor.execute("PRAGMA auto_vacuum").fetchone() != (INCREMENTAL,):
            cursor.execute(f"PRAGMA auto_vacuum={INCREMENTAL}")
            cursor.execute("VACUUM")
