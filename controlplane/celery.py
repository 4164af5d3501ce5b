"""The same jobs on Celery, where HEADRACE_CELERY_BROKER names a broker (04 §7, 06 §12).

celery -A controlplane.celery worker -Q critical,default,bulk
celery -A controlplane.celery beat
"""

from __future__ import annotations

from typing import Any

import django
from celery import Celery

from controlplane.settings.environment import name_settings_module

name_settings_module()
django.setup()

from controlplane.jobs import registry  # noqa: E402  Django must be set up first
from controlplane.jobs.actions import run_if_due  # noqa: E402
from controlplane.settings import ENVIRONMENT  # noqa: E402

TASK = "headrace.job"
# A job says itself when it is due, so that it is looked at more often than it runs; its row in
# the database is what survives, and what keeps two schedulers from running it twice.
LOOK_S = 30

app = Celery("headrace", broker=ENVIRONMENT.celery_broker or "memory://")


def schedule() -> dict[str, dict[str, Any]]:
    return {
        job.name: {
            "task": TASK,
            "schedule": min(job.every_s, LOOK_S),
            "args": (job.name,),
            "options": {"queue": job.queue, "expires": min(job.every_s, LOOK_S)},
        }
        for job in registry.jobs()
    }


app.conf.update(
    task_ignore_result=True,
    task_acks_late=True,
    task_reject_on_worker_lost=True,
    task_default_queue="default",
    worker_hijack_root_logger=False,
    worker_redirect_stdouts=False,
    beat_schedule=schedule(),
)


@app.task(name=TASK)  # type: ignore[untyped-decorator]
def run_job(name: str) -> None:
    run_if_due(registry.job(name))
