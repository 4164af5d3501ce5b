"""python -m dataplane.simulator (00-start-here.md 3)."""

from __future__ import annotations

import asyncio
import base64
import sys

import aiohttp
import msgspec

from tests.dataplane.simulator.requests import ANTHROPIC, ASK


async def test_the_command_prints_its_address_and_shows_what_it_recorded(
    http: aiohttp.ClientSession,
) -> None:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "dataplane.simulator", "--port", "0", "--record"),
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    try:
        url = (await process.stdout.readline()).decode().split()[-1]
        for _ in range(2):
            async with http.post(f"{url}/v1/messages", json=ASK, headers=ANTHROPIC) as response:
                assert response.status == 200
        async with http.get(f"{url}/_sim/requests?since=1") as response:
            recorded = await response.json()
    finally:
        process.terminate()
        await process.communicate()

    assert recorded["next"] == 2
    assert [request["number"] for request in recorded["requests"]] == [1]
    body = base64.b64decode(recorded["requests"][0]["body_b64"])
    assert msgspec.json.decode(body) == ASK
    assert process.returncode == 0
