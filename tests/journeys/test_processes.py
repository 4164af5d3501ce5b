"""Two web processes, a node alone and a Celery worker say the same, whichever is asked, before and
after each of them is killed.
"""

from __future__ import annotations

import re
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest
from celery import Celery

from controlplane.celery import TASK
from controlplane.jobs import registry
from tests.journeys.deployment import ROOT, Deployment
from tests.patience import PATIENCE_S, blocking_until
from tests.servers import redis_server

TOKEN = "cg_node_of_the_test"
MINUTE_MS = 60_000
QUEUES = "critical,default,bulk"


@dataclass(frozen=True)
class Several:
    """one, two: web processes on the same data. alone: reports to one. worker: runs the jobs."""

    one: Deployment
    two: Deployment
    alone: Deployment
    worker: Deployment

    def database(self, name: str, sql: str) -> list[Any]:
        file = self.one.folder / "var" / f"{name}.sqlite3"
        with closing(sqlite3.connect(file, timeout=PATIENCE_S)) as found, found:
            return found.execute(sql).fetchall()

    def client(self, process: Deployment) -> httpx.Client:
        return httpx.Client(
            base_url=process.url, cookies={"cg_session": self.session}, timeout=PATIENCE_S
        )

    @property
    def session(self) -> str:
        return (self.one.folder / "session").read_text()


@pytest.fixture
def several(tmp_path: Path) -> Iterator[Several]:
    with ExitStack() as stack:
        redis = stack.enter_context(redis_server(tmp_path))
        shared = {
            "HEADRACE_CELERY_BROKER": redis.url,
            "HEADRACE_CHANNEL_REDIS": redis.url,
            "HEADRACE_NODE_TOKEN": TOKEN,
        }
        one = Deployment(tmp_path, None, **shared)
        bundle = tmp_path / "bundle.json"
        snapshot(one, bundle)
        here = {"HEADRACE_REPORT_URL": one.url, "HEADRACE_SNAPSHOT": str(bundle)}
        alone = one.beside(HEADRACE_STATE_DIR=str(tmp_path / "alone"), **here)
        made = Several(one, one.beside(), alone, one.beside(C_FORCE_ROOT="1"))
        for process in (made.one, made.two, made.alone, made.worker):
            stack.callback(process.close)
        begin(made)
        (tmp_path / "session").write_text(one.sessions(1)[0])
        yield made


def snapshot(of: Deployment, bundle: Path) -> None:
    command = ["-m", "controlplane.cli.main", "snapshot", "--tenant", "orchid", "-o", str(bundle)]
    subprocess.run([sys.executable, *command], cwd=ROOT, env=of.environment, check=True)


def begin(made: Several) -> None:
    made.one.begin()
    made.two.begin()
    made.alone.begin("dataplane.asgi:application")
    celery = ["-m", "celery", "-A", "controlplane.celery", "worker", "--pool", "solo"]
    made.worker.run(*celery, "--without-mingle", "-Q", QUEUES)
    for process, path in ((made.one, "/login"), (made.two, "/login"), (made.alone, "/readyz")):
        process.wait(path)


# ---- what each of them says ------------------------------------------------------------------


def everywhere(made: Several, asked: Deployment) -> dict[str, int]:
    """The number of requests, as every view that this process offers tells it."""
    with made.client(asked) as client:
        key = client.get(f"/api/v1/tenants/{tenant_of(made)}/keys").json()["items"][0]
        assert key["last_used_at"] is not None
        assert "not seen" not in client.get("/tenants/orchid").text
        exported = client.get("/api/v1/requests/export").text.splitlines()
        return {
            "export": len(exported),
            "overview": leaf(client.get("/").text, "requests"),
            "tenants": int(re.findall(r'<td class="num">\s*(\d+)\s*</td>', tenants(client))[1]),
        }


def tenants(client: httpx.Client) -> str:
    return re.sub(r"<span[^>]*>|</span>", "", client.get("/tenants").text)


