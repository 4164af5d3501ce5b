"""Nothing is lost, nothing comes in another's name, and a slow reader costs little (04 §6.4)."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import AsyncIterator, Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.live.hub import MOST_PER_PERSON, MOST_REPLAYED, MOST_STREAMS, Hub, TooManyError
from controlplane.live.messages import Frame, event_stream, framed
from controlplane.live.subscriber import MOST_WAITING, Subscriber, View
from controlplane.release import identity
from tests.fakes.livelog import Builder, MemoryLog
from tests.patience import PATIENCE_S

TOPICS = frozenset({"component.mask"})
ALL = View(None, TOPICS)


def everybody(sids: frozenset[str]) -> frozenset[str]:
    return sids


@pytest.fixture
def log() -> MemoryLog:
    return MemoryLog()


@pytest.fixture
def builder() -> Builder:
    return Builder()


@pytest.fixture
async def hub(log: MemoryLog, builder: Builder) -> AsyncIterator[Hub]:
    made = Hub(log, builder, everybody, look_s=0.01)
    made.start()
    yield made
    await made.stop()


async def joined(
    hub: Hub, cursor: int | None = None, view: View = ALL, person: str = ""
) -> Subscriber:
    reader = Subscriber(view, person=person)
    await hub.join(reader, cursor)
    return reader


async def read_until(reader: Subscriber, done: Callable[[list[Frame]], bool]) -> list[Frame]:
    """Everything the reader was sent up to then."""
    found: list[Frame] = []
    async with asyncio.timeout(PATIENCE_S):
        while not done(found):
            frames, _ = await reader.take(PATIENCE_S)
            found += frames
    return found


def seqs(frames: list[Frame]) -> list[int]:
    return [frame.seq for frame in frames if frame.seq]


def kinds(frames: list[Frame]) -> list[str]:
    return [frame.type for frame in frames]


async def test_the_first_frame_says_where_the_log_stands(hub: Hub, log: MemoryLog) -> None:
    log.append("component.mask", key="a")
    reader = await joined(hub)

    [hello], head = await reader.take(PATIENCE_S)

    said = json.loads(hello.payload)
    assert (hello.type, said["seq"], said["oldest_seq"], head) == ("hello", 1, 1, 1)
    assert said["release"] == identity()
    assert said["topics"] == ["component.mask"]


async def test_what_is_appended_arrives_in_order_with_its_cursor(hub: Hub, log: MemoryLog) -> None:
    reader = await joined(hub)
    for n in range(5):
        log.append("component.mask", key=f"bucket {n}")

    found = await read_until(reader, lambda frames: len(seqs(frames)) == 5)

    assert seqs(found) == [1, 2, 3, 4, 5]


async def test_a_wake_up_brings_it_at_once_and_none_only_later(log: MemoryLog) -> None:
    hub = Hub(log, Builder(), everybody, look_s=3600)
    hub.start()
    reader = await joined(hub)
    await reader.take(PATIENCE_S)
    log.append("component.mask", key="a")

    assert (await reader.take(0.05))[0] == []
    hub.wake()
    assert seqs((await reader.take(PATIENCE_S))[0]) == [1]
    await hub.stop()


async def test_equal_views_are_built_once_for_all_their_readers(
    hub: Hub, log: MemoryLog, builder: Builder
) -> None:
    readers = [await joined(hub, person=str(n)) for n in range(50)]
    log.append("component.mask", key="a")

    received = [await read_until(reader, lambda found: bool(seqs(found))) for reader in readers]

    payloads = {id(frames[-1].payload) for frames in received}
    assert len(builder.asked) == 1
    assert len(payloads) == 1


async def test_a_reader_gets_neither_other_topics_nor_other_tenants(
    hub: Hub, log: MemoryLog
) -> None:
    reader = await joined(hub, view=View(frozenset({"ten_a"}), TOPICS))
    log.append("component.mask", key="1", tenant="ten_b")
    log.append("component.dedup", key="2", tenant="ten_a")
    log.append("component.mask", key="3", tenant="ten_a")

    assert seqs(await read_until(reader, lambda found: bool(seqs(found)))) == [3]


async def test_the_same_holds_for_what_is_replayed(hub: Hub, log: MemoryLog) -> None:
    for tenant in ("ten_b", "ten_a", "ten_b"):
        log.append("component.mask", key=tenant, tenant=tenant)
    reader = await joined(hub, cursor=0, view=View(frozenset({"ten_a"}), TOPICS))

    assert seqs((await reader.take(PATIENCE_S))[0]) == [2]


async def test_resuming_from_a_cursor_brings_what_came_meanwhile_and_nothing_twice(
    hub: Hub, log: MemoryLog
) -> None:
    for n in range(10):
        log.append("component.mask", key=f"bucket {n}")
    reader = await joined(hub, cursor=6)
    log.append("component.mask", key="bucket 10")

    assert seqs(await read_until(reader, lambda found: 11 in seqs(found))) == [7, 8, 9, 10, 11]


@pytest.mark.parametrize(
    ("cursor", "reason"),
    [
        pytest.param(3, "gap", id="older than the ring"),
        pytest.param(10_000, "gap", id="of a log that is gone"),
        pytest.param(-1, "gap", id="that is none"),
    ],
)
async def test_a_cursor_that_the_log_does_not_know_is_told_to_read_anew(
    cursor: int, reason: str
) -> None:
    log = MemoryLog(ring=5)
    for n in range(20):
        log.append("component.mask", key=str(n))
    hub = Hub(log, Builder(), everybody)
    reader = await joined(hub, cursor=cursor)

    frames, head = await reader.take(PATIENCE_S)

    assert kinds(frames) == ["resync"]
    assert json.loads(frames[0].payload) == {"reason": reason, "seq": 20}
    assert head == 20


async def test_readers_of_a_log_that_began_anew_read_their_pages_anew_and_go_on(
    hub: Hub, log: MemoryLog
) -> None:
    """As it does when somebody deleted the telemetry database under a running process."""
    for n in range(9):
        log.append("component.mask", key=str(n))
    reader = await joined(hub)
    log.forget_all()
    log.append("component.mask", key="the first of the new log")

    found = await read_until(reader, lambda frames: "resync" in kinds(frames))
    assert json.loads(found[-1].payload) == {"reason": "gap", "seq": 1}

    log.append("component.mask", key="the second")
    assert seqs(await read_until(reader, lambda frames: bool(seqs(frames)))) == [2]


async def test_what_could_not_be_built_once_arrives_with_the_next_look(log: MemoryLog) -> None:
    builder = Builder(fails=1)
    hub = Hub(log, builder, everybody, look_s=0.01)
    hub.start()
    reader = await joined(hub)

    log.append("component.mask", key="while the database was locked")

    assert seqs(await read_until(reader, lambda found: bool(seqs(found)))) == [1]
    await hub.stop()


async def test_a_message_that_cannot_be_built_ends_no_stream(log: MemoryLog) -> None:
    hub = Hub(log, Builder(fails=1, error=ValueError("a fault of ours")), everybody, look_s=0.01)
    hub.start()
    reader = await joined(hub)
    log.append("component.mask", key="which cannot be shown")

    found = await read_until(reader, lambda frames: "resync" in kinds(frames))
    assert json.loads(found[-1].payload) == {"reason": "gap", "seq": 1}

    log.append("component.mask", key="the next")
    assert seqs(await read_until(reader, lambda frames: bool(seqs(frames)))) == [2]
    await hub.stop()


async def test_a_reader_that_is_too_far_behind_reads_anew_instead_of_everything() -> None:
    log = MemoryLog()
    for n in range(MOST_REPLAYED + 1):
        log.append("component.mask", key=str(n))
    reader = await joined(Hub(log, Builder(), everybody), cursor=0)

    frames, _ = await reader.take(PATIENCE_S)

    assert [json.loads(frame.payload)["reason"] for frame in frames] == ["overflow"]


def test_a_slow_reader_keeps_only_the_newest_of_each_key() -> None:
    log, reader = MemoryLog(), Subscriber(ALL)
    for n in range(1000):
        log.append("component.mask", key=f"bucket {n % 3}")
    for message in log.since(0, 1000):
        reader.offer([framed(message)], message.seq)

    assert seqs(list(reader.waiting)) == [998, 999, 1000]


def test_a_reader_with_too_much_waiting_starts_anew_and_holds_one_frame() -> None:
    log, reader = MemoryLog(), Subscriber(ALL)
    for n in range(10 * MOST_WAITING):
        log.append("component.mask", key=f"bucket {n}")
    most = 0
    for message in log.since(0, 10 * MOST_WAITING):
        reader.offer([framed(message)], message.seq)
        most = max(most, len(reader.waiting))

    assert most <= MOST_WAITING
    assert "resync" in kinds(list(reader.waiting))


async def test_one_person_has_so_many_streams_and_no_more(hub: Hub) -> None:
    for _ in range(MOST_PER_PERSON):
        await joined(hub, person="usr_a")

    with pytest.raises(TooManyError):
        await joined(hub, person="usr_a")
    await joined(hub, person="usr_b")


async def test_a_process_has_so_many_streams_and_no_more(hub: Hub) -> None:
    readers = [await joined(hub, person=str(n)) for n in range(MOST_STREAMS)]

    with pytest.raises(TooManyError):
        await joined(hub, person="one more")
    hub.leave(readers[0])
    await joined(hub, person="one more")


async def test_saying_farewell_sends_everybody_away_and_lets_nobody_in(hub: Hub) -> None:
    reader = await joined(hub)

    hub.farewell()

    found = await read_until(reader, lambda frames: "bye" in kinds(frames))
    assert json.loads(found[-1].payload)["reason"] == "deploy"
    with pytest.raises(TooManyError):
        await joined(hub, person="late")


async def test_whoever_was_signed_out_is_sent_away(
    log: MemoryLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("controlplane.live.hub.SESSIONS_S", 0.01)
    hub = Hub(log, Builder(), lambda sids: sids - {"gone"}, look_s=0.01)
    hub.start()
    stays, goes = (Subscriber(ALL, person=s, session=s) for s in ("here", "gone"))
    await hub.join(stays, None)
    await hub.join(goes, None)

    found = await read_until(goes, lambda frames: "bye" in kinds(frames))

    assert json.loads(found[-1].payload)["reason"] == "signed_out"
    assert stays.leaving == ""
    await hub.stop()


async def test_reconnecting_at_a_thousand_random_points_loses_and_repeats_nothing(
    hub: Hub, log: MemoryLog
) -> None:
    """A-05: the newest of every bucket is known to the client in the end, as it was sent."""
    dice, cursor = random.Random(5), 0  # noqa: S311  a test's dice
    held: dict[tuple[str, str], int] = {}
    for _ in range(1000):
        for _ in range(dice.randrange(3)):
            log.append("component.mask", key=str(dice.randrange(20)))
        reader = await joined(hub, cursor=cursor)
        if dice.random() < 0.5:
            log.append("component.mask", key=str(dice.randrange(20)))
        frames, head = await reader.take(PATIENCE_S)
        hub.leave(reader)
        if dice.random() < 0.2:
            continue  # the connection broke before the frames arrived
        cursor = head
        for frame in frames:
            if frame.seq:
                assert frame.seq > held.get(frame.identity, 0)
                held[frame.identity] = frame.seq
    frames, _ = await (await joined(hub, cursor=cursor)).take(PATIENCE_S)
    held |= {frame.identity: frame.seq for frame in frames if frame.seq}

    newest = {(m.topic, m.key): m.seq for m in log.since(0, 10_000)}
    assert held == newest


@given(keys=st.lists(st.sampled_from("abcdef"), max_size=40), cuts=st.lists(st.integers(0, 40)))
def test_whatever_is_coalesced_the_newest_of_each_key_gets_through(
    keys: list[str], cuts: list[int]
) -> None:
    log, reader = MemoryLog(), Subscriber(ALL)
    held: dict[tuple[str, str], int] = {}
    for n, key in enumerate(keys):
        message = log.since(log.append("component.mask", key=key) - 1, 1)[0]
        reader.offer([framed(message)], message.seq)
        if n in cuts:
            held |= {frame.identity: frame.seq for frame in reader.drain()}
    held |= {frame.identity: frame.seq for frame in reader.drain()}

    assert held == {(m.topic, m.key): m.seq for m in log.since(0, 100)}


def test_only_the_last_frame_of_a_look_carries_the_cursor() -> None:
    log = MemoryLog()
    for key in "ab":
        log.append("component.mask", key=key)

    sent = event_stream([framed(message) for message in log.since(0, 2)], 2).decode()

    first, second, _ = sent.split("\n\n")
    assert first.startswith("event: bucket\ndata: {")
    assert second.startswith("id: 2\nevent: bucket\ndata: {")


@pytest.mark.parametrize("turns", range(5))
async def test_a_reader_that_is_given_up_while_something_waits_is_gone(turns: int) -> None:
    """asyncio.wait_for of Python 3.11 loses a cancellation that meets a result."""
    reader = Subscriber(View(None, frozenset({"overview"})))
    taking = asyncio.ensure_future(reader.take(60))
    await asyncio.sleep(0.01)
    reader.restart("overflow")
    for _ in range(turns):
        await asyncio.sleep(0)
    was_done = taking.done()
    taking.cancel()

    await asyncio.wait([taking])
    assert was_done or taking.cancelled()
