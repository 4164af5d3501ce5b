"""manage.py serve and runserver as processes: start, answer, stop, start again."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

ROOT = Path(__file__).resolve().parents[3]
PATIENCE_S = 60
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
        until = time.monotonic() + PATIENCE_S
        while time.monotonic() < until and self.process.poll() is None:
            with contextlib.suppress(httpx.TransportError):
                answer = httpx.get(self.url + path, timeout=PATIENCE_S)
                if answer.status_code == httpx.codes.OK:
                    return answer
            time.sleep(0.1)
        raise AssertionError(self.printed)

    def ask(self, key: str) -> httpx.Response:
        headers = {
            "x-context-guru-token": key,
            "x-api-key": "simulated",
            "anthropic-version": "2023-06-01",
        }
        return httpx.post(
            self.url + "/v1/messages", json=HELLO, headers=headers, timeout=PATIENCE_S
        )

    def stop(self, with_signal: signal.Signals = signal.SIGTERM) -> int:
        self.process.send_signal(with_signal)
        return self.process.wait(PATIENCE_S)


@contextmanager
def started(tmp_path: Path, *command: str) -> Iterator[Server]:
    """The command with "{bind}" filled in, on a free port and the data directory of the test."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        bind = f"127.0.0.1:{probe.getsockname()[1]}"
    env = {**os.environ, "HEADRACE_DATA_DIR": str(tmp_path / "data"), "HEADRACE_BIND": bind}  # noqa: TID251
    log = tmp_path / f"{bind}.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "manage.py", *(part.format(bind=bind) for part in command)],
            cwd=ROOT,
            env=env,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        yield Server(process, f"http://{bind}", log)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


def key_in(printed: str) -> str:
    found = re.search("cg_live_[A-Z2-7]{26}", printed)
    assert found, printed
    return found[0]


def simulator_in(printed: str) -> str:
    found = re.search(r"simulated provider ready on (\S+)", printed)
    assert found, printed
    return found[1]


@pytest.mark.parametrize("with_signal", [signal.SIGTERM, signal.SIGINT], ids=["term", "ctrl-c"])
def test_the_first_start_serves_what_it_printed_and_the_next_only_reminds(
    tmp_path: Path, with_signal: signal.Signals
) -> None:
    with started(tmp_path, "serve") as first:
        first.wait_for("/readyz")
        key = key_in(first.printed)
        assert first.ask(key).json()["type"] == "message"
        assert first.wait_for("/login").headers["content-type"].startswith("text/html")
        first.stop(with_signal)
    provider = simulator_in(first.printed)
    with pytest.raises(httpx.ConnectError):
        httpx.get(provider, timeout=PATIENCE_S)

    with started(tmp_path, "serve") as second:
        second.wait_for("/readyz")
        assert second.ask(key).status_code == httpx.codes.OK
        second.stop(with_signal)
    assert "Sign in as   admin@localhost" in second.printed
    assert "cg_live_" not in second.printed
    assert simulator_in(second.printed) == provider
    assert "Traceback" not in first.printed + second.printed


def test_a_tenant_that_another_process_adds_is_served_by_the_running_one(tmp_path: Path) -> None:
    with started(tmp_path, "serve") as server:
        server.wait_for("/readyz")
        done = subprocess.run(
            [sys.executable, "manage.py", "bootstrap", "--tenant", "maple", "--upstream",
             f"anthropic={simulator_in(server.printed)}"],
            cwd=ROOT,
            env={**os.environ, "HEADRACE_DATA_DIR": str(tmp_path / "data")},  # noqa: TID251
            capture_output=True,
            text=True,
            check=True,
        )  # fmt: skip
        key = key_in(done.stdout)
        until = time.monotonic() + PATIENCE_S
        while (answer := server.ask(key)).status_code == httpx.codes.UNAUTHORIZED:
            assert time.monotonic() < until
            time.sleep(0.2)
        assert answer.status_code == httpx.codes.OK


def test_daphne_serves_pages_and_traffic_without_a_lifespan(tmp_path: Path) -> None:
    with started(tmp_path, "serve") as server:
        server.wait_for("/readyz")
        key = key_in(server.printed)
        server.stop()

    with started(tmp_path, "runserver", "--noreload", "{bind}") as daphne:
        assert "Sign in" in daphne.wait_for("/login").text
        daphne.wait_for("/readyz")
        # The provider of the first process is gone: what matters is that the node answers.
        assert daphne.ask(key).status_code == httpx.codes.BAD_GATEWAY
        assert daphne.ask("cg_live_" + "A" * 26).status_code == httpx.codes.UNAUTHORIZED
