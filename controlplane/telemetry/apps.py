from __future__ import annotations

from django.apps import AppConfig


class TelemetryConfig(AppConfig):
    name = "controlplane.telemetry"

    def ready(self) -> None:
        from controlplane import topics
        from controlplane.fleet import presence, upkeep
        from controlplane.telemetry import live_rows
        from controlplane.telemetry.queries.living import heard
        from controlplane.telemetry.silences import ChangesOfState

        topics.written_by(live_rows.append)
        presence.told_by(heard)
        upkeep.register(ChangesOfState())
