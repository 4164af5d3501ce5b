"""Wake-ups: "look into the log now", never what is in it (04 §6.4).

Within a process a function is called. Between processes a message goes over the channel layer
where one is configured; it may be lost, because every hub looks by itself, too.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable

from channels.layers import BaseChannelLayer, get_channel_layer
from redis.exceptions import RedisError

log = logging.getLogger("headrace.live")

GROUP = "live"
REJOIN_S = 12 * 3600.0  # memberships lapse after a day
RETRY_S = 5.0

_lock = threading.Lock()
_waking: set[Callable[[], None]] = set()


def register(wake: Callable[[], None]) -> None:
    """wake() is called from any thread and must not block."""
    with _lock:
        _waking.add(wake)


def unregister(wake: Callable[[], None]) -> None:
    with _lock:
        _waking.discard(wake)


def wake() -> None:
    """Something was appended to the log and is committed. From any thread."""
    with _lock:
        waking = list(_waking)
    for each in waking:
        each()


async def announce() -> None:
    """Tell the other processes; the log itself stays where it is."""
    layer = get_channel_layer()
    if layer is not None:
        await layer.group_send(GROUP, {"type": "live.wake"})


async def listen(heard: Callable[[], None]) -> None:
    """For ever; nothing without a channel layer. One that fails is tried again."""
    layer = get_channel_layer()
    if layer is None:
        return
    while True:
        try:
            await _listen(layer, heard)
        except (OSError, RedisError):
            log.warning("live.layer_unreachable", exc_info=True)
            await asyncio.sleep(RETRY_S)


async def _listen(layer: BaseChannelLayer, heard: Callable[[], None]) -> None:
    channel = await layer.new_channel()
    while True:
        await layer.group_add(GROUP, channel)
        try:
            async with asyncio.timeout(REJOIN_S):
                while True:
                    await layer.receive(channel)
                    heard()
        except TimeoutError:
            continue
