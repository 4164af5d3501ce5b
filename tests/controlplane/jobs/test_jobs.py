"""A job runs when it is due, in one process, and again after a process that died."""

from __future__ import annotations

import threading
from datetime import timedelta

import pytest
from django.utils import timezone

from controlplane import celery
from controlplane.alarms.models import Alarm
from controlplane.configs.models import ValidationReport
from controlplane.configs.reports import KEPT
from controlplane.fleet import upkeep
from controlplane.jobs import lateness, registry
from controlplane.jobs.actions import now_ms, run_if_due
from controlplane.jobs.models import JobRun
from controlplane.jobs.queries import JobRow, job_rows
from controlplane.jobs.registry import Job
from controlplane.jobs.runner import Runner
from controlplane.ui.deployment import system_rows
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.django_db
NOW = 1_800_000_000_000


class Rounds:
    """A job that counts its rounds; `fails` of them raise."""

    def __init__(self, fails: int = 0) -> None:
        self.count = 0
        self.fails = fails

    def __call__(self) -> str:
        self.count += 1
        if self.count <= self.fails:
            raise RuntimeError("a text that may quote a request")
        return f"round {self.count}"


def every_minute(rounds: Rounds) -> Job:
    return Job("counting", 60, rounds, lease_s=120)


def test_a_job_runs_at_once_and_then_at_its_turns() -> None:
    rounds = Rounds()

    ran = [run_if_due(every_minute(rounds), now=NOW + s * 1000) for s in (0, 30, 61, 100, 130)]

    assert ran == [True, False, True, False, True]
    assert rounds.count == 3


def test_two_schedulers_run_a_round_once() -> None:  # 04 §J-02
    rounds = Rounds()
    job = every_minute(rounds)

    def overlapping() -> str:
        assert not run_if_due(job, now=NOW)
        return rounds()

    assert run_if_due(Job("counting", 60, overlapping), now=NOW)
    assert rounds.count == 1


def test_a_killed_process_loses_its_turn_when_its_lease_ends() -> None:  # 04 §J-01
    rounds = Rounds()
    JobRun.objects.create(task="counting", due_at=NOW, lease_until=NOW + 120_000, lease_by="dead")

    assert not run_if_due(every_minute(rounds), now=NOW + 119_000)
    assert run_if_due(every_minute(rounds), now=NOW + 120_000)


def test_a_round_that_fails_is_tried_again_later_each_time() -> None:
    rounds = Rounds(fails=3)
    waits = []
    now = NOW
    for _ in range(3):
        run_if_due(every_minute(rounds), now=now)
        due_at = JobRun.objects.get().due_at
        waits.append(due_at - now)
        now = due_at

    row = JobRun.objects.get()
    assert waits == sorted(waits)
    assert (row.failures, row.error) == (3, "RuntimeError")
    run_if_due(every_minute(rounds), now=now)
    row.refresh_from_db()
    assert (row.failures, row.error, row.result) == (0, "", "round 4")


def test_a_job_that_missed_three_turns_is_late() -> None:
    JobRun.objects.create(task="retention", due_at=NOW)
    period = registry.job("retention").every_s * 1000

    assert not _row(NOW + period).is_late
    assert _row(NOW + 3 * period).is_late


def test_a_late_job_is_an_alarm_said_once_until_it_is_on_time_again() -> None:
    row = JobRun.objects.create(task="retention", due_at=1)

    for _ in range(2):
        lateness.look(timezone.now())
    alarm = Alarm.objects.get()
    assert (alarm.rule, alarm.subject, alarm.count) == ("job_late", "retention", 1)

    JobRun.objects.filter(pk=row.pk).update(due_at=now_ms())
    lateness.look(timezone.now())
    alarm.refresh_from_db()
    assert alarm.state == "resolved"


def test_where_nobody_runs_jobs_that_is_seen_within_minutes_by_somebody_else() -> None:
    watch, began = lateness.Lateness(), timezone.now()
    watch(began)
    assert not Alarm.objects.exists()

    watch(began + timedelta(minutes=4))

    assert [alarm.subject for alarm in Alarm.objects.filter(rule="job_late")] == ["pulse"]
    verdict, said = dict(system_rows.LOOKS)["Jobs"](began + timedelta(minutes=4))
    assert (verdict.word, "pulse, which never ran" in said) == ("fail", True)


def test_the_watch_over_jobs_is_no_job() -> None:
    watched = {job.name for job in registry.jobs()}

    assert not any("late" in name for name in watched)
    assert any(isinstance(step, lateness.Lateness) for step in upkeep._steps)


@pytest.mark.parametrize("name", [name for name, _ in system_rows.LOOKS])
def test_a_check_never_passes_where_nothing_is_there_to_look_at(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An empty deployment: only what was measured passes."""
    monkeypatch.setattr(upkeep, "_ran_at", [])  # nobody has looked yet in this process
    verdict, _ = dict(system_rows.LOOKS)[name](timezone.now())

    assert verdict.word != "pass" or name in {"Disk", "Migrations"}


def _row(now: int) -> JobRow:
    return next(row for row in job_rows(now) if row.task == "retention")


@pytest.mark.django_db(transaction=True)
def test_the_runner_runs_what_is_due_and_stops(monkeypatch: pytest.MonkeyPatch) -> None:
    ran = threading.Event()

    def round_() -> str:
        ran.set()
        return ""

    monkeypatch.setattr(registry, "_jobs", {"counting": Job("counting", 60, round_)})
    runner = Runner(look_s=0.01)
    runner.start()

    assert ran.wait(timeout=PATIENCE_S)
    runner.stop()
    assert JobRun.objects.get().runs == 1


def test_celery_runs_the_same_functions_under_the_same_lease() -> None:
    assert {entry["args"] for entry in celery.schedule().values()} == {
        (job.name,) for job in registry.jobs()
    }
    celery.run_job.run("retention")
    celery.run_job.run("retention")

    assert JobRun.objects.get(task="retention").runs == 1


def test_validation_reports_are_deleted_once_they_were_kept_long_enough() -> None:
    old, new = (
        ValidationReport.objects.create(input_hash=name * 64, target="tenant", result={})
        for name in "ab"
    )
    long_ago = timezone.now() - KEPT - timedelta(minutes=1)
    ValidationReport.objects.filter(pk=old.pk).update(created_at=long_ago)
    assert registry.job("validation_reports").run() == "1 deleted"
    assert list(ValidationReport.objects.all()) == [new]