def leaf(page: str, key: str) -> int:
    found = re.search(rf'id="{key}"[^>]*>(?:<[^>]*>)*([\d,]+)', page)
    assert found is not None, key
    return int(found[1].replace(",", ""))


def tenant_of(made: Several) -> str:
    uid: str = made.database("control", "SELECT uid FROM accounts_tenant")[0][0]
    return uid


def agree(made: Several, requests: int, *living: Deployment) -> None:
    """Every page, API and export of every web process that lives says so many, as soon as they
    are stored.
    """
    made.one.wait_for_reports(requests)
    for process in living:
        found = everywhere(made, process)
        assert set(found.values()) == {requests}, (process.url, found)


def counted(process: Deployment) -> tuple[int, int]:
    """What the host of the process counted, as /stats and as /metrics."""
    with httpx.Client(base_url=process.url, timeout=PATIENCE_S) as client:
        stats = client.get("/stats?scope=host").json()["requests"]
        page = client.get("/metrics?scope=host").text
        samples = re.findall(r"^cg_requests_total(?:\{[^}]*\})? (\S+)$", page, re.M)
        return stats, int(sum(map(float, samples)))


def says(made: Several, process: Deployment, path: str, *sentences: str) -> bool:
    with made.client(process) as client:
        page = re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", client.get(path).text))
    return all(sentence in page for sentence in sentences)


def grow_old(made: Several, *boots: str) -> None:
    """As if these processes had been silent for a minute."""
    for boot in boots:
        made.database(
            "telemetry",
            f"UPDATE telemetry_nodestream SET last_at = last_at - {MINUTE_MS} "  # noqa: S608
            f"WHERE boot_id = '{boot}'",
        )


def boot_of(made: Several) -> str:
    """Of the node alone, whose process has a state directory of its own."""
    (file,) = (made.one.folder / "alone" / "workers").glob("*.json")
    return file.stem


# ---- the journey -----------------------------------------------------------------------------


def test_all_processes_say_the_same_before_and_after_each_is_killed(several: Several) -> None:
    one, two, alone = several.one, several.two, several.alone
    for process, requests in ((one, 2), (two, 3), (alone, 4)):
        for number in range(requests):
            process.ask(f"Hello {number}")

    agree(several, 9, one, two)
    for process, said in ((one, 5), (two, 5), (alone, 4)):
        blocking_until(partial(holds, process, said))
    blocking_until(partial(says, several, two, "/nodes", "2 of 2 online nodes synced"))
    send_jobs(several)
    blocking_until(partial(says, several, one, "/system", "jobs ran in their turn"))
    assert says(several, two, "/system", "jobs ran in their turn", "summed over 3 processes")

    two.end(signal.SIGKILL)
    agree(several, 9, one)
    one.ask("Hello again")
    agree(several, 10, one)
    blocking_until(partial(holds, one, 6))

    # The node alone: its figures stay, and nothing is called whole any more.
    alone.end(signal.SIGKILL)
    agree(several, 10, one)
    grow_old(several, boot_of(several))
    for path in ("/", "/tenants", "/nodes"):
        assert says(several, one, path, "figures are a lower bound"), path
    assert says(several, one, "/nodes", "1 offline")
    assert says(several, one, "/tenants", "none known, reports are missing")

    # The worker: the jobs are late, and every web process says so.
    several.worker.end(signal.SIGKILL)
    two.start()
    several.database("control", "UPDATE jobs_jobrun SET due_at = due_at - 600000")
    for process in (one, two):
        assert says(several, process, "/system", "Nobody runs the jobs in their turn: pulse")

    two.ask("Hello from a new life")
    agree(several, 11, one, two)
    for process in (one, two):
        blocking_until(partial(holds, process, 7))


def send_jobs(made: Several) -> None:
    """As beat does when each is due."""
    with Celery(broker=made.worker.environment["HEADRACE_CELERY_BROKER"]) as client:
        for job in registry.jobs():
            client.send_task(TASK, args=(job.name,), queue=job.queue)


def holds(process: Deployment, requests: int) -> bool:
    """Workers publish their counters every two seconds."""
    return counted(process) == (requests, requests)
