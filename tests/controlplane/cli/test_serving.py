"""manage.py serve and runserver as processes: start, answer, stop, start again."""

from __future__ import annotations

import contextlib
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from tests.controlplane.cli.processes import ROOT, Deployment
from tests.databases import migrated
from tests.patience import PATIENCE_S, blocking_until
from tests.servers import RedisServer, free_port

SERVE = ("manage.py", "serve")
BOOTSTRAP = ("manage.py", "bootstrap", "--tenant", "orchid", "--json")
AUDIT = ("-m", "controlplane.cli.main", "audit", "verify")
HELLO = {
    "model": "claude-sonnet-5",
    "max_tokens": 16,
    "messages": [{"role": "user", "content": "Hello"}],
}


class Server:
    """A started process, its address, and what it has printed so far."""

    def __init__(self, process: subprocess.Popen[bytes], url: str, log: Path) -> None:
        self.process = process
        self.url = url
        self.log = log

    @property
    def printed(self) -> str:
        return self.log.read_text()

    def wait_for(self, path: str) -> httpx.Response:
        found: list[httpx.Response] = []

        def is_good() -> bool:
            assert self.process.poll() is None, self.printed
            with contextlib.suppress(httpx.TransportError):
                found.append(httpx.get(self.url + path, timeout=PATIENCE_S))
            return bool(found) and found[-1].is_success

        blocking_until(is_good)
        return found[-1]

    def ask(self, key: str) -> httpx.Response:
        headers = {
            "x-context-guru-token": key,
            "x-api-key": "simulated",
            "anthropic-version": "2023-06-01",
        }
        return httpx.post(
            self.url + "/v1/messages", json=HELLO, headers=headers, timeout=PATIENCE_S
        )

    def stop(self, with_signal: signal.Signals) -> int:
        self.process.send_signal(with_signal)
        return self.process.wait(PATIENCE_S)


@contextmanager
def started(deployment: Deployment, *command: str) -> Iterator[Server]:
    """The command with "{bind}" filled in, on a free port."""
    bind = f"127.0.0.1:{free_port()}"
    log = deployment.data_dir.with_name(f"{bind}.log")
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "manage.py", *(part.format(bind=bind) for part in command)],
            cwd=ROOT,
            env=deployment.environment(HEADRACE_BIND=bind),
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        yield Server(process, f"http://{bind}", log)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


@pytest.fixture
def deployment(tmp_path: Path) -> Deployment:
    return Deployment(tmp_path / "data")


@pytest.fixture
def prepared(tmp_path: Path) -> Deployment:
    """One with databases, and nothing in them."""
    migrated(tmp_path / "data")
    return Deployment(tmp_path / "data")


def key_in(printed: str) -> str:
    found = re.search("cg_live_[A-Z2-7]{26}", printed)
    assert found, printed
    return found[0]


def node_in(printed: str) -> str:
    found = re.search(r"cg.node_started node=(\S+)", printed)
    assert found, printed
    return found[1]


def simulator_in(printed: str) -> str:
    found = re.search(r"simulated provider ready on (\S+)", printed)
    assert found, printed
    return found[1]


def test_the_first_start_serves_what_it_printed_and_the_next_only_reminds(
    deployment: Deployment,
) -> None:
    with started(deployment, "serve") as first, started_later(deployment) as second:
        first.wait_for("/readyz")
        key = key_in(first.printed)
        assert "API token    cg_api_" in first.printed
        assert "Provider     simulated here" in first.printed
        assert first.ask(key).json()["type"] == "message"
        assert first.wait_for("/login").headers["content-type"].startswith("text/html")

        # Beside it: the provider that runs is left where it is, until its server ends.
        beside = second()
        beside.wait_for("/readyz")
        assert beside.ask(key).status_code == httpx.codes.OK
        assert "simulated provider ready" not in beside.printed
        assert first.ask(key).status_code == httpx.codes.OK
        first.stop(signal.SIGTERM)
        blocking_until(lambda: "simulated provider ready" in beside.printed)
        provider = simulator_in(first.printed)
        assert simulator_in(beside.printed) == provider
        blocking_until(lambda: beside.ask(key).status_code == httpx.codes.OK)
        beside.stop(signal.SIGINT)

    with pytest.raises(httpx.ConnectError):
        httpx.get(provider, timeout=PATIENCE_S)
    assert "Sign in as   admin@localhost" in beside.printed
    assert "cg_live_" not in beside.printed
    assert beside.printed.splitlines()[-1].endswith(
        f"cg.node_stopped node={node_in(beside.printed)}"
    )
    assert "Traceback" not in first.printed + beside.printed


@contextmanager
def started_later(deployment: Deployment) -> Iterator[Callable[[], Server]]:
    with contextlib.ExitStack() as stack:
        yield lambda: stack.enter_context(started(deployment, "serve"))


