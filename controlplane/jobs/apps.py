from __future__ import annotations

from django.apps import AppConfig


class JobsConfig(AppConfig):
    name = "controlplane.jobs"

    def ready(self) -> None:
        from controlplane.fleet import upkeep
        from controlplane.jobs.lateness import Lateness
        from controlplane.jobs.registry import register
        from controlplane.jobs.upkeep import JOBS

        for job in JOBS:
            register(job)
        upkeep.register(Lateness())
