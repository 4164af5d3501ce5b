"""Limits and interruptions end what waits inside them, and nothing else."""

from __future__ import annotations

import asyncio
import math

import pytest

from dataplane.adapters.waiting import Interruption, Limit, within

SHORT_S = 0.02


class WithdrawnError(Exception):
    """What the block was for is not wanted any more."""


async def forever(block: Interruption) -> None:
    """Wait inside the block for what does not come."""
    with block:
        await asyncio.Event().wait()


async def withdrawn(*, fails: bool = False) -> None:
    """Wait inside a block that is interrupted at once. fails: with an error of its own then."""
    with Interruption(WithdrawnError) as withdrawing:
        asyncio.get_running_loop().call_soon(withdrawing.come)
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            if fails:
                raise ValueError("own") from None
            raise


async def started(block: Interruption) -> asyncio.Task[None]:
    """A task that waits inside the block."""
    task = asyncio.get_running_loop().create_task(forever(block))
    await asyncio.sleep(0)
    return task


async def test_a_wait_that_takes_too_long_ends() -> None:
    with pytest.raises(TimeoutError):
        await forever(within(SHORT_S))


async def test_what_is_ready_in_time_is_left_alone() -> None:
    with within(SHORT_S):
        await asyncio.sleep(0)
    await asyncio.sleep(2 * SHORT_S)


async def test_no_limit_never_comes() -> None:
    with within(math.inf):
        await asyncio.sleep(SHORT_S)


async def test_limits_of_any_order_end_in_theirs() -> None:
    ended: list[int] = []

    async def bounded(times: int) -> None:
        with pytest.raises(TimeoutError):
            await forever(within(SHORT_S * times))
        ended.append(times)

    await asyncio.gather(*map(bounded, (8, 1, 4)))
    assert ended == [1, 4, 8]


async def test_the_timer_of_one_that_was_over_sooner_does_no_harm() -> None:
    with within(SHORT_S):
        pass
    with pytest.raises(TimeoutError):
        await forever(within(4 * SHORT_S))


async def test_a_limit_can_be_put_off() -> None:
    with within(SHORT_S) as patience:
        patience.set(asyncio.get_running_loop().time() + 60)
        await asyncio.sleep(3 * SHORT_S)


async def test_a_limit_can_be_brought_forward() -> None:
    patience: Limit = within(60)
    task = await started(patience)
    patience.set(asyncio.get_running_loop().time() + SHORT_S)
    with pytest.raises(TimeoutError):
        await task


async def test_a_cancellation_from_elsewhere_stays_one() -> None:
    task = await started(within(60))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_cancellation_that_comes_with_an_interruption_stays_one() -> None:
    withdrawing = Interruption(WithdrawnError)
    task = await started(withdrawing)
    withdrawing.come()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_an_inner_limit_ends_nothing_around_it() -> None:
    with within(60):
        with pytest.raises(TimeoutError):
            await forever(within(SHORT_S))
        await asyncio.sleep(0)


async def test_an_interruption_raises_what_it_is_about() -> None:
    with pytest.raises(WithdrawnError):
        await withdrawn()


async def test_an_error_inside_is_not_hidden_by_an_interruption() -> None:
    with pytest.raises(ValueError, match="own"):
        await withdrawn(fails=True)


def test_two_event_loops_share_no_timer() -> None:
    async def bounded() -> None:
        with pytest.raises(TimeoutError):
            await forever(within(SHORT_S))

    for _ in range(2):
        asyncio.run(bounded())
