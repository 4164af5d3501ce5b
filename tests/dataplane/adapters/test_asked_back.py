"""What one session asked back costs the others (00-start-here.md 2 (row 32))."""

from __future__ import annotations

import pytest

from dataplane.adapters.stores import MemoryStore
from dataplane.adapters.stores.originals import Store
from dataplane.core.config.recovery_keys import Recovery
from dataplane.core.effects import Reach
from dataplane.core.text import marker
from tests.dataplane.adapters.agents import Agent, plan_of
from tests.dataplane.adapters.stores.builders import LIMITS

FILES = [
    "\n".join(f"{name} {n} holds {n * n}" for n in range(80))
    for name in ("a", "b", "c", "d", "e", "f")
]
NEWEST = ["newest", "newer"]


def agent(store: Store, session: str, reach: Reach, *, principal: str = "alice") -> Agent:
    plan = plan_of("mask", recovery=Recovery(keep_verbatim=reach))
    made = Agent(store, plan, principal=principal, session=session)
    made.reads(*FILES, *NEWEST)
    return made


async def asks_everything_back(asking: Agent) -> None:
    for text in await asking.send():
        for marker_id in marker.find(text):
            assert await asking.expand(marker_id) in FILES


async def removed_from(session: Agent) -> int:
    return sum(bool(marker.find(text)) for text in await session.send())


@pytest.mark.parametrize(("reach", "removed"), [("session", 6), ("auto", 6), ("tenant", 0)])
async def test_six_expands_of_one_session_cost_a_new_one_what_the_document_says(
    reach: Reach, removed: int
) -> None:
    store = MemoryStore(LIMITS)
    first = agent(store, "first", reach)
    await asks_everything_back(first)

    assert await removed_from(first) == 0
    assert await removed_from(agent(store, "new", reach)) == removed


async def test_what_two_sessions_asked_back_is_left_alone_in_a_third() -> None:
    store = MemoryStore(LIMITS)
    await asks_everything_back(agent(store, "first", "auto"))
    await asks_everything_back(agent(store, "first", "auto", principal="bob"))

    assert await removed_from(agent(store, "third", "auto")) == 0
