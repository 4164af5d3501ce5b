"""A core is driven the same way on the loop and beside it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from dataplane.adapters.drive import drive, drive_apart
from dataplane.core.effects import Core, Effect, Found, Recall, Recalled, Scope

RECALL = Recall(Scope("t", "p", "s"), "91c9568c40c8d8d1", 0.0)
Driver = Callable[[Core[Any], Callable[[Effect], Awaitable[Any]]], Awaitable[Any]]


@pytest.fixture(params=["on the loop", "apart"])
def driver(request: pytest.FixtureRequest) -> Iterator[Driver]:
    if request.param == "on the loop":
        yield drive
        return
    with ThreadPoolExecutor(1, "shaping") as threads:
        yield lambda core, perform: drive_apart(core, perform, threads)


async def perform(effect: Effect) -> Recalled:
    assert effect is RECALL
    await asyncio.sleep(0)
    return Recalled(Found.RESOLVED, b"text")


async def test_each_effect_is_performed_and_its_answer_sent_back(driver: Driver) -> None:
    def core() -> Core[list[Recalled]]:
        return [(yield RECALL), (yield RECALL)]

    assert await driver(core(), perform) == [Recalled(Found.RESOLVED, b"text")] * 2


async def test_a_core_that_wants_nothing_just_ends(driver: Driver) -> None:
    def core() -> Core[int]:
        return 7
        yield RECALL

    assert await driver(core(), perform) == 7


async def test_what_a_core_raises_is_raised_to_its_driver(driver: Driver) -> None:
    def core() -> Core[None]:
        yield RECALL
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        await driver(core(), perform)


async def test_apart_the_cores_own_work_leaves_the_loop_free() -> None:
    ran_on: list[str] = []

    def core() -> Core[None]:
        ran_on.append(threading.current_thread().name)
        yield RECALL
        ran_on.append(threading.current_thread().name)

    with ThreadPoolExecutor(1, "shaping") as threads:
        await drive_apart(core(), perform, threads)

    assert ran_on == ["shaping_0", "shaping_0"]
