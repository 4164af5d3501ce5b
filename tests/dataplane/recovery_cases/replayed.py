"""A recording sent through a running gateway, and what the provider saw of it, turn by turn."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import msgspec

from dataplane.core.text import marker
from dataplane.core.wire.spans import elements, members, whole
from dataplane.replay.bodies import Dialect, Style
from dataplane.replay.outcome import Run
from dataplane.replay.recording import Recording
from dataplane.replay.sender import Pace, Replay, Target
from dataplane.simulator import Simulator
from tests.dataplane.gateway import TA, gateway, tenants

STARTED_AT = 1_800_000_000.0
CERTAINLY_EXPIRED_S = 300 + 60  # the five minutes of the replayer's breakpoints, and the margin
SESSION = "replayed"
MODELS: dict[Dialect, str] = {"anthropic": "claude-sonnet-5", "openai": "gpt-5.6"}
MARK = b',"cache_control":{"type":"ephemeral"}'  # as the replayer spells its breakpoints


@dataclass(frozen=True)
class Position:
    """One text of a request that may be replaced: as the agent sent it, as the provider got it."""

    asked: str
    got: str

    @property
    def is_replaced(self) -> bool:
        return bool(marker.find(self.got))


@dataclass(frozen=True)
class Turn:
    """One turn at the provider. messages: the raw bytes of each, without the moving breakpoint.

    is_cold: the prompt cache has certainly expired since the turn before.
    """

    messages: list[bytes]
    positions: list[Position]
    is_cold: bool

    def changed_since(self, before: Turn) -> list[int]:
        """Indices of the earlier turn's messages that this turn sent in other bytes."""
        return [
            index
            for index, (then, now) in enumerate(zip(before.messages, self.messages, strict=False))
            if then != now
        ]


# Neither of these has a repr: asyncio.run makes one of what it returns, megabytes of it, twice.


@dataclass(frozen=True, repr=False)
class Around:
    """A run around the pipeline. asked: the body of each turn, byte for byte the agent's."""

    run: Run
    asked: list[bytes]


@dataclass(frozen=True, repr=False)
class Replayed:
    """A whole run. sources: original by marker id, as GET /expand gives it to the session."""

    turns: list[Turn]
    run: Run
    without: Run
    sources: dict[str, httpx.Response]

    @property
    def pairs(self) -> Iterator[tuple[Turn, Turn]]:
        """Every turn but the first, behind the one before it."""
        return itertools.pairwise(self.turns)

    @property
    def cold(self) -> list[int]:
        """Numbers (from 0) of the turns that found the cache expired."""
        return [number for number, turn in enumerate(self.turns) if turn.is_cold]

    def cache_read(self, number: int) -> int:
        usage = self.run.outcomes[number].usage
        assert usage is not None
        return usage.cache_read


async def replay_around(
    state_dir: Path, recording: Recording, document: str, dialect: Dialect
) -> Around:
    """Send every turn at its recorded time around the pipeline of this document."""
    async with _node(state_dir, document) as (url, simulator):
        run = await _send(url, recording, Style(dialect, MODELS[dialect]), bypass=True)
        return Around(run, [request.body for request in simulator.requests])


async def replay(
    state_dir: Path, recording: Recording, document: str, dialect: Dialect, around: Around
) -> Replayed:
    """Send every turn at its recorded time through the pipeline."""
    async with _node(state_dir, document) as (url, simulator):
        run = await _send(url, recording, Style(dialect, MODELS[dialect]), bypass=False)
        got = [request.body for request in simulator.requests]
        turns = list(_turns(recording, around.asked, got))
        ids = {id_ for turn in turns for p in turn.positions for id_ in marker.find(p.got)}
        sources = await _expanded(url, ids, STARTED_AT + recording.turns[-1].at)
    return Replayed(turns, run, around.run, sources)


@contextlib.asynccontextmanager
async def _node(state_dir: Path, document: str) -> AsyncIterator[tuple[str, Simulator]]:
    async with (
        Simulator() as simulator,
        gateway(state_dir, tenants(document), simulator.url, test_clock=True) as running,
    ):
        yield running.url, simulator


async def _send(url: str, recording: Recording, style: Style, *, bypass: bool) -> Run:
    target = Target(
        url=url,
        key=TA,
        provider_key=f"sk-{bypass}",
        session=SESSION + bypass * "-without",
        bypass=bypass,
    )
    pace = Pace(compressed_from=STARTED_AT)
    return await Replay(recording=recording, style=style, target=target, pace=pace).run(
        "without" if bypass else "with", lambda _: None
    )


async def _expanded(url: str, ids: set[str], at: float) -> dict[str, httpx.Response]:
    headers = {
        "x-context-guru-token": TA,
        "x-context-guru-session": SESSION,
        "x-headrace-now": str(at),
    }
    async with httpx.AsyncClient(base_url=url, headers=headers, trust_env=False) as http:
        return {id_: await http.get("/expand", params={"id": id_}) for id_ in sorted(ids)}


# ---- reading what the provider saw ----------------------------------------------------------


def _turns(recording: Recording, asked: list[bytes], got: list[bytes]) -> Iterator[Turn]:
    """The run around the pipeline shows, byte for byte, what the agent asked on each turn."""
    before: float | None = None
    for number, turn in enumerate(recording.turns):
        idle = 0.0 if before is None else turn.at - before
        before = turn.at
        pairs = zip(_texts(asked[number]), _texts(got[number]), strict=True)
        yield Turn(
            raw_messages(got[number]),
            [Position(*pair) for pair in pairs],
            is_cold=idle >= CERTAINLY_EXPIRED_S,
        )


def raw_messages(body: bytes) -> list[bytes]:
    """The bytes of each element of `messages`; the breakpoint of the newest one is taken off."""
    spans = elements(body, members(body, whole(body))["messages"].value)
    raw = [body[span.start : span.end] for span in spans]
    return [*raw[:-1], _without_mark(raw[-1])]


def _without_mark(newest: bytes) -> bytes:
    at = newest.rfind(MARK + b"}]}")
    return newest if at < 0 else newest[:at] + newest[at + len(MARK) :]


def _texts(body: bytes) -> Iterator[str]:
    """Every text of the conversation, in a fixed order."""
    for message in msgspec.json.decode(body)["messages"]:
        yield from _texts_of(message["content"])


def _texts_of(content: object) -> Iterator[str]:
    if isinstance(content, str):
        yield content
    for block in content if isinstance(content, list) else ():
        if block["type"] == "text":
            yield block["text"]
        elif block["type"] == "tool_result":
            yield from _texts_of(block["content"])
