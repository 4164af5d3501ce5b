"""Is the product itself well: databases, disk, reports, jobs, messages (04 §5.15)."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from django.conf import settings
from django.db import DatabaseError, connections
from django.db.models import Count

from controlplane.accounts.models import Secret
from controlplane.alarms.models import Channel, Delivery
from controlplane.databases import waiting_migrations
from controlplane.figures.numerals import (
    NO_DATA,
    UNKNOWN,
    Figure,
    count,
    duration,
    plural,
    share,
    span,
)
from controlplane.fleet import running, upkeep
from controlplane.jobs import queries as jobs
from controlplane.telemetry.models import TelemetryGap
from controlplane.telemetry.queries import NodeRow, gauges, nodes
from controlplane.ui.frame.moments import at
from controlplane.ui.frame.verdicts import Verdict

PASSES = Verdict("pass", "ok", "ok")
LOOK = Verdict("look", "watch", "watch")
FAILS = Verdict("fail", "alarm", "alarm")
NOT_KNOWN = Verdict("unknown", "unknown", "quiet")
DISK_HIGH = 0.85
STUCK_AFTER = timedelta(minutes=5)
UNSEEN_S = 60.0
SCALES = ((1 << 30, "GB"), (1 << 20, "MB"), (1 << 10, "kB"))


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that is looked at. said: the sentence behind the verdict."""

    name: str
    verdict: Verdict
    said: str


def checks(now: datetime) -> list[Check]:
    """Each by itself: one that cannot be done says so, and the others go on."""
    return [_done(name, look, now) for name, look in LOOKS]


def _done(name: str, look: Callable[[datetime], tuple[Verdict, str]], now: datetime) -> Check:
    try:
        verdict, said = look(now)
    except (DatabaseError, OSError) as problem:
        return Check(name, FAILS, f"It cannot be looked at: {type(problem).__name__}.")
    return Check(name, verdict, said)


def _node(_now: datetime) -> tuple[Verdict, str]:
    if not running.is_here():
        return NOT_KNOWN, "No node runs in the process that answers here."
    stats = running.stats(None) or {}
    return PASSES, f"{stats.get('node', 'The node')} serves in the process that answers here."


def _reports(_now: datetime) -> tuple[Verdict, str]:
    expected = _expected()
    heard = [node for node in expected if node.state != "offline"]
    if not expected:
        return NOT_KNOWN, "No node that should report is known."
    lag = max((node.lag_ms for node in heard), default=0)
    said = f"{len(heard)} of {plural(len(expected), 'node')} report; the slowest {lag} ms late."
    return (PASSES if len(heard) == len(expected) else LOOK), said


def _expected() -> list[NodeRow]:
    """Nodes that did not say that they end."""
    return [node for node in nodes() if node.state != "left"]


def _dropped(_now: datetime) -> tuple[Verdict, str]:
    known = nodes()
    dropped, missing = sum(n.dropped for n in known), sum(n.missing for n in known)
    gaps = TelemetryGap.objects.filter(kind="batches").count()
    silent = [node.node_id for node in known if node.state == "offline"]
    if not known:
        return NOT_KNOWN, "No node has reported yet."
    if silent and not (dropped or missing or gaps):
        return NOT_KNOWN, f"What {', '.join(silent)} counted since the last report is not known."
    if not (dropped or missing or gaps):
        return PASSES, f"Every batch of {plural(len(known), 'node')} arrived, and every row."
    return LOOK, (
        f"{plural(gaps, 'gap')} in the batches; {plural(dropped, 'row')} dropped by full queues or "
        f"past what a database holds; "
        f"{plural(missing, 'request')} counted by nodes and not here."
    )


def _disk(_now: datetime) -> tuple[Verdict, str]:
    used = shutil.disk_usage(settings.ENVIRONMENT.data_dir)
    ratio = used.used / (used.used + used.free)
    said = f"{share(used.used, used.used + used.free)} of the data directory's disk is used."
    return (LOOK if ratio > DISK_HIGH else PASSES), said


def _migrations(_now: datetime) -> tuple[Verdict, str]:
    waiting = sum(waiting_migrations(alias) for alias in connections)
    if waiting:
        return FAILS, f"{plural(waiting, 'migration')} waiting: run `manage.py migrate`."
    return PASSES, "Every migration is applied."


def _keys(_now: datetime) -> tuple[Verdict, str]:
    known = {key_id for key_id, _ in settings.SECRET_SEALING_KEYS}
    used = dict(
        Secret.objects.values_list("key_id").annotate(number=Count("id")).order_by("key_id")
    )
    unknown = used.keys() - known
    if unknown:
        return FAILS, f"Secrets are sealed with keys that are not here: {', '.join(unknown)}."
    named = ", ".join(f"{key_id} ({number})" for key_id, number in used.items())
    if not named:
        return NOT_KNOWN, "No secret is held, so no key is needed."
    return PASSES, f"Sealing keys in use: {named}."


