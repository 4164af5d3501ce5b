from __future__ import annotations

from django.apps import AppConfig


class TelemetryConfig(AppConfig):
    name = "controlplane.telemetry"

    def ready(self) -> None:
        from controlplane import topics
        from controlplane.telemetry import live_rows

        topics.written_by(live_rows.append)
