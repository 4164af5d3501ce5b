"""The prompt cache's phase (03 §2.5, 01 §1.8)."""

from __future__ import annotations

import pytest

from dataplane.core.effects import PastTurn
from dataplane.core.session.lifetime import (
    UNKNOWN_LIFETIME,
    CacheMode,
    Lifetime,
    Phase,
    cached_through,
    idle_s,
    is_cache_aware,
    is_cold,
    lifetime_of,
    phase,
    was_compacted,
    was_reported,
)

FIVE_MINUTES = Lifetime(300)
ONE_HOUR = Lifetime(3600)
AT_LEAST_HALF_AN_HOUR = Lifetime(1800, is_minimum=True)


def past(messages: int, at: float = 1000.0) -> PastTurn:
    return PastTurn(messages=messages, at=at, ttl_s=300, offered=False)


@pytest.mark.parametrize(
    ("mode", "dialect", "has_breakpoints", "reported", "expected"),
    [
        pytest.param("auto", "anthropic", False, False, False, id="caches nothing unasked"),
        pytest.param("auto", "anthropic", True, False, True, id="asked"),
        pytest.param("auto", "anthropic", False, True, True, id="says that it caches"),
        pytest.param("auto", "openai", False, False, True, id="caches unasked"),
        pytest.param("auto", "bob", False, False, False, id="unknown"),
        pytest.param("auto", "bob", True, False, True, id="unknown, asked"),
        pytest.param("on", "anthropic", False, False, True, id="on"),
        pytest.param("off", "anthropic", True, True, False, id="off"),
    ],
)
def test_cache_protection_follows_mode_dialect_breakpoints_and_what_was_reported(
    mode: CacheMode,
    dialect: str,
    has_breakpoints: bool,  # noqa: FBT001
    reported: bool,  # noqa: FBT001
    expected: bool,  # noqa: FBT001
) -> None:
    aware = is_cache_aware(mode, dialect, has_breakpoints=has_breakpoints, reported=reported)

    assert aware is expected


@pytest.mark.parametrize(
    ("cached_at", "lifetime", "expected"),
    [
        pytest.param(0.0, FIVE_MINUTES, False, id="never"),
        pytest.param(1000.0, FIVE_MINUTES, True, id="within the lifetime"),
        pytest.param(641.0, FIVE_MINUTES, True, id="perhaps"),
        pytest.param(640.0, FIVE_MINUTES, False, id="certainly expired"),
        pytest.param(640.0, ONE_HOUR, True, id="a longer lifetime"),
        pytest.param(1.0, UNKNOWN_LIFETIME, True, id="a lifetime that nobody knows"),
    ],
)
def test_what_an_answer_reported_counts_until_it_has_certainly_expired(
    cached_at: float,
    lifetime: Lifetime,
    expected: bool,  # noqa: FBT001
) -> None:
    reported = was_reported(past(3)._replace(cached_at=cached_at), lifetime, now=1000.0)

    assert reported is expected


def test_of_a_first_turn_nothing_was_reported() -> None:
    assert not was_reported(None, FIVE_MINUTES, now=1000.0)


@pytest.mark.parametrize(
    ("dialect", "model", "ttls", "expected"),
    [
        pytest.param("anthropic", "claude-sonnet-5", [], FIVE_MINUTES, id="no breakpoint"),
        pytest.param("anthropic", "claude-sonnet-5", [None, "5m"], FIVE_MINUTES, id="5m"),
        pytest.param("anthropic", "claude-sonnet-5", [None, "1h", "5m"], ONE_HOUR, id="any 1h"),
        pytest.param("openai", "gpt-5.6", [], AT_LEAST_HALF_AN_HOUR, id="gpt-5.6"),
        pytest.param("openai", "openai/GPT-5.10-mini", [], AT_LEAST_HALF_AN_HOUR, id="gpt-5.10"),
        pytest.param("openai", "gpt-6-2027-01-31", [], AT_LEAST_HALF_AN_HOUR, id="gpt-6"),
        pytest.param("openai", "gpt-5.5", ["1h"], UNKNOWN_LIFETIME, id="gpt-5.5"),
        pytest.param("openai", "gpt-5-2025-08-07", [], UNKNOWN_LIFETIME, id="gpt-5, dated"),
        pytest.param("openai", "gpt-35-turbo", [], UNKNOWN_LIFETIME, id="gpt-3.5, undotted"),
        pytest.param("openai", "not-gpt-6", [], UNKNOWN_LIFETIME, id="another family"),
        pytest.param("bob", "claude-sonnet-5", ["1h"], UNKNOWN_LIFETIME, id="another dialect"),
    ],
)
def test_the_lifetime_that_a_request_promises(
    dialect: str, model: str, ttls: list[str | None], expected: Lifetime
) -> None:
    assert lifetime_of(dialect, model, ttls) == expected


