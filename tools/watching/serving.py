"""The deployment that is measured: made by its own commands, served by a process of its own."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from tools.bench.processes import ROOT, Server, free_port, running, uvicorn

COOKIE = "cg_session"
TENANTS = ("orchid", "basalt", "cobalt", "damson", "ember", "fennel", "garnet", "hazel")
SIGN_IN = """
import json
from django.conf import settings
from django.test import Client
from controlplane.accounts.members import set_member
from controlplane.accounts.models import User
keys = []
for n in range({people}):
    user, is_new = User.objects.get_or_create(email=f"reader{{n}}@example.com")
    if is_new:
        set_member(user, None, "manager", None)
    client = Client()
    client.force_login(user)
    keys.append(client.cookies[settings.SESSION_COOKIE_NAME].value)
print(json.dumps(keys))
"""


def manage(folder: Path, *command: str) -> str:
    """What the command printed."""
    return subprocess.run(  # noqa: S603  our own command
        [sys.executable, "manage.py", *command],
        cwd=ROOT,
        env={**os.environ, "HEADRACE_DATA_DIR": str(folder)},
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    ).stdout


def tenant(folder: Path, slug: str, provider: str) -> str:
    """Its data plane key; "" where it was there already."""
    upstream = f"anthropic={provider}"
    printed = manage(folder, "bootstrap", "--tenant", slug, "--upstream", upstream, "--json")
    key: str = json.loads(printed).get("data_plane_key") or ""
    return key


def cookies(folder: Path, people: int) -> list[str]:
    """Sessions of so many managers who are signed in."""
    printed = manage(folder, "shell", "-v", "0", "-c", SIGN_IN.format(people=people))
    keys: list[str] = json.loads(printed.splitlines()[-1])
    return keys


@contextlib.contextmanager
def served(folder: Path, port: int) -> Iterator[Server]:
    env = {"HEADRACE_DATA_DIR": str(folder), "HEADRACE_BIND": f"127.0.0.1:{port}"}
    application = uvicorn("controlplane.asgi:application", port)
    with running(application, port=port, path="/healthz", env=env) as server:
        yield server


@contextlib.contextmanager
def provider() -> Iterator[Server]:
    port = free_port()
    arguments = ["-m", "dataplane.simulator", "--port", str(port)]
    with running(arguments, port=port, path="/v1/models") as server:
        yield server
