"""make demo: give every page life.

Starts whatever is missing (the gateway, the simulated provider), makes a tenant of its own and
replays the repository's recorded sessions through the gateway, all at once and faster than they
were recorded; the long ones a second time as sessions that are resumed in the middle. A gateway
that it starts itself takes the time of a request from its recording, so that a provider's cache
expires in a recorded pause as it did then; one that ran before takes its own clock and keeps
running.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from ipaddress import ip_address
from pathlib import Path
from subprocess import PIPE
from typing import BinaryIO

from controlplane.settings.environment import Environment, from_process

ROOT = Path(__file__).resolve().parent.parent
RECORDINGS = ("sessions/*.json", "trajectories/*.traj", "claude-code/*.jsonl")
TENANT = "recorded"
DOCUMENT = ROOT / "tools/demo.yaml"
RESUMED, RESUMED_AT = "--from-turn", 20
CLOCK = {"HEADRACE_TEST_CLOCK": "1"}  # of a request, from its header; on loopback addresses only
PROVIDER = "http://127.0.0.1:9100"
START_S = 60.0
LOOK_S = 0.1
NOTHING: Mapping[str, str] = {}
Stream = BinaryIO | int | None


def main() -> int:
    parser = argparse.ArgumentParser(prog="make demo", description=__doc__)
    parser.add_argument("--speed", type=float, default=60, help="divide recorded gaps by this")
    speed = parser.parse_args().speed
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # ends what was started, too
    failed = 0
    try:
        with ExitStack() as stack:
            failed = show(stack, from_process(), speed)
    except KeyboardInterrupt:
        say("Stopped.")
    return 1 if failed else 0


def show(stack: ExitStack, environment: Environment, speed: float) -> int:
    """All of the demo; the number of recordings that failed. stack: ends what was started."""
    log = stack.enter_context((environment.data_dir / "demo.log").open("wb"))
    url = environment.base_url
    provider = ("-m", "dataplane.simulator", "--port", PROVIDER.rpartition(":")[2])
    stack.enter_context(running("The simulated provider", f"{PROVIDER}/v1/models", provider, log))
    clock = CLOCK if provides_clock(environment.host) else {}
    served = running("The gateway", f"{url}/healthz", ("manage.py", "serve"), log, clock)
    gateway = stack.enter_context(served)
    named = gateway is not None and bool(clock)
    if not named:
        say("It takes its own clock: pauses pass before a provider's cache can expire.")
    failed = replay(url, tenant_key(environment.data_dir / "demo.key"), speed, named=named)
    say(f"Look at {url}/")
    if gateway is not None:
        say(f"The gateway that this demo started serves on until Ctrl-C; its log is {log.name}")
        gateway.wait()
    return failed


def provides_clock(host: str) -> bool:
    return host == "localhost" or ip_address(host).is_loopback


@contextmanager
def running(
    what: str, url: str, arguments: Sequence[str], log: BinaryIO, more: Mapping[str, str] = NOTHING
) -> Iterator[subprocess.Popen[bytes] | None]:
    """What answers at url: None where something did already, else a child of ours.

    more: for the environment of the child.
    """
    if answers(url):
        say(f"{what} runs already.")
        yield None
        return
    say(f"{what} is started.")
    child = start(*arguments, stderr=log, more=more)
    try:
        wait_for(what, url, child)
        yield child
    finally:
        child.terminate()
        child.wait()


def wait_for(what: str, url: str, child: subprocess.Popen[bytes]) -> None:
    """SystemExit when the child ends or does not answer in time."""
    deadline = time.monotonic() + START_S
    while not answers(url):
        if child.poll() is not None or time.monotonic() > deadline:
            raise SystemExit(f"{what} did not start.")
        time.sleep(LOOK_S)


def answers(url: str) -> bool:
    """Whether something speaks HTTP there, whatever it says."""
    try:
        urllib.request.urlopen(url, timeout=2).close()  # noqa: S310  our own loopback address
    except urllib.error.HTTPError:
        return True
    except OSError:
        return False
    return True


def tenant_key(kept: Path) -> str:
    """The key of the demo's tenant: a new one the first time, later the one that was kept."""
    upstreams = [f"--upstream={dialect}={PROVIDER}" for dialect in ("anthropic", "openai")]
    command = [sys.executable, "manage.py", "bootstrap", f"--tenant={TENANT}", *upstreams]
    command += [f"--document={DOCUMENT}", "--json"]
    made = subprocess.run(command, cwd=ROOT, check=True, stdout=PIPE)  # noqa: S603
    key = json.loads(made.stdout)["data_plane_key"]
    if key is not None:
        kept.touch(mode=0o600)
        kept.write_text(key, encoding="utf-8")
    if not kept.exists():
        raise SystemExit(
            f"Tenant {TENANT} has a key that is not in {kept}: issue one on its page, put it there."
        )
    return kept.read_text(encoding="utf-8").strip()


def replay(url: str, key: str, speed: float, *, named: bool) -> int:
    """Send everything at the same time; the number of replays that failed."""
    found = list(replays())
    say(f"Replaying {len(found)} sessions at {speed:g} times their speed:")
    options = ["--url", url, "--key", key, "--speed", str(speed), *(["--named"] if named else [])]
    command = ["-m", "dataplane.replay", *options]
    children = [start(*command, *more, str(file), stdout=PIPE) for file, more in found]
    try:
        for (file, more), child in zip(found, children, strict=True):
            said, _ = child.communicate()
            resumed = " (resumed)" if RESUMED in more else ""
            say(f"  {file.name}{resumed}: {summary(said.decode())}")
    finally:
        for child in children:
            child.terminate()
    return sum(child.returncode != 0 for child in children)


def replays() -> Iterator[tuple[Path, tuple[str, ...]]]:
    """Each recording, and how it is sent."""
    for pattern in RECORDINGS:
        for path in sorted((ROOT / "tests/data").glob(pattern)):
            sent = ("--dialect", dialect(path))
            yield path, sent
            if path.suffix == ".json":
                yield path, (*sent, RESUMED, str(RESUMED_AT))


def summary(printed: str) -> str:
    """The line of a replay that states its totals."""
    return next((x for x in printed.splitlines() if x.startswith("with:")), "failed, see above")


def start(
    *arguments: str,
    stdout: Stream = None,
    stderr: Stream = None,
    more: Mapping[str, str] = NOTHING,
) -> subprocess.Popen[bytes]:
    """A Python child in the repository's folder; more: for its environment."""
    command = [sys.executable, *arguments]
    env = {**os.environ, **more}
    return subprocess.Popen(command, cwd=ROOT, stdout=stdout, stderr=stderr, env=env)  # noqa: S603


def dialect(recording: Path) -> str:
    """That of the agent which made it."""
    return "openai" if recording.suffix == ".traj" else "anthropic"


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
