"""When pings are due (03 §7.3, 10.10 (138))."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from dataplane.core.keepalive.idle import Idle, from_request


def test_case_138_the_clock_starts_again_at_the_start_of_a_ping() -> None:
    idle = from_request(1000.0, 280, 2)

    assert (idle.due_at, idle.ends_at) == (1280.0, 1840.0)
    later = idle.pinged(1283.0, kept_alive=True)
    assert (later.due_at, later.ends_at) == (1563.0, 1840.0)
    assert later.is_alive(1582.9)
    assert not later.is_alive(1583.0)


def test_a_ping_that_failed_has_not_touched_the_copy() -> None:
    idle = from_request(1000.0, 280, 2).pinged(1280.0, kept_alive=False)

    assert idle.due_at == 1560.0
    assert not idle.is_alive(1300.0)


def test_a_skipped_ping_counts_as_none() -> None:
    idle = from_request(1000.0, 100, 2).skipped(1100.0)

    assert (idle.pings, idle.due_at, idle.is_alive(1200.0)) == (0, 1200.0, True)


def test_a_return_within_the_lifetime_owes_the_pings_nothing() -> None:
    idle = from_request(1000.0, 280, 2).pinged(1280.0, kept_alive=True)

    assert not idle.would_have_expired(1299.9)
    assert idle.would_have_expired(1300.0)


@given(
    idle_s=st.integers(1, 299),
    max_pings=st.integers(0, 20),
    lates=st.lists(st.floats(0, 50), max_size=40),
)
def test_a_span_ends_after_its_pings_and_before_its_deadline(
    idle_s: int, max_pings: int, lates: list[float]
) -> None:
    idle: Idle = from_request(0.0, idle_s, max_pings)
    for late in lates:
        if idle.is_spent:
            break
        idle = idle.pinged(idle.due_at + late, kept_alive=True)

    assert idle.pings <= max_pings
    assert idle.ends_at == (max_pings + 1) * idle_s
    if not idle.is_spent:
        assert idle.due_at < idle.ends_at
