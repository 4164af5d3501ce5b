"""Sends a recording through a gateway, turn by turn, and notes what every answer says."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from http import HTTPStatus

import aiohttp
import msgspec

from dataplane.core.prices.money import PriceCard, Rates, Sale, cost
from dataplane.core.wire.usage import Usage
from dataplane.replay.answers import count_in, error_of, usage_of
from dataplane.replay.bodies import Style, body
from dataplane.replay.outcome import Run, TurnOutcome, changed, counters
from dataplane.replay.recording import RecordedTurn, Recording

PATHS = {"anthropic": "/v1/messages", "openai": "/v1/chat/completions"}
CONNECT_S = 5
SETTLING_S = 0.05
SETTLING_LOOKS = 20
Note = Callable[[TurnOutcome], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Where to send. key: of the tenant, "" where no gateway stands in between.

    bypass: ask the gateway to forward everything as it is.
    """

    url: str
    key: str
    provider_key: str
    session: str
    bypass: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """When to send. compressed_from: seconds since the epoch at which the first turn says it was
    sent, later turns following in recorded time; None names no times. waits: for the recorded
    gaps, divided by speed; what names no times always does.
    """

    compressed_from: float | None = None
    speed: float = 1.0
    waits: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """One recording, how it is written, where it goes and when."""

    recording: Recording
    style: Style
    target: Target
    pace: Pace

    async def run(self, label: str, note: Note) -> Run:
        """Send every turn in order; note sees each outcome as it comes.

        aiohttp.ClientError when nobody listens at the address, or hangs up.
        """
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_S)
        outcomes: list[TurnOutcome] = []
        async with aiohttp.ClientSession(timeout=timeout) as http:
            before = await self._stats(http)
            async for number, turn in self._due():
                outcomes.append(await self._send(http, number, turn))
                note(outcomes[-1])
            after = None if before is None else await self._settled_stats(http)
        return Run(
            label=label,
            session=self.target.session,
            outcomes=tuple(outcomes),
            stats=None if before is None or after is None else changed(before, after),
        )

    async def _due(self) -> AsyncIterator[tuple[int, RecordedTurn]]:
        """Each turn, numbered from 1, when it is time to send it."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        for number, turn in enumerate(self.recording.turns, start=1):
            if self.pace.waits or self.pace.compressed_from is None:
                await asyncio.sleep(began + turn.at / self.pace.speed - loop.time())
            yield number, turn

    async def _send(
        self, http: aiohttp.ClientSession, number: int, turn: RecordedTurn
    ) -> TurnOutcome:
        dialect = self.style.dialect
        sent = body(self.recording, turn.upto, self.style)
        url = self.target.url.rstrip("/") + PATHS[dialect]
        async with http.post(url, data=sent, headers=self._headers(turn)) as answer:
            said = await answer.read()
            succeeded = answer.status == HTTPStatus.OK
            usage = usage_of(said, dialect, answer.content_type) if succeeded else None
            return TurnOutcome(
                turn=number,
                messages=turn.upto,
                at=turn.at,
                status=answer.status,
                before=count_in(answer.headers, "x-context-guru-tokens-before"),
                after=count_in(answer.headers, "x-context-guru-tokens-after"),
                usage=usage,
                usd=cost(usage, rates(self.style.model, usage)),
                error="" if succeeded else error_of(said),
            )

    def _headers(self, turn: RecordedTurn) -> dict[str, str]:
        target = self.target
        headers = {
            "content-type": "application/json",
            "x-context-guru-session": target.session,
            **tenant_headers(target),
        }
        if self.style.dialect == "anthropic":
            headers |= {"x-api-key": target.provider_key, "anthropic-version": "2023-06-01"}
        else:
            headers["authorization"] = f"Bearer {target.provider_key}"
        if target.bypass:
            headers["x-context-guru-bypass"] = "true"
        if self.pace.compressed_from is not None:
            headers["x-headrace-now"] = f"{self.pace.compressed_from + turn.at:.3f}"
        return headers

    async def _settled_stats(self, http: aiohttp.ClientSession) -> dict[str, int] | None:
        """The counters once they stand still: a gateway counts a request after its last byte."""
        counted = await self._stats(http)
        for _ in range(SETTLING_LOOKS):
            await asyncio.sleep(SETTLING_S)
            earlier, counted = counted, await self._stats(http)
            if counted == earlier:
                break
        return counted

    async def _stats(self, http: aiohttp.ClientSession) -> dict[str, int] | None:
        """The gateway's counters; None where it has none or does not show them."""
        url = self.target.url.rstrip("/") + "/stats"
        async with http.get(url, headers=tenant_headers(self.target)) as answer:
            if answer.status != HTTPStatus.OK:
                return None
            try:
                return counters(msgspec.json.decode(await answer.read()))
            except msgspec.DecodeError:
                return None


def tenant_headers(target: Target) -> dict[str, str]:
    return {"x-context-guru-token": target.key} if target.key else {}


def rates(model: str, usage: Usage | None) -> Rates | None:
    """As delivered, now; None for a model that nobody lists."""
    sale = Sale(at=time.time(), prompt=usage.prompt if usage else 0)
    return PriceCard({}).rates(model, sale)
