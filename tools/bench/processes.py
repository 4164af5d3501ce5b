"""The servers of a benchmark, each a process of its own on a loopback port."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil

ROOT = Path(__file__).resolve().parents[2]
_START_S = 30


@dataclass
class Server:
    """A running process and its address."""

    url: str
    process: psutil.Process
    ready_after_s: float

    def cpu_s(self) -> float:
        """Processor seconds spent so far, user and system."""
        times = self.process.cpu_times()
        return float(times.user + times.system)

    def rss_mib(self) -> float:
        return float(self.process.memory_info().rss / (1 << 20))


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextlib.contextmanager
def running(
    arguments: list[str], *, port: int, path: str, env: dict[str, str] | None = None
) -> Iterator[Server]:
    """Start a server, wait until `path` answers at all, stop it at the end."""
    started = time.perf_counter()
    child = subprocess.Popen(  # noqa: S603  our own servers
        [sys.executable, *arguments],
        cwd=ROOT,
        env={**os.environ, "HEADRACE_LOG_LEVEL": "error", **(env or {})},
        stdout=subprocess.DEVNULL,
    )
    url = f"http://127.0.0.1:{port}"
    try:
        _wait(url + path, child)
        yield Server(url, psutil.Process(child.pid), time.perf_counter() - started)
    finally:
        child.terminate()
        child.wait(timeout=40)


def _wait(url: str, child: subprocess.Popen[bytes]) -> None:
    deadline = time.perf_counter() + _START_S
    while time.perf_counter() < deadline and child.poll() is None:
        try:
            urllib.request.urlopen(url, timeout=1)  # noqa: S310  loopback
        except urllib.error.HTTPError:
            return
        except OSError:
            time.sleep(0.01)
        else:
            return
    raise RuntimeError(f"{url} did not come up")


def uvicorn(application: str, port: int) -> list[str]:
    flags = ["--loop", "uvloop", "--http", "httptools", "--no-access-log"]
    return [
        "-m",
        "uvicorn",
        application,
        "--port",
        str(port),
        "--log-level",
        "error",
        "--backlog",
        "2048",
        *flags,
    ]
