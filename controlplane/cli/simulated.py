"""The simulated provider as a child process, for a deployment that has no provider yet."""

from __future__ import annotations

import ctypes
import fcntl
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit

from django.db import connections

from controlplane.accounts.models import TenantUpstream, Upstream
from controlplane.accounts.upstreams import UpstreamTerms, create_upstream, move_upstream
from controlplane.databases import DEFAULT, HeldByHost, Turn
from dataplane.files import private_file

HOST = "127.0.0.1"
DIALECTS = ("anthropic", "openai")
START_S = 10
STOP_S = 5
LOOK_AGAIN_S = 0.05
ASK_AGAIN_S = 1
PR_SET_PDEATHSIG = 1


class Place(Protocol):
    """Whose turn it is to run the provider of a deployment: the lock ends with its process."""

    is_ours: bool

    def take(self) -> bool:
        """False while another server runs it."""
        ...

    def wait(self) -> None:
        """Until the server that runs it has ended."""
        ...


def place_of(data_dir: Path) -> Place:
    """Servers with folders of their own may be one deployment, on one database."""
    if connections[DEFAULT].vendor == "postgresql":
        return OnServer()
    return InFolder(data_dir)


class InFolder:
    """Of the servers on one data directory."""

    def __init__(self, data_dir: Path) -> None:
        self._lock = private_file(data_dir / "simulated.lock").open("w")
        self.is_ours = False

    def take(self) -> bool:
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        self.is_ours = True
        return True

    def wait(self) -> None:
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        self.is_ours = True


class OnServer:
    """Of the servers of one host on one database: the loopback address is each host's own."""

    def __init__(self) -> None:
        self._turn = HeldByHost(Turn.SIMULATED, DEFAULT)
        self.is_ours = False

    def take(self) -> bool:
        self.is_ours = self._turn.take()
        return self.is_ours

    def wait(self) -> None:
        while not self.take():
            time.sleep(ASK_AGAIN_S)


def name_of(dialect: str) -> str:
    return f"simulated-{dialect}"


def is_chosen() -> bool:
    """Whether some tenant's requests go to it."""
    names = [name_of(dialect) for dialect in DIALECTS]
    return TenantUpstream.objects.filter(upstream__name__in=names).exists()


def ensure_upstreams(place: Place) -> int:
    """Its two upstreams, both at one loopback port: where it runs, or ran the last time, or a free
    one.
    """
    existing = {row.name: row for row in Upstream.objects.filter(name__startswith="simulated-")}
    known = next((urlsplit(row.base_url).port for row in existing.values()), None)
    if not place.take() and known is not None:
        return known
    port = free_port(known)
    url = f"http://{HOST}:{port}"
    for dialect in DIALECTS:
        upstream = existing.get(name_of(dialect))
        if upstream is None:
            terms = UpstreamTerms(allow_private=True)
            create_upstream(
                name=name_of(dialect), dialect=dialect, base_url=url, by=None, terms=terms
            )
        elif upstream.base_url != url:
            move_upstream(upstream, base_url=url, by=None)
    return port


def free_port(wanted: int | None) -> int:
    """The wanted port if nobody listens on it, else any."""
    for port in (wanted, 0):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((HOST, port or 0))
            except OSError:
                continue
            return int(probe.getsockname()[1])
    raise OSError("no free loopback port")


@contextmanager
def running(port: int, place: Place) -> Iterator[None]:
    """The provider for as long as the block lasts: run here, or taken over from the server that
    runs it when that one ends.
    """
    if place.is_ours:
        with _child(port):
            yield
        return
    over = threading.Event()
    successor = threading.Thread(target=_succeed, args=(port, place, over), daemon=True)
    successor.start()
    try:
        yield
    finally:
        over.set()
        if place.is_ours:
            successor.join()


def _succeed(port: int, place: Place, over: threading.Event) -> None:
    """On a thread of its own, which the child does not outlive."""
    place.wait()
    if not over.is_set():
        with _child(port):
            over.wait()


@contextmanager
def _child(port: int) -> Iterator[None]:
    """No longer than this process lives."""
    command = [sys.executable, "-m", "dataplane.simulator", "--port", str(port)]
    child = subprocess.Popen(  # noqa: S603  our own module; the hook calls prctl alone
        command, start_new_session=True, preexec_fn=end_with_parent
    )
    try:
        wait_until_open(port)
        yield
    finally:
        child.terminate()
        try:
            child.wait(STOP_S)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()


def wait_until_open(port: int) -> None:
    """The first request may come the moment we say that we are ready."""
    until = time.monotonic() + START_S
    while time.monotonic() < until:
        with socket.socket() as probe:
            if probe.connect_ex((HOST, port)) == 0:
                return
        time.sleep(LOOK_AGAIN_S)


def end_with_parent() -> None:
    """A killed server leaves no provider behind (Linux; elsewhere the next start moves on)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
