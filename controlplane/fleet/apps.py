from __future__ import annotations

from typing import Any

from django.apps import AppConfig
from django.db.models.signals import post_save

from controlplane.topics import tell


class FleetConfig(AppConfig):
    name = "controlplane.fleet"

    def ready(self) -> None:
        post_save.connect(tell_answer, sender="fleet.NodeAck")


def tell_answer(instance: Any, **_: Any) -> None:
    tell("node", "state", instance.node_id, data={"node": instance.node_id})
