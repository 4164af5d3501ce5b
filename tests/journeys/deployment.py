"""A deployment in processes of its own that can be stopped, killed and started again."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from tests.patience import PATIENCE_MS, PATIENCE_S, blocking_until
from tests.servers import free_port

ROOT = Path(__file__).resolve().parents[2]
EMAIL, PASSWORD = "admin@example.com", "a password for tests"
# Signs in `people` managers and says the keys of their sessions.
SESSIONS = """
import json
from django.conf import settings
from django.test import Client
from controlplane.accounts.members import set_member
from controlplane.accounts.models import User
from tests.patience import PATIENCE_S
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


class Deployment:
    """A gateway and a simulated provider behind it."""

    def __init__(self, folder: Path, document: Path | None = None, **more: str) -> None:
        """document: of the tenant. more: for the environment."""
        self.port, provider = free_port(), free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.folder = folder
        self._env = os.environ | {  # noqa: TID251  a child process needs all of it
            "HEADRACE_DATA_DIR": str(folder / "var"),
            "HEADRACE_BIND": f"127.0.0.1:{self.port}",
            "HEADRACE_ADMIN_EMAIL": EMAIL,
            "HEADRACE_ADMIN_PASSWORD": PASSWORD,
            # A busy machine may take longer than agents would be made to wait.
            "HEADRACE_STORE_COMMIT_TIMEOUT_MS": str(PATIENCE_MS),
            **more,
        }
        upstreams = [f"--upstream={d}=http://127.0.0.1:{provider}" for d in ("anthropic", "openai")]
        options = ["--json", f"--document={document}"] if document else ["--json"]
        made = json.loads(self._manage("bootstrap", "--tenant=orchid", *upstreams, *options))
        self.key: str = made["data_plane_key"]
        self._provider = self._start("-m", "dataplane.simulator", "--port", str(provider))
        self._gateway: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        assert self._gateway is not None
        return self._gateway.pid

    def start(self) -> None:
        self._gateway = self._start(
            "-m", "uvicorn", "controlplane.asgi:application", "--port", str(self.port)
        )
        wait_for(f"{self.url}/login", self._gateway, self.folder / "uvicorn.log")

    def end(self, how: signal.Signals = signal.SIGTERM) -> None:
        assert self._gateway is not None
        self._gateway.send_signal(how)
        self._gateway.wait(timeout=PATIENCE_S)
        self._gateway = None

    def close(self) -> None:
        if self._gateway is not None:
            self.end()
        self._provider.terminate()
        self._provider.wait(timeout=PATIENCE_S)

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
        printed = self._manage("shell", "-v", "0", "-c", SESSIONS.format(people=people))
        keys: list[str] = json.loads(printed.splitlines()[-1])
        return keys

    def _manage(self, *command: str) -> str:
        return subprocess.run(
            [sys.executable, "manage.py", *command],
            cwd=ROOT, env=self._env, check=True, capture_output=True, text=True,
        ).stdout  # fmt: skip

    def _start(self, *command: str) -> subprocess.Popen[bytes]:
        with (self.folder / f"{command[1]}.log").open("ab") as log:
            return subprocess.Popen(
                [sys.executable, *command], cwd=ROOT, env=self._env, stdout=log, stderr=log
            )


@contextmanager
def deployment(folder: Path, document: Path | None = None, **more: str) -> Iterator[Deployment]:
    made = Deployment(folder, document, **more)
    try:
        made.start()
        yield made
    finally:
        made.close()
