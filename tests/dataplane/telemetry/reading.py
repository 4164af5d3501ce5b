"""The metrics page as samples, and a recorded session sent through a node."""

from __future__ import annotations

import dataclasses
import functools

from prometheus_client.parser import text_string_to_metric_families

from dataplane.replay.bodies import Style
from dataplane.replay.importer import load
from dataplane.replay.outcome import Run
from dataplane.replay.sender import Pace, Replay, Target
from tests import house
from tests.dataplane.gateway import TA
from tests.dataplane.gateway_cases.served import Served

STARTED_AT = 1_800_000_000.0
Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]


@functools.lru_cache(maxsize=2)
def samples(page: str) -> Samples:
    """Sample name and labels to value. A test reads one page for hundreds of them."""
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(page)
        for sample in family.samples
    }


def value(page: str, name: str, **labels: str) -> float:
    return samples(page)[name, frozenset(labels.items())]


async def replay(served: Served, *, turns: int, key: str = TA, session: str = "replayed") -> Run:
    """The first turns of a recorded session, through the gateway, at their recorded times."""
    recording = load(house.ROOT / "tests/data/sessions/audit-1.json")
    first = dataclasses.replace(recording, turns=recording.turns[:turns])
    sending = Replay(
        recording=first,
        style=Style("anthropic", recording.model),
        target=Target(
            url=served.gateway.url, key=key, provider_key="sk-replay-agent", session=session
        ),
        pace=Pace(compressed_from=STARTED_AT),
    )
    run = await sending.run("with", lambda _: None)
    await served.settled()
    return run
