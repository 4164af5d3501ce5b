from __future__ import annotations

from django.apps import AppConfig


class AlarmsConfig(AppConfig):
    name = "controlplane.alarms"

    def ready(self) -> None:
        from controlplane.alarms import watching
        from controlplane.alarms.delivering import deliver_due
        from controlplane.fleet import upkeep

        upkeep.register(watching.watch)
        upkeep.register(deliver_due)
