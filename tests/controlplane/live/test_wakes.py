"""Wake-ups cross processes over Redis, and carry nothing but themselves (04 §6.4)."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from channels.layers import channel_layers, get_channel_layer

from controlplane.live import wakes
from tests.controlplane.cli.processes import ROOT, Deployment
from tests.patience import PATIENCE_S

LAYERS = ("memory", "redis")
PUBSUB = {"BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer"}


@pytest.fixture(params=LAYERS)
def layer(request: pytest.FixtureRequest, settings: Any) -> Iterator[str]:
    """Each of the layers that settings may choose, as the default one."""
    config: dict[str, Any] = {"BACKEND": "channels.layers.InMemoryChannelLayer"}
    if request.param == "redis":
        config = {**PUBSUB, "CONFIG": {"hosts": [request.getfixturevalue("redis_url")]}}
    yield from use(settings, config, request.param)


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


async def test_a_process_is_woken_by_another_one(
    settings: Any, redis_url: str, tmp_path: Path
) -> None:
    listening = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.controlplane.live.listening",
        cwd=ROOT,
        env=Deployment(tmp_path).environment(HEADRACE_CHANNEL_REDIS=redis_url),
        stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    assert listening.stdout is not None
    try:
        async with asyncio.timeout(PATIENCE_S):
            assert await listening.stdout.readline() == b"listening\n"
            await wake_until(
                asyncio.ensure_future(listening.stdout.readline()), settings, redis_url
            )
    finally:
        listening.kill()
        await listening.wait()


async def wake_until(heard: asyncio.Future[bytes], settings: Any, url: str) -> None:
    config = {**PUBSUB, "CONFIG": {"hosts": [url]}}
    for _ in use(settings, config, "redis"):
        while not heard.done():  # one that comes before the group is joined reaches nobody
            await wakes.announce()
            await asyncio.sleep(0.05)
        await get_channel_layer().flush()  # type: ignore[union-attr]
    assert heard.result() == b"woken\n"


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