def _messages(now: datetime) -> tuple[Verdict, str]:
    day = Delivery.objects.filter(created_at__gt=now - timedelta(days=1))
    by_state = dict(day.values_list("state").annotate(number=Count("id")).order_by())
    off = Channel.objects.exclude(disabled_at=None).count()
    if not by_state and not off:
        return NOT_KNOWN, "Nobody had to be told of anything in 24 hours."
    said = ", ".join(f"{number} {state}" for state, number in sorted(by_state.items()))
    said = f"In 24 hours: {said or 'none'}."
    if off:
        said += f" {plural(off, 'channel')} switched off."
    stuck = Delivery.objects.filter(state=Delivery.State.PENDING, next_at__lt=now - STUCK_AFTER)
    if overdue := stuck.count():
        return LOOK, f"{said} {plural(overdue, 'message')} should have been sent by now."
    return (LOOK if off or by_state.get("given up") else PASSES), said


def _jobs(now: datetime) -> tuple[Verdict, str]:
    """It passes where every job ran in its turn; whether one should have is not left to jobs."""
    rows = jobs.job_rows(int(now.timestamp() * 1000))
    late = [job for job in rows if job.is_late]
    failing = [job.task for job in rows if job.failures]
    unrun = [job.task for job in rows if job.succeeded_at is None]
    if late:
        named = "; ".join(f"{job.task}, {_last_ran(job, now)}" for job in late)
        return FAILS, f"Nobody runs the jobs in their turn: {named}."
    if failing:
        return LOOK, f"The last run of {', '.join(failing)} failed."
    if unrun or not rows:
        return NOT_KNOWN, f"Not run yet: {', '.join(unrun) or 'any job'}."
    return PASSES, f"{plural(len(rows), 'job')} ran in their turn."


def _last_ran(job: jobs.JobRow, now: datetime) -> str:
    if job.succeeded_at is None:
        return "which never ran"
    return f"last done {span((now - at(job.succeeded_at)).total_seconds())} ago"


def _alarms(now: datetime) -> tuple[Verdict, str]:
    """Of this process: each with a node looks for alarms by itself."""
    looked_at = upkeep.ran_at()
    if looked_at is None:
        return NOT_KNOWN, "This process does not look for them; one with a node does."
    age_s = (now - looked_at).total_seconds()
    said = f"Alarms were last looked for {span(age_s)} ago."
    return (FAILS if age_s > UNSEEN_S else PASSES), said


LOOKS: Sequence[tuple[str, Callable[[datetime], tuple[Verdict, str]]]] = (
    ("Node in this process", _node),
    ("Reports of nodes", _reports),
    ("Nothing dropped", _dropped),
    ("Disk", _disk),
    ("Migrations", _migrations),
    ("Sealing keys", _keys),
    ("Jobs", _jobs),
    ("Alarms looked for", _alarms),
    ("Messages", _messages),
)


@dataclass(frozen=True, slots=True)
class DatabaseRow:
    name: str
    engine: str
    size: Figure
    wal: Figure


def database_rows() -> list[DatabaseRow]:
    return [_database(alias) for alias in connections]


def _database(alias: str) -> DatabaseRow:
    connection = connections[alias]
    if connection.vendor != "sqlite":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_database_size(current_database())")
            size = bytes_of(cursor.fetchone()[0])
        return DatabaseRow(alias, "PostgreSQL", size, UNKNOWN)
    path = Path(str(connection.settings_dict["NAME"]))
    return DatabaseRow(alias, "SQLite", _size(path), _size(path.with_name(f"{path.name}-wal")))


def _size(path: Path) -> Figure:
    return bytes_of(path.stat().st_size) if path.exists() else NO_DATA


def bytes_of(size: int) -> Figure:
    for scale, unit in SCALES:
        if size >= scale:
            return Figure(f"{size / scale:.1f}", unit)
    return Figure(f"{size}", "B")


@dataclass(frozen=True, slots=True)
class JobRow:
    """succeeded_at, due_at: None for never. said: what it did, or why it failed."""

    task: str
    state: Verdict
    runs: Figure
    succeeded_at: datetime | None
    due_at: datetime | None
    took: Figure
    said: str


def job_rows() -> list[JobRow]:
    """Failing ones first."""
    return [_job(job) for job in sorted(jobs.job_rows(), key=lambda job: not job.failures)]


def _job(job: jobs.JobRow) -> JobRow:
    state = Verdict("works", "ok", "ok") if job.runs else Verdict("never ran", "wait", "quiet")
    if job.is_late:
        state = Verdict("late", "no", "alarm")
    elif job.failures:
        state = Verdict(f"failed {plural(job.failures, 'time')} in a row", "no", "alarm")
    return JobRow(
        task=job.task,
        state=state,
        runs=count(job.runs),
        succeeded_at=at(job.succeeded_at) if job.succeeded_at else None,
        due_at=at(job.due_at) if job.due_at else None,
        took=duration(job.duration_ms),
        said=job.error if job.failures else job.result,
    )


def node_counts() -> tuple[list[tuple[str, Figure]], str]:
    """Queues and limits of all nodes, and by how many processes they were said."""
    gauged = gauges()
    names = (
        ("Requests in flight", "inflight"),
        ("Tasks", "tasks"),
        ("Originals held", "stash_live"),
        ("Room for originals", "stash_capacity"),
    )
    processes = plural(gauged.processes, "process", "processes")
    said = f"summed over {processes} that reported within 30 seconds"
    return [(name, count(gauged.values.get(key))) for name, key in names], said
