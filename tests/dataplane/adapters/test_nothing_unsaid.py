"""Never a byte that was not said: what stands for a text is that very text's own.

Agents read, re-indent and read again; they cut, drop, rewind and fork. Whatever leaves changed
opens to exactly what was said there, and shows no line that was not in it.
Source: 00-start-here.md 2 (row 23).
"""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from dataplane.adapters.stores import MemoryStore, SqliteStore
from dataplane.adapters.stores.originals import Store
from dataplane.core.text import marker
from tests.dataplane.adapters.agents import Agent, plan_of
from tests.dataplane.adapters.stores.builders import LIMITS
from tests.patience import PATIENCE_S

PLAN = plan_of("dedup", "mask", "collapse")
COLLAPSE = plan_of("collapse")
NARROW = "\n".join(f"  row {n} = value({n * n})" for n in range(30))
WIDE = NARROW.replace("  row", "\t\trow")
ENDED = NARROW.replace("\n", "\r\n")
OTHER = "\n".join(f"unrelated {n}" for n in range(40))


@pytest.fixture(params=["mask and collapse", "collapse"])
def agent(request: pytest.FixtureRequest) -> Agent:
    return Agent(MemoryStore(LIMITS), COLLAPSE if request.param == "collapse" else PLAN)


def opened(sent: list[str]) -> list[str]:
    """The marker of each output, "" where it went as it was."""
    return [next(iter(marker.find(text)), "") for text in sent]


async def test_a_file_that_was_read_re_indented_and_read_again(agent: Agent) -> None:
    agent.reads(NARROW)
    await agent.send()
    agent.reads(WIDE)
    await agent.send()
    agent.reads(NARROW, OTHER, OTHER)

    narrow, wide, again, *_ = opened(await agent.send())

    assert narrow
    assert wide
    assert narrow != wide
    assert again in (narrow, "")


async def test_a_history_that_was_cut_before_the_first_copy(agent: Agent) -> None:
    agent.reads(NARROW, WIDE, ENDED, OTHER, OTHER)
    before = opened(await agent.send())

    del agent.said[0]

    assert opened(await agent.send())[:2] == before[1:3]


async def test_the_first_of_two_copies_was_dropped(agent: Agent) -> None:
    agent.reads(NARROW, OTHER, WIDE, OTHER, OTHER)
    first, _, second, *_ = opened(await agent.send())
    assert first != second

    del agent.said[0]

    assert opened(await agent.send())[1] == second


async def test_a_subagent_of_the_same_session_reads_the_formatted_file(agent: Agent) -> None:
    agent.reads(NARROW, OTHER, OTHER)
    (parent, *_) = opened(await agent.send())
    child = agent.fork("subagent")
    child.said = []
    child.reads(WIDE, OTHER, OTHER)

    (own, *_) = opened(await child.send())

    assert own
    assert own != parent


async def test_a_history_that_was_rewound_and_read_again(agent: Agent) -> None:
    agent.reads(OTHER, NARROW, OTHER, OTHER)
    before = opened(await agent.send())

    del agent.said[1:]
    await agent.send()
    agent.reads(ENDED, OTHER, OTHER)

    after = opened(await agent.send())
    assert after[1]
    assert after[1] != before[1]


@pytest.mark.parametrize("kept", [WIDE, ENDED])
async def test_the_original_of_a_text_is_kept_although_another_looks_like_it(
    agent: Agent, kept: str
) -> None:
    agent.reads(NARROW, OTHER, OTHER)
    await agent.send()
    agent.said = []
    await agent.send()
    agent.reads(kept, OTHER, OTHER)

    (marker_id, *_) = opened(await agent.send())

    assert await agent.expand(marker_id) == kept


def variants(lines: int, name: str) -> list[str]:
    """One file as editors and formatters leave it: the same but for white space."""
    rows = [f"{name} {n} holds {n * n}" for n in range(lines)]
    spaced = ["\n".join(f"{indent}{row}" for row in rows) for indent in ("", "  ", "\t")]
    return [
        *spaced,
        "\r\n".join(rows),
        "\n".join(rows) + "\n\n",
        "\n".join(f"{row} " for row in rows),
    ]


FILES = [*variants(24, "alpha"), *variants(60, "beta"), "short", ""]


class Editing(RuleBasedStateMachine):
    """One session whose agents edit, re-indent, cut, rewind, fork and ask back."""

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.agents = [Agent(self.opened_store(), PLAN)]
        self.seen: set[tuple[str, str]] = set()

    def opened_store(self) -> Store:
        return MemoryStore(LIMITS)

    @rule(which=st.integers(0, 3), texts=st.lists(st.sampled_from(FILES), min_size=1, max_size=4))
    def read(self, which: int, texts: list[str]) -> None:
        self.one(which).reads(*texts)

    @rule(which=st.integers(0, 3), place=st.integers(0, 9))
    def drop(self, which: int, place: int) -> None:
        """An agent shortens its history by one output."""
        del self.one(which).said[place : place + 1]

    @rule(which=st.integers(0, 3), length=st.integers(0, 9))
    def cut(self, which: int, length: int) -> None:
        """It forgets how it began."""
        said = self.one(which).said
        del said[: max(0, len(said) - length)]

    @rule(which=st.integers(0, 3), length=st.integers(0, 9))
    def rewind(self, which: int, length: int) -> None:
        del self.one(which).said[length:]

    @rule(which=st.integers(0, 3), place=st.integers(0, 9), text=st.sampled_from(FILES))
    def edit(self, which: int, place: int, text: str) -> None:
        """It puts another text into an output that it sent before."""
        said = self.one(which).said
        if place < len(said):
            said[place] = (said[place][0], text)

    @precondition(lambda self: len(self.agents) < 4)
    @rule(which=st.integers(0, 3))
    def fork(self, which: int) -> None:
        self.agents.append(self.one(which).fork(f"sub{len(self.agents)}"))

    @rule(which=st.integers(0, 3))
    def send(self, which: int) -> None:
        agent = self.one(which)
        sent = self.runner.run(agent.send())
        said = [text for _, text in agent.said]
        self.seen |= {(id_, said[n]) for n, id_ in enumerate(opened(sent)) if id_}

    @precondition(lambda self: self.seen)
    @rule(which=st.integers(0, 3), number=st.integers(0, 99))
    def expand(self, which: int, number: int) -> None:
        """Every marker that ever left opens to the text it stood for, whoever of them asks."""
        marker_id, text = sorted(self.seen)[number % len(self.seen)]
        assert self.runner.run(self.one(which).expand(marker_id)) == text

    def one(self, which: int) -> Agent:
        return self.agents[which % len(self.agents)]

    def teardown(self) -> None:
        self.runner.close()


class DurablyEditing(Editing):
    """The same with what a node keeps on disk."""

    def opened_store(self) -> Store:
        self.folder = tempfile.TemporaryDirectory()
        self.store = SqliteStore(Path(self.folder.name), limits=LIMITS, timeout_s=PATIENCE_S)
        self.runner.run(self.store.start())
        return self.store

    def teardown(self) -> None:
        self.runner.run(self.store.close())
        self.folder.cleanup()
        super().teardown()


_slowly = [HealthCheck.too_slow]
TestEditing = Editing.TestCase
TestEditing.settings = settings(
    max_examples=60, stateful_step_count=25, deadline=None, suppress_health_check=_slowly
)
TestDurablyEditing = DurablyEditing.TestCase
TestDurablyEditing.settings = settings(
    max_examples=8, stateful_step_count=25, deadline=None, suppress_health_check=_slowly
)
