"""What runs beside the requests ends when it is told to, whatever a library makes of it."""

from __future__ import annotations

import asyncio

import pytest

from dataplane.tasks import ended


async def deaf(times: int) -> None:
    """As asyncio.wait_for before Python 3.12: it loses cancellations that come with a result."""
    while True:
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            times -= 1
            if times < 0:
                raise


@pytest.mark.parametrize("times", [0, 1, 2])
async def test_a_task_that_loses_a_cancellation_is_cancelled_again(times: int) -> None:
    task = asyncio.get_running_loop().create_task(deaf(times))
    await asyncio.sleep(0)

    await ended(task)

    assert task.cancelled()


async def test_what_a_task_raised_is_dropped() -> None:
    async def broken() -> None:
        raise RuntimeError

    task = asyncio.get_running_loop().create_task(broken())
    await asyncio.sleep(0)

    await ended(task)

    assert task.done()


async def test_no_task_at_all_has_ended() -> None:
    await ended()
