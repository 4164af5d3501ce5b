"""How often a refused body is sent once more (03-proxy-and-recovery.md 2.10)."""

from __future__ import annotations

from dataplane.core.resend import AGAIN_AFTER_S, KEPT_SESSIONS, REPLAY_ONLY_S, Resends

NOW = 1_000_000.0


def test_a_session_is_resent_once_a_minute() -> None:
    resends = Resends()

    assert resends.may_resend("a", "s", NOW)
    resends.note("a", "s", NOW, recovered=False)

    assert not resends.may_resend("a", "s", NOW + AGAIN_AFTER_S - 1)
    assert resends.may_resend("a", "s", NOW + AGAIN_AFTER_S)
    assert resends.may_resend("b", "s", NOW)
    assert resends.may_resend("a", "t", NOW)


def test_a_session_that_a_resend_helped_only_replays_for_an_hour() -> None:
    resends = Resends()
    resends.note("a", "s", NOW, recovered=True)
    resends.note("a", "s", NOW + AGAIN_AFTER_S, recovered=False)

    assert resends.is_replay_only("a", "s", NOW + REPLAY_ONLY_S - 1)
    assert not resends.is_replay_only("a", "s", NOW + REPLAY_ONLY_S)
    assert not resends.is_replay_only("b", "s", NOW)


def test_a_resend_that_did_not_help_changes_nothing_else() -> None:
    resends = Resends()
    resends.note("a", "s", NOW, recovered=False)

    assert not resends.is_replay_only("a", "s", NOW)


def test_the_sessions_that_were_resent_longest_ago_are_forgotten() -> None:
    resends = Resends()
    for number in range(KEPT_SESSIONS + 1):
        resends.note("a", str(number), NOW, recovered=True)

    assert not resends.is_replay_only("a", "0", NOW)
    assert resends.is_replay_only("a", "1", NOW)
