"""Who has used their credential, and when for the first time (04 §5.13)."""

from __future__ import annotations

from dataplane.adapters.figures.arrivals import PRINCIPALS_MAX, Arrival, Arrivals
from dataplane.core.record import Record


def record(at: float, *, model: str = "m", session: str = "s", status: int = 200) -> Record:
    return Record("req", "ten", "messages", "anthropic", at, session, "", model, status)


def test_nobody_has_arrived_who_sent_nothing() -> None:
    assert Arrivals().of("prn_a") is None


def test_the_first_request_stays_the_first_and_the_last_one_moves() -> None:
    arrivals = Arrivals()

    arrivals.add("prn_a", record(10.0, session="one"))
    arrivals.add("prn_a", record(20.0, session="two", status=500))

    assert arrivals.of("prn_a") == Arrival(10.0, 20.0, "one", "m", 200)


def test_a_list_of_models_is_not_yet_the_first_session() -> None:
    arrivals = Arrivals()

    arrivals.add("prn_a", record(10.0, model="", session=""))
    arrivals.add("prn_a", record(20.0, session="two"))

    assert arrivals.of("prn_a") == Arrival(10.0, 20.0, "two", "m", 200)


def test_whoever_was_silent_the_longest_is_forgotten_first() -> None:
    arrivals = Arrivals()
    for number in range(PRINCIPALS_MAX):
        arrivals.add(f"prn_{number}", record(float(number)))

    arrivals.add("prn_0", record(1e6))
    arrivals.add("prn_new", record(1e6))

    assert arrivals.of("prn_0") is not None
    assert arrivals.of("prn_1") is None
    assert arrivals.of("prn_new") is not None
