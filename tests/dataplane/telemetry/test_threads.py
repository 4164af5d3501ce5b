"""Other threads look at the counters while requests are counted: pages and alarms always do."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Iterator, Sized
from functools import partial
from pathlib import Path

import pytest

from dataplane.core.port.report import RunReport
from dataplane.core.record import Record
from dataplane.core.wire.usage import Usage
from dataplane.simulator import Simulator
from tests.dataplane.gateway import gateway, tenants
from tests.patience import until

REQUESTS = 200


@pytest.fixture
def hasty_threads() -> Iterator[None]:
    before = sys.getswitchinterval()
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("hasty_threads")
async def test_a_request_is_counted_whole_whoever_reads_the_counters_meanwhile(
    simulator: Simulator, tmp_path: Path
) -> None:
    async with gateway(tmp_path, tenants(), simulator.url) as served:
        sys.setswitchinterval(1e-6)
        node, ended, seen = served.node, threading.Event(), []

        def look() -> None:
            while not ended.wait(1e-4):
                seen.append(node.stats("ten_acme"))

        async with asyncio.TaskGroup() as group:
            for _ in range(2):
                group.create_task(asyncio.to_thread(look))
            for number in range(REQUESTS):
                node.parts.books.account(finished(number))
                if number % 8 == 0:
                    await until(partial(is_longer, seen, len(seen)), look_every_s=0)
            ended.set()
        said = node.stats("ten_acme")

    assert said["requests"] == REQUESTS
    assert said["cache_read_tokens"] == 7 * REQUESTS
    assert said["output_tokens"] == REQUESTS
    assert all(each["cache_read_tokens"] == 7 * each["requests"] for each in seen)


def is_longer(seen: Sized, before: int) -> bool:
    return len(seen) > before


def finished(number: int) -> Record:
    return Record(
        f"r{number}",
        "ten_acme",
        "messages",
        "anthropic",
        float(number),
        status=200,
        report=RunReport(0, 0),
        usage=Usage(cache_read=7, output=1),
    )