@pytest.mark.parametrize(
    ("lifetime", "asked_for", "expected"),
    [
        pytest.param(FIVE_MINUTES, 3600, ONE_HOUR, id="03-case-54-next-turn-without-ttl"),
        pytest.param(ONE_HOUR, 300, ONE_HOUR, id="never narrowed"),
        pytest.param(FIVE_MINUTES, 0, FIVE_MINUTES, id="nothing was asked before"),
        pytest.param(UNKNOWN_LIFETIME, 3600, UNKNOWN_LIFETIME, id="unknown stays unknown"),
        pytest.param(
            AT_LEAST_HALF_AN_HOUR, 300, AT_LEAST_HALF_AN_HOUR, id="a minimum stays a minimum"
        ),
    ],
)
def test_the_longest_lifetime_ever_asked_for_wins(
    lifetime: Lifetime, asked_for: int, expected: Lifetime
) -> None:
    assert lifetime.widened(asked_for) == expected


@pytest.mark.parametrize(
    ("previous", "messages", "boundary", "compacted"),
    [
        pytest.param(past(6), 8, 5, False, id="01-vector-46"),
        pytest.param(past(9), 4, -1, True, id="01-vector-46-shrunk"),
        pytest.param(past(10), 4, -1, True, id="03-case-53"),
        pytest.param(past(20), 22, 19, False, id="03-case-52-main-thread"),
        pytest.param(past(7), 7, 6, False, id="the same request again"),
        pytest.param(None, 8, -1, False, id="no previous turn"),
    ],
)
def test_the_boundary_is_what_the_previous_turn_sent(
    previous: PastTurn | None,
    messages: int,
    boundary: int,
    compacted: bool,  # noqa: FBT001
) -> None:
    assert cached_through(previous, messages) == boundary
    assert was_compacted(previous, messages) is compacted


@pytest.mark.parametrize(
    ("previous", "now", "expected"),
    [
        pytest.param(past(2, at=1000.0), 1361.5, 361.5, id="since the start of the last request"),
        pytest.param(past(2, at=1000.0), 1000.0, 0.0, id="really zero"),
        pytest.param(None, 1000.0, None, id="no previous turn"),
        pytest.param(past(2, at=0.0), 1000.0, None, id="its time is not known"),
        pytest.param(past(2, at=1000.0), 999.0, None, id="the clock went back"),
    ],
)
def test_idle_time_is_known_only_after_a_known_turn(
    previous: PastTurn | None, now: float, expected: float | None
) -> None:
    assert idle_s(previous, now) == expected


@pytest.mark.parametrize(
    ("lifetime", "idle", "expected"),
    [
        pytest.param(FIVE_MINUTES, 359.0, False, id="01-vector-47-359s"),
        pytest.param(FIVE_MINUTES, 360.0, True, id="01-vector-47-360s"),
        pytest.param(FIVE_MINUTES, None, False, id="01-vector-47-no-previous-turn"),
        pytest.param(FIVE_MINUTES, 361.0, True, id="03-case-56-idle-361s"),
        pytest.param(AT_LEAST_HALF_AN_HOUR, 361.0, False, id="03-case-56-openai-minimum"),
        pytest.param(AT_LEAST_HALF_AN_HOUR, 1e9, False, id="a minimum never proves cold"),
        pytest.param(UNKNOWN_LIFETIME, 1e9, False, id="03-case-56-unknown-ttl"),
        pytest.param(ONE_HOUR, 3659.0, False, id="one hour, inside the margin"),
        pytest.param(ONE_HOUR, 3660.0, True, id="one hour and the margin"),
    ],
)
def test_cold_is_only_what_has_certainly_expired(
    lifetime: Lifetime,
    idle: float | None,
    expected: bool,  # noqa: FBT001
) -> None:
    assert is_cold(lifetime, idle) is expected


@pytest.mark.parametrize(
    ("lifetime", "idle", "expected"),
    [
        pytest.param(FIVE_MINUTES, 30.0, Phase.WARM, id="01-vector-48-30s"),
        pytest.param(FIVE_MINUTES, 239.0, Phase.WARM, id="the last second before the window"),
        pytest.param(FIVE_MINUTES, 240.0, Phase.PRE_EXPIRY, id="01-vector-48-240s"),
        pytest.param(FIVE_MINUTES, 270.0, Phase.PRE_EXPIRY, id="01-vector-48-270s"),
        pytest.param(FIVE_MINUTES, 300.0, Phase.COLD, id="01-vector-48-300s"),
        pytest.param(UNKNOWN_LIFETIME, 30.0, Phase.UNKNOWN, id="01-vector-48-unknown-ttl"),
        pytest.param(FIVE_MINUTES, None, Phase.UNKNOWN, id="idle time unknown"),
        pytest.param(AT_LEAST_HALF_AN_HOUR, 1799.0, Phase.WARM, id="a minimum proves warm"),
        pytest.param(AT_LEAST_HALF_AN_HOUR, 1800.0, Phase.UNKNOWN, id="a minimum proves no more"),
    ],
)
def test_the_phase_after_some_idle_time(
    lifetime: Lifetime, idle: float | None, expected: Phase
) -> None:
    assert phase(lifetime, idle, pre_expiry_s=60) is expected
