"""What several processes do at the same moment: each time one of them wins, and nothing is lost.

They are threads here, each with connections of its own; on SQLite the file lets one write at a
time, on PostgreSQL locks and constraints must do it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any, TypeVar

import pytest
from django.db import connections
from django.db.models import Max, Sum

from controlplane.accounts.attempts import TooManyAttemptsError
from controlplane.accounts.members import remove_member
from controlplane.accounts.models import Membership, Tenant
from controlplane.accounts.people import verify_sign_in
from controlplane.accounts.problems import LastManagerError
from controlplane.audit.actions import Subject, record
from controlplane.audit.queries import verify
from controlplane.configs.actions import save_version
from controlplane.configs.documents import document_of
from controlplane.configs.models import ConfigVersion
from controlplane.configs.problems import StaleBaseError
from controlplane.fleet.models import ChangeLog, PublishedResource
from controlplane.jobs.actions import run_if_due
from controlplane.jobs.registry import Job
from controlplane.live.log import LiveLog
from controlplane.telemetry.actions import ingest
from controlplane.telemetry.models import NodeStream, RequestRecord, TrafficBucket
from tests.controlplane.conftest import person
from tests.controlplane.telemetry.batches import NOW, batch, delta, row
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "telemetry"])
T = TypeVar("T")
TEXT = "pipeline: [mask]\ncomponents: {{mask: {{keep_recent: {}}}}}\n"


def at_once(*doings: Callable[[], T]) -> list[Future[T]]:
    """Each in a thread of its own, none before all are there."""
    start = threading.Barrier(len(doings), timeout=PATIENCE_S)

    def done(doing: Callable[[], T]) -> T:
        start.wait()
        try:
            return doing()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(len(doings)) as pool:
        return [pool.submit(done, doing) for doing in doings]


def errors_of(futures: Sequence[Future[Any]]) -> list[type[BaseException]]:
    return [type(error) for future in futures if (error := future.exception()) is not None]


def test_of_four_saves_on_one_base_one_is_kept_and_three_are_told_so(tenant: Tenant) -> None:
    document = document_of(tenant)
    save_version(document, TEXT.format(2), "first", None)
    saves = [
        partial(save_version, document_of(tenant), TEXT.format(n), "mine", None, based_on=1)
        for n in range(3, 7)
    ]

    assert errors_of(at_once(*saves)) == [StaleBaseError] * 3
    numbers = ConfigVersion.objects.filter(document=document).values_list("number", flat=True)
    assert sorted(numbers) == [1, 2]


def test_changes_of_several_tenants_are_numbered_one_after_the_other(
    tenant: Tenant, other_tenant: Tenant
) -> None:
    before = ChangeLog.objects.get().sequence
    saves = [
        partial(save_version, document_of(each), TEXT.format(n), "mine", None)
        for n, each in enumerate((tenant, other_tenant), start=3)
    ]

    assert errors_of(at_once(*saves)) == []
    published = PublishedResource.objects.aggregate(newest=Max("sequence"))["newest"]
    assert ChangeLog.objects.get().sequence == published > before
    assert verify().broken_at is None


def test_the_trail_that_several_write_is_one_chain(tenant: Tenant) -> None:
    before = verify().events

    def write(name: str) -> None:
        for number in range(5):
            record("tenant.touch", Subject(tenant.uid, name, ""), None, after={"n": number})

    assert errors_of(at_once(*(partial(write, name) for name in "abcd"))) == []
    found = verify()
    assert (found.events - before, found.broken_at) == (20, None)


def test_the_last_two_managers_cannot_both_leave(tenant: Tenant) -> None:
    Membership.objects.filter(role=Membership.Role.MANAGER).delete()
    for name in ("one", "other"):
        person(Membership.Role.MANAGER, None, f"{name}@example.com")
    leaving = Membership.objects.filter(role=Membership.Role.MANAGER)

    assert errors_of(at_once(*(partial(remove_member, each, None) for each in leaving))) == [
        LastManagerError
    ]


def test_of_twelve_guesses_at_once_five_are_looked_at(tenant: Tenant) -> None:
    user = person("viewer", tenant.organisation)
    guesses = [
        partial(verify_sign_in, email=user.email, password=f"guess {n}", address="192.0.2.1")
        for n in range(12)
    ]

    assert errors_of(at_once(*guesses)) == [TooManyAttemptsError] * 7


def test_a_job_that_four_schedulers_look_at_runs_once() -> None:
    ran = threading.Semaphore(0)

    def run() -> str:
        ran.release()
        return "done"

    job = Job("counting", 60, run)
    futures = at_once(*(partial(run_if_due, job, now=NOW) for _ in range(4)))

    assert sorted(future.result() for future in futures) == [False, False, False, True]
    assert ran.acquire(blocking=False)
    assert not ran.acquire(blocking=False)


def test_a_batch_that_arrives_four_times_at_once_counts_once() -> None:
    again = [partial(ingest, batch(1, [row(1)], [delta()]), received_at=NOW) for _ in range(4)]

    futures = at_once(*again)

    assert errors_of(futures) == []
    assert sorted(future.result() for future in futures) == [False, False, False, True]
    counted = TrafficBucket.objects.filter(resolution_s=10).aggregate(n=Sum("requests"))["n"]
    assert (RequestRecord.objects.count(), counted) == (1, 1)
    assert NodeStream.objects.get().duplicates == 3


def test_whoever_follows_the_log_of_several_writers_misses_nothing() -> None:
    writing, seen = threading.Event(), []
    writing.set()

    def write(node: int) -> None:
        for number in range(1, 11):
            one = row(100 * node + number, session=f"s{node}")
            ingest(batch(number, [one], [delta()], node_id=f"node{node}"), received_at=NOW)

    def follow() -> None:
        log, cursor, more = LiveLog(), 0, True
        while more:
            more = writing.is_set()  # one more look after the last was written
            for message in log.since(cursor, 500):
                seen.append(message.seq)
                cursor = message.seq
            time.sleep(0.001)  # as a stream pauses; without it the writers hardly get to run
        connections.close_all()

    follower = threading.Thread(target=follow)
    follower.start()
    errors = errors_of(at_once(*(partial(write, node) for node in range(4))))
    writing.clear()
    follower.join()

    assert errors == []
    assert RequestRecord.objects.count() == 40
    assert seen == [message.seq for message in LiveLog().since(0, 10_000)]
