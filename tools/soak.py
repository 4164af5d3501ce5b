"""`make soak`: steady load at half of what the gateway can carry, watched for leaks.

It finds the maximum rate first, then holds half of it, with streams, recoveries, disconnects and
refused keys among the requests, and samples memory, descriptors, tasks and errors. Exit code 1
when memory grew by more than 5 % over the second half, something leaked, or a request failed.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import random
import statistics
import sys
import time
from dataclasses import dataclass, field

import aiohttp

from dataplane.adapters.outward.upstream import KEEP_ALIVE_S
from tools.bench import bodies, load
from tools.bench.scenarios import KEY, Bench, headers, servers

WARM_UP_SHARE = 0.5  # of the samples; caches fill in the first half
FLAT_WITHIN = 0.05
SAMPLE_S = 5
CATCH_UP_S = 0.25
IDLE_S = 2 * KEEP_ALIVE_S + 5  # the pool looks once per such time, so one may stay for two


@dataclass
class Sample:
    """One look at the process."""

    at_s: float
    rss_mib: float
    descriptors: int
    tasks: int


@dataclass
class Soak:
    """What happened so far."""

    sent: int = 0
    missed: int = 0
    failed: list[str] = field(default_factory=list)
    failed_at_s: list[float] = field(default_factory=list)
    samples: list[Sample] = field(default_factory=list)
    started: float = field(default_factory=time.perf_counter)

    def fail(self, how: str) -> None:
        self.failed.append(how)
        self.failed_at_s.append(time.perf_counter() - self.started)


def agent_requests(count: int) -> list[tuple[bytes, dict[str, str]]]:
    """Turns of many sessions: growing transcripts, some streamed, some that recover an original."""
    chooser = random.Random(11)  # noqa: S311  reproducible, not secret
    found = []
    for number in range(count):
        turns, session = chooser.randint(1, 12), number % 200
        body = bodies.agent_body(
            outputs=turns, size=3000, seed=session, streams=chooser.random() < 0.5
        )
        own = headers(f"soak-{session}")
        if turns > 3 and chooser.random() < 0.2:
            body = bodies.agent_body(outputs=turns, size=3000, seed=10_000 + number)
            own = {**headers(f"soak-own-{number}"), "x-sim-script": _recovering(number)}
        found.append((body, own))
    return found


def again(request: tuple[bytes, dict[str, str]]) -> tuple[bytes, dict[str, str]]:
    """The same request later: what was expanded stays verbatim, so the model invents an id."""
    body, own = request
    if "x-sim-script" not in own:
        return request
    return body, {**own, "x-sim-script": _recovering(0, "0123456789abcdef")}


def _recovering(number: int, marker_id: str = "") -> str:
    wanted = {"id": marker_id or {"$marker": 0}}
    call = {"type": "tool_use", "name": "context_guru_expand", "input": wanted}
    first = {"content": [{"type": "text", "text": "Let me look."}, call]}
    rounds = [{**first, "stop_reason": "tool_use"}, {"content": "Found it."}]
    return json.dumps({"id": f"soak-{number}-{time.time_ns()}", "rounds": rounds})


async def maximum_rate(url: str, requests: list[tuple[bytes, dict[str, str]]]) -> float:
    """Requests per second with sixteen side by side."""
    plain = [(body, own) for body, own in requests if "x-sim-script" not in own][:600]
    started = time.perf_counter()
    await load.requests(url, plain, side_by_side=16)
    return len(plain) / (time.perf_counter() - started)


async def one(
    client: aiohttp.ClientSession, soak: Soak, url: str, request: tuple[bytes, dict[str, str]]
) -> None:
    body, own = request
    chance = random.random()  # noqa: S311  which request goes wrong is of no consequence
    if chance < 0.01:
        own = {**own, "x-context-guru-token": KEY[:-1] + "A"}
    try:
        async with client.post(url, data=body, headers=own) as answer:
            if chance > 0.98:
                return  # the client goes away
            said = await answer.read()
            # A script that names a marker fails where nothing was removed; that is no fault.
            expected = 401 if chance < 0.01 else 200
            if answer.status not in {expected, 429} and b"simulator_script" not in said:
                soak.fail(f"{answer.status} {said[:60]!r}")
    except aiohttp.ClientError as error:
        soak.fail(type(error).__name__)


async def hold(bench: Bench, soak: Soak, *, rate: float, seconds: float) -> None:
    """The load itself, evenly spaced. What is missed while this process is held up stays out: sent
    at once, it would be a burst and no longer half of the maximum.
    """
    url = bench.shaping.url + "/v1/messages"
    requests = agent_requests(4000)
    started = time.perf_counter()
    async with load.session() as client, asyncio.TaskGroup() as group:
        while (passed := time.perf_counter() - started) < seconds:
            soak.missed = max(soak.missed, int((passed - CATCH_UP_S) * rate) - soak.sent)
            while soak.sent + soak.missed < passed * rate:
                request = requests[soak.sent % len(requests)]
                if soak.sent >= len(requests):
                    request = again(request)
                group.create_task(one(client, soak, url, request))
                soak.sent += 1
            await asyncio.sleep(0.005)


async def watch(bench: Bench, soak: Soak) -> None:
    started = time.perf_counter()
    async with load.session() as client:
        while True:
            async with client.get(bench.shaping.url + "/stats") as answer:
                tasks = (await answer.json())["tasks"]
            process = bench.shaping.process
            soak.samples.append(
                Sample(
                    time.perf_counter() - started,
                    bench.shaping.rss_mib(),
                    process.num_fds(),
                    tasks,
                )
            )
            await asyncio.sleep(SAMPLE_S)


def verdict(soak: Soak, at_rest: Sample) -> list[str]:
    """What is wrong; empty when nothing is."""
    later = soak.samples[int(len(soak.samples) * WARM_UP_SHARE) :]
    third = max(1, len(later) // 3)
    first = statistics.median(sample.rss_mib for sample in later[:third])
    last = statistics.median(sample.rss_mib for sample in later[-third:])
    found = []
    if at := soak.failed_at_s:
        what = sorted(set(soak.failed))[:5]
        found.append(f"{len(at)} failed between {at[0]:.0f} and {at[-1]:.0f} s: {what}")
    if last > first * (1 + FLAT_WITHIN):
        found.append(f"memory grew from {first:.0f} to {last:.0f} MiB")
    end = soak.samples[-1]
    if end.descriptors > at_rest.descriptors + 20:
        found.append(f"descriptors: {at_rest.descriptors} at rest, {end.descriptors} at the end")
    if end.tasks > at_rest.tasks + 5:
        found.append(f"tasks: {at_rest.tasks} at rest, {end.tasks} at the end")
    return found


async def run(seconds: float) -> int:
    soak = Soak()
    with servers() as bench:
        url = bench.shaping.url + "/v1/messages"
        best = await maximum_rate(url, agent_requests(1200))
        async with asyncio.TaskGroup() as group:
            watching = group.create_task(watch(bench, soak))
            await asyncio.sleep(SAMPLE_S)
            at_rest = soak.samples[0]
            await hold(bench, soak, rate=best / 2, seconds=seconds)
            await asyncio.sleep(IDLE_S)
            watching.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await watching
    return report(soak, at_rest, best, seconds)


def report(soak: Soak, at_rest: Sample, best: float, seconds: float) -> int:
    wrong = verdict(soak, at_rest)
    end = soak.samples[-1]
    middle = soak.samples[len(soak.samples) // 2]
    sys.stdout.write(
        f"{soak.sent} requests in {seconds:.0f} s, {best / 2:.0f} per second of {best:.0f}"
        f" ({soak.missed} not sent)\n"
        f"memory {at_rest.rss_mib:.0f} MiB at rest, {middle.rss_mib:.0f} half-way,"
        f" {end.rss_mib:.0f} at the end\n"
        f"descriptors {at_rest.descriptors}, then {end.descriptors};"
        f" tasks {at_rest.tasks}, then {end.tasks}\n"
    )
    sys.stdout.write("".join(f"WRONG: {each}\n" for each in wrong) or "nothing leaked or failed\n")
    return 1 if wrong else 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="make soak", description=__doc__)
    parser.add_argument("--seconds", type=float, default=1200)
    return asyncio.run(run(parser.parse_args().seconds))


if __name__ == "__main__":
    sys.exit(main())
