"""The same jobs in a Celery worker of their own, over a Redis broker (04 §7)."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from celery import Celery

from controlplane.celery import TASK
from controlplane.jobs import registry
from tests.controlplane.cli.processes import ROOT, Deployment
from tests.databases import migrated
from tests.patience import PATIENCE_S, blocking_until

JOBS = ("validation_reports", "retention")
RUNS = "SELECT task, runs, failures, error FROM jobs_jobrun ORDER BY task"


@contextlib.contextmanager
def worker(deployment: Deployment, broker: str) -> Iterator[subprocess.Popen[bytes]]:
    """One process, as an operator starts it."""
    how = ["-A", "controlplane.celery", "worker", "--pool", "solo", "--without-mingle"]
    with (deployment.data_dir / "worker.log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "celery", *how, "-Q", "critical,default,bulk"],
            cwd=ROOT,
            env=deployment.environment(HEADRACE_CELERY_BROKER=broker, C_FORCE_ROOT="1"),
            stdout=log,
            stderr=log,
        )
    try:
        yield process
    finally:
        os.kill(process.pid, signal.SIGTERM)
        try:
            process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@pytest.fixture
def deployment(tmp_path: Path) -> Deployment:
    migrated(tmp_path)
    made = Deployment(tmp_path)
    made.bootstrap("--tenant", "orchid", "--upstream", "anthropic=http://127.0.0.1:1")
    return made


def test_a_worker_runs_the_jobs_of_every_queue(deployment: Deployment, redis_url: str) -> None:
    with worker(deployment, redis_url), Celery(broker=redis_url) as client:
        for name in JOBS:
            queue = registry.job(name).queue
            client.send_task(TASK, args=(name,), queue=queue)

        blocking_until(lambda: sum(runs for _, runs, _, _ in deployment.rows(RUNS)) >= len(JOBS))

    assert deployment.rows(RUNS) == [(name, 1, 0, "") for name in sorted(JOBS)]


def test_every_queue_of_a_job_is_one_that_the_worker_is_told_to_serve() -> None:
    served = {"critical", "default", "bulk"}

    assert {job.queue for job in registry.jobs()} <= served
