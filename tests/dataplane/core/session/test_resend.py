"""How often a refused body is sent once more (03-proxy-and-recovery.md 2.10)."""

from __future__ import annotations

from dataplane.core.session.resend import (
    AGAIN_AFTER_S,
    KEPT_SESSIONS,
    REPLAY_ONLY_S,
    Resends,
    Restraint,
)

NOW = 1_000_000.0


def test_a_session_is_resent_once_a_minute() -> None:
    resends = Resends()

    assert resends.may_resend("a", "s", NOW)
    resends.note("a", "s", NOW, refused=None)

    assert not resends.may_resend("a", "s", NOW + AGAIN_AFTER_S - 1)
    assert resends.may_resend("a", "s", NOW + AGAIN_AFTER_S)
    assert resends.may_resend("b", "s", NOW)
    assert resends.may_resend("a", "t", NOW)


def test_a_session_that_a_resend_helped_only_replays_for_an_hour() -> None:
    resends = Resends()
    resends.note("a", "s", NOW, refused=frozenset({"k"}))
    resends.note("a", "s", NOW + AGAIN_AFTER_S, refused=None)

    assert resends.restraint("a", "s", NOW + REPLAY_ONLY_S - 1).replay_only
    assert not resends.restraint("a", "s", NOW + REPLAY_ONLY_S).replay_only
    assert not resends.restraint("b", "s", NOW).replay_only


def test_a_resend_that_did_not_help_changes_nothing_else() -> None:
    resends = Resends()
    resends.note("a", "s", NOW, refused=None)

    assert not resends.restraint("a", "s", NOW).replay_only


def test_the_sessions_that_were_resent_longest_ago_are_forgotten() -> None:
    resends = Resends()
    for number in range(KEPT_SESSIONS + 1):
        resends.note("a", str(number), NOW, refused=frozenset({"k"}))

    assert not resends.restraint("a", "0", NOW).replay_only
    assert resends.restraint("a", "1", NOW).replay_only


def test_what_was_refused_stays_verbatim_beyond_the_hour() -> None:
    resends = Resends()
    resends.note("a", "s", NOW, refused=frozenset({"k"}))
    resends.note("a", "s", NOW + REPLAY_ONLY_S, refused=frozenset({"l"}))

    late = resends.restraint("a", "s", NOW + 2 * REPLAY_ONLY_S)

    assert late == Restraint(replay_only=False, verbatim=frozenset({"k", "l"}), bare=False)


def test_where_only_the_envelope_was_refused_it_stays_bare_for_an_hour() -> None:
    resends = Resends()
    resends.note("a", "s", NOW, refused=frozenset())

    assert resends.restraint("a", "s", NOW).bare
    assert not resends.restraint("a", "s", NOW + REPLAY_ONLY_S).bare
