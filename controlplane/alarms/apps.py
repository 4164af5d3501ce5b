from __future__ import annotations

from django.apps import AppConfig
from django.db.models.signals import post_save


class AlarmsConfig(AppConfig):
    name = "controlplane.alarms"

    def ready(self) -> None:
        from controlplane.alarms import telling, watching
        from controlplane.alarms.delivering import deliver_due, next_delivery
        from controlplane.fleet import upkeep

        upkeep.register(watching.watch)
        upkeep.register(deliver_due, next_delivery)
        post_save.connect(telling.alarm_saved, sender="alarms.Alarm")
        post_save.connect(telling.silence_saved, sender="alarms.Silence")
