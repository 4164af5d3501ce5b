"""A deployment in processes of its own that can be stopped, killed and started again."""

from __future__ import annotations

import atexit
import copy
import functools
import json
import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from tests.databases import migrated
from tests.patience import PATIENCE_MS, PATIENCE_S, blocking_until
from tests.servers import free_port

ROOT = Path(__file__).resolve().parents[2]
EMAIL, PASSWORD = "admin@example.com", "a password for tests"
ADMIN = {"HEADRACE_ADMIN_EMAIL": EMAIL, "HEADRACE_ADMIN_PASSWORD": PASSWORD}
# Signs in `people` managers and says the keys of their sessions.
SESSIONS = """
import json
from django.conf import settings
from django.test import Client
from controlplane.accounts.members import set_member
from controlplane.accounts.models import User
keys = []
for n in range({people}):
    user = User.objects.create_user(f"reader{{n}}@example.com", None)
    set_member(user, None, "manager", None)
    client = Client()
    client.force_login(user)
    keys.append(client.cookies[settings.SESSION_COOKIE_NAME].value)
print(json.dumps(keys))
"""


def wait_for(url: str, server: subprocess.Popen[bytes], log: Path) -> None:
    """Until it answers there with what is no error; its log tells why it ended before."""

    def answers() -> bool:
        assert server.poll() is None, log.read_text()[-4000:]
        try:
            urllib.request.urlopen(url, timeout=PATIENCE_S).close()  # noqa: S310  our own
        except OSError:
            return False
        return True

    blocking_until(answers)


@functools.cache
def provider_url() -> str:
    """A simulated provider, which all deployments of this process share."""
    port = free_port()
    command = [sys.executable, "-m", "dataplane.simulator", "--port", str(port)]
    provider = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL)

    def stop() -> None:
        provider.terminate()
        provider.wait(timeout=PATIENCE_S)

    atexit.register(stop)

    def listens() -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) == 0

    blocking_until(listens)
    return f"http://127.0.0.1:{port}"


@functools.cache
def bootstrapped(document: Path | None, provider: str) -> tuple[Path, str]:
    """The data directory of a new deployment and the key of its tenant, whose document it is.

    It is copied for each of them: making one takes as long as starting it.
    """
    folder = Path(tempfile.mkdtemp(prefix="headrace-"))
    atexit.register(shutil.rmtree, folder)
    migrated(folder / "var")
    upstreams = [f"--upstream={dialect}={provider}" for dialect in ("anthropic", "openai")]
    options = ["--json", f"--document={document}"] if document else ["--json"]
    made = manage({**ADMIN, "HEADRACE_DATA_DIR": str(folder / "var")},
                  "bootstrap", "--tenant=orchid", *upstreams, *options)  # fmt: skip
    return folder / "var", json.loads(made)["data_plane_key"]


def manage(env: Mapping[str, str], *command: str) -> str:
    """What the command prints."""
    return subprocess.run(
        [sys.executable, "manage.py", *command],
        cwd=ROOT, env={**os.environ, **env},  # noqa: TID251  a child process needs all of it
        check=True, capture_output=True, text=True,
    ).stdout  # fmt: skip


class Deployment:
    """A gateway in front of a simulated provider."""

    def __init__(
        self, folder: Path, document: Path | None = None, *, provider: str = "", **more: str
    ) -> None:
        """document: of the tenant. provider: its address instead of the shared one's. more: for
        the environment.
        """
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.folder = folder
        self._env = {
            **ADMIN,
            "HEADRACE_DATA_DIR": str(folder / "var"),
            "HEADRACE_BIND": f"127.0.0.1:{self.port}",
            # A busy machine may take longer than agents would be made to wait.
            "HEADRACE_STORE_COMMIT_TIMEOUT_MS": str(PATIENCE_MS),
            **more,
        }
        made, self.key = bootstrapped(document, provider or provider_url())
        shutil.copytree(made, folder / "var")
        self._gateway: subprocess.Popen[bytes] | None = None

    @property
    def environment(self) -> dict[str, str]:
        return {**os.environ, **self._env}  # noqa: TID251  a child process needs all of it

    @property
    def pid(self) -> int:
        assert self._gateway is not None
        return self._gateway.pid

    def beside(self, **more: str) -> Deployment:
        """One more process on the same data, not started yet."""
        found = copy.copy(self)
        found.port, found._gateway = free_port(), None
        found.url = f"http://127.0.0.1:{found.port}"
        found._env = {**self._env, "HEADRACE_BIND": f"127.0.0.1:{found.port}", **more}
        return found

    def start(self) -> None:
        self.begin()
        self.wait("/login")

    def begin(self, application: str = "controlplane.asgi:application") -> None:
        """Without waiting until it answers."""
        self.run("-m", "uvicorn", application, "--port", str(self.port))

    def run(self, *command: str) -> None:
        with self.log.open("ab") as log:
            self._gateway = subprocess.Popen(
                [sys.executable, *command], cwd=ROOT, env=self.environment, stdout=log, stderr=log
            )

    def wait(self, path: str) -> None:
        assert self._gateway is not None
        wait_for(self.url + path, self._gateway, self.log)

    @property
    def log(self) -> Path:
        return self.folder / f"process-{self.port}.log"

    def end(self, how: signal.Signals = signal.SIGTERM) -> None:
        assert self._gateway is not None
        self._gateway.send_signal(how)
        self._gateway.wait(timeout=PATIENCE_S)
        self._gateway = None

    def close(self) -> None:
        if self._gateway is not None:
            self.end()

    def ask(
        self,
        text: str,
        model: str = "claude-sonnet-5",
        headers: Mapping[str, str] | None = None,
        **more: Any,
    ) -> None:
        """One request of an agent through the gateway; more: what else its body says."""
        body = {
            "model": model,
            "max_tokens": 64,
            "messages": [{"role": "user", "content": text}],
            **more,
        }
        request = urllib.request.Request(  # noqa: S310  our own address
            f"{self.url}/anthropic/v1/messages",
            json.dumps(body).encode(),
            {
                "x-context-guru-token": self.key,
                "x-api-key": "sk-test",
                "anthropic-version": "2023-06-01",
                "content-type": "application/json",
                **(headers or {}),
            },
        )
        with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:  # noqa: S310
            answer.read()

    def stats(self) -> dict[str, Any]:
        request = urllib.request.Request(  # noqa: S310  our own address
            f"{self.url}/stats", headers={"x-context-guru-token": self.key}
        )
        with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:  # noqa: S310
            found: dict[str, Any] = json.load(answer)
            return found

    def wait_for_reports(self, requests: int) -> None:
        """Until so many are stored: the node counts an answer at once and reports it later."""

        def are_stored() -> bool:
            file = self.folder / "var/telemetry.sqlite3"
            with closing(sqlite3.connect(file, timeout=PATIENCE_S)) as telemetry:
                rows = telemetry.execute("SELECT count(*) FROM telemetry_requestrecord").fetchone()
            return bool(rows[0] >= requests)

        blocking_until(are_stored)

    def sessions(self, people: int) -> list[str]:
        """Of so many people who are signed in."""
        printed = manage(self._env, "shell", "-v", "0", "-c", SESSIONS.format(people=people))
        keys: list[str] = json.loads(printed.splitlines()[-1])
        return keys


@contextmanager
def deployment(folder: Path, document: Path | None = None, **more: str) -> Iterator[Deployment]:
    made = Deployment(folder, document, **more)
    try:
        made.start()
        yield made
    finally:
        made.close()