@pytest.mark.parametrize(
    "command",
    [
        ("audit", "verify"),
        ("secrets", "rekey"),
        ("factor", "remove", "ada@example.com"),
        ("snapshot", "--tenant", "orchid", "-o", "bundle.json"),
    ],
    ids=lambda command: command[0],
)
def test_a_command_that_looks_makes_no_deployment(
    deployment: Deployment, command: tuple[str, ...]
) -> None:
    deployment.data_dir.mkdir()

    done = deployment.run("-m", "controlplane.cli.main", *command)

    (line,) = done.stderr.splitlines()
    assert (done.returncode, list(deployment.data_dir.iterdir())) == (1, [])
    assert str(deployment.data_dir) in line


def test_an_address_that_is_taken_is_named_before_anything_is_made(
    deployment: Deployment,
) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        bind = f"127.0.0.1:{other.getsockname()[1]}"

        done = deployment.run("manage.py", "serve", HEADRACE_BIND=bind)

    assert done.returncode == 1
    assert f"HEADRACE_BIND={bind} cannot be listened on: Address already in use." in done.stderr
    assert "Traceback" not in done.stderr
    assert "cg_live_" not in done.stdout


def damage(data_dir: Path) -> None:
    (data_dir / "control.sqlite3").write_text("this has never been a database, but long enough")


def block(data_dir: Path) -> None:
    (data_dir / "setup.lock").mkdir()


def occupy(data_dir: Path) -> None:
    (data_dir / "state").write_text("a file where a folder should be")


NO_DATABASE = "database cannot be used: file is not a database"


@pytest.mark.parametrize(
    ("program", "harm", "named"),
    [
        (BOOTSTRAP, damage, NO_DATABASE),
        (AUDIT, damage, NO_DATABASE),
        (BOOTSTRAP, block, "setup.lock"),
        (BOOTSTRAP, occupy, "HEADRACE_STATE_DIR cannot be used"),
    ],
)
def test_what_cannot_be_used_ends_a_command_with_one_line_and_no_secret(
    deployment: Deployment, program: tuple[str, ...], harm: Callable[[Path], None], named: str
) -> None:
    deployment.data_dir.mkdir()
    harm(deployment.data_dir)

    done = deployment.run(*program)

    (line,) = done.stderr.splitlines()
    assert done.returncode == 1
    assert named in line
    assert done.stdout == ""


def test_a_redis_that_must_not_keep_originals_is_named_before_a_secret_is_made(
    deployment: Deployment, redis_running: RedisServer
) -> None:
    redis_running.client().config_set("maxmemory-policy", "allkeys-lru")
    try:
        done = deployment.run(*BOOTSTRAP, HEADRACE_STORE_REDIS_URL=redis_running.url)
    finally:
        redis_running.client().config_set("maxmemory-policy", "noeviction")

    (line,) = done.stderr.splitlines()
    assert done.returncode == 1
    assert "HEADRACE_STORE_REDIS_URL: redis_evicts: " in line
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("program", "name", "value"),
    [
        (SERVE, "HEADRACE_BIND", "localhost"),
        (SERVE, "HEADRACE_BODY_MAX", "32MiB"),
        (SERVE, "HEADRACE_DATABASE_URL", "postgresql://127.0.0.1/control"),
        (SERVE, "HEADRACE_OUTBOUND_PORTS", "https"),
    ],
)
def test_a_wrong_setting_ends_a_command_with_one_line(
    deployment: Deployment, program: tuple[str, ...], name: str, value: str
) -> None:
    done = deployment.run(*program, **{name: value})

    (line,) = done.stderr.splitlines()
    assert done.returncode == 1
    assert line.startswith("headrace")
    assert name in line


def test_a_tenant_that_another_process_adds_is_served_by_the_running_one(
    prepared: Deployment,
) -> None:
    with started(prepared, "serve") as server:
        server.wait_for("/readyz")
        provider = simulator_in(server.printed)
        made = prepared.bootstrap("--tenant", "maple", "--upstream", f"anthropic={provider}")

        def is_known() -> bool:
            status = server.ask(made["data_plane_key"]).status_code
            assert status in {httpx.codes.OK, httpx.codes.UNAUTHORIZED}
            return status == httpx.codes.OK

        blocking_until(is_known)


def test_daphne_serves_pages_and_traffic_without_a_lifespan(prepared: Deployment) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        closed = f"http://127.0.0.1:{nobody.getsockname()[1]}"
        made = prepared.bootstrap("--tenant", "orchid", "--upstream", f"anthropic={closed}")

        with started(prepared, "runserver", "--noreload", "{bind}") as daphne:
            assert "Sign in" in daphne.wait_for("/login").text
            daphne.wait_for("/readyz")
            assert daphne.ask(made["data_plane_key"]).status_code == httpx.codes.BAD_GATEWAY
            assert daphne.ask("cg_live_" + "A" * 26).status_code == httpx.codes.UNAUTHORIZED
