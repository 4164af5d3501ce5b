"""Where a provider's name may lead when the gateway connects (04 §8.6)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from aiohttp.abc import AbstractResolver, ResolveResult

from dataplane.adapters.outward.resolving import AddressRefusedError, CheckedResolver
from dataplane.adapters.outward.upstream import UpstreamClient, UpstreamError
from dataplane.settings import Settings
from dataplane.simulator import Simulator
from tests.dataplane.gateway import gateway, tenants
from tests.dataplane.gateway_cases.served import AGENT, with_output
from tests.patience import PATIENCE_S


class Answers(AbstractResolver):
    """A name server that gives these answers, one a question, the last one for ever."""

    def __init__(self, *answers: Sequence[str]) -> None:
        self._answers = list(answers)

    async def resolve(self, host: str, port: int = 0, family: int = 0) -> list[ResolveResult]:
        found = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        return [
            ResolveResult(hostname=host, host=text, port=port, family=2, proto=0, flags=0)
            for text in found
        ]

    async def close(self) -> None:
        pass


@pytest.mark.parametrize(
    ("facts", "status", "error"),
    [({}, 502, "upstream_address_refused"), ({"allow_private": True}, 200, None)],
    ids=["not allowed", "allowed by a manager"],
)
async def test_a_name_that_leads_into_this_machine_is_refused_at_connect_unless_allowed(
    tmp_path: Path,
    simulator: Simulator,
    facts: dict[str, bool],
    status: int,
    error: str | None,
) -> None:
    by_name = f"http://localhost:{urlsplit(simulator.url).port}"
    async with (
        gateway(tmp_path, tenants(), by_name, upstream=facts) as running,
        httpx.AsyncClient(trust_env=False) as http,
    ):
        answer = await http.post(
            f"{running.url}/v1/messages", content=with_output("text"), headers=AGENT
        )

    assert (answer.status_code, answer.headers.get("x-cg-error")) == (status, error)
    assert "127.0.0.1" not in answer.text
    assert bool(simulator.requests) == (error is None)


async def test_a_name_that_moves_into_our_network_is_refused_at_the_next_connection(
    caplog: pytest.LogCaptureFixture,
) -> None:
    rebinding = Answers(["8.8.8.8"], ["8.8.8.8", "169.254.169.254"])
    resolver = CheckedResolver(lambda _host: True, rebinding)

    assert [found["host"] for found in await resolver.resolve("api.example")] == ["8.8.8.8"]
    with caplog.at_level(logging.WARNING), pytest.raises(AddressRefusedError) as refused:
        await resolver.resolve("api.example")

    assert refused.value.rule == "cloud metadata"
    assert "cg.upstream_address_refused host=api.example rule=cloud metadata" in caplog.text


async def test_the_connection_goes_to_the_address_that_was_checked(
    tmp_path: Path, simulator: Simulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Asked again, the name would lead elsewhere; nobody asks again."""
    names = Answers(["127.0.0.1"], ["203.0.113.9"])
    monkeypatch.setattr("dataplane.adapters.outward.resolving.ThreadedResolver", lambda: names)
    client = UpstreamClient(Settings(tmp_path), lambda host: host == "api.example")
    await client.start()
    url = f"http://api.example:{urlsplit(simulator.url).port}/v1/messages"

    try:
        answer = await client.send("POST", url, [], with_output("text"))
        answer.close()
    finally:
        await client.close()

    (sent,) = simulator.requests
    hosts = [value for name, value in sent.headers if name.lower() == b"host"]
    assert [host.partition(b":")[0] for host in hosts] == [b"api.example"]


class Silent(Answers):
    """A name server that never answers."""

    async def resolve(self, host: str, port: int = 0, family: int = 0) -> list[ResolveResult]:
        await asyncio.Event().wait()
        raise AssertionError("the event is never set")


async def test_a_name_server_that_is_silent_is_waited_for_no_longer_than_a_connection(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dataplane.adapters.outward.resolving.ThreadedResolver", Silent)
    client = UpstreamClient(Settings(tmp_path, connect_timeout_s=0.2, first_byte_timeout_s=600))
    await client.start()

    try:
        async with asyncio.timeout(PATIENCE_S):
            with pytest.raises(UpstreamError) as given_up:
                await client.send("POST", "https://api.example/v1/messages", [], b"{}")
    finally:
        await client.close()

    assert given_up.value.name == "upstream_timeout"


async def test_what_is_refused_is_not_tried_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = Answers(["10.0.0.1"], ["127.0.0.1"])
    monkeypatch.setattr("dataplane.adapters.outward.resolving.ThreadedResolver", lambda: names)
    client = UpstreamClient(Settings(tmp_path))
    await client.start()

    try:
        with pytest.raises(UpstreamError) as refused:
            await client.send("POST", "https://api.example/v1/messages", [], b"{}")
    finally:
        await client.close()

    assert refused.value.name == "upstream_address_refused"
    assert str(refused.value) == "the name leads to a private address"
