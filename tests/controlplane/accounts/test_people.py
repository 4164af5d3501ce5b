"""Signing in, passwords, tokens and the last manager (04 §1.1, 8.1)."""

from __future__ import annotations

import re
import time
from datetime import timedelta
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.utils import timezone

from controlplane.accounts import people, websessions
from controlplane.accounts.attempts import TooManyAttemptsError
from controlplane.accounts.hashers import Argon2
from controlplane.accounts.members import remove_member
from controlplane.accounts.models import Membership, SignInAttempt, User
from controlplane.accounts.problems import LastManagerError
from controlplane.accounts.secrets import checksum
from controlplane.accounts.tokens import issue_token
from controlplane.accounts.websessions import Machine
from controlplane.audit.models import AuditEvent
from tests.controlplane.conftest import PASSWORD, person


def sign_in(email: str, password: str = PASSWORD, address: str = "192.0.2.1") -> User | None:
    return people.verify_sign_in(email=email, password=password, address=address)


def test_the_right_pair_signs_in_whatever_the_case_of_the_address(manager: User) -> None:
    assert sign_in(" Manager@Example.com ") == manager


def test_a_wrong_password_an_unknown_address_and_an_inactive_account_look_the_same(
    manager: User,
) -> None:
    assert sign_in(manager.email, "wrong") is None
    assert sign_in("nobody@example.com") is None
    manager.is_active = False
    manager.save(update_fields=["is_active"])
    assert sign_in(manager.email) is None


def test_the_sixth_try_within_a_minute_is_not_looked_at(manager: User) -> None:
    for _ in range(5):
        assert sign_in(manager.email, "wrong") is None

    with pytest.raises(TooManyAttemptsError):
        sign_in(manager.email)


def test_an_address_is_limited_across_accounts_and_an_account_across_addresses(
    manager: User,
) -> None:
    for number in range(5):
        sign_in(f"{number}@example.com", "wrong", address="192.0.2.1")
    with pytest.raises(TooManyAttemptsError):
        sign_in(manager.email, address="192.0.2.1")

    assert sign_in(manager.email, address="192.0.2.2") == manager


def test_a_network_of_ipv6_has_as_many_tries_as_one_address(manager: User) -> None:
    for number in range(5):
        sign_in(f"{number}@example.com", "wrong", address=f"2001:db8::{number}")

    with pytest.raises(TooManyAttemptsError):
        sign_in(manager.email, address="2001:db8::9:9")
    assert sign_in(manager.email, address="2001:db8:0:1::9") == manager


def test_successes_do_not_count(manager: User) -> None:
    for _ in range(7):
        assert sign_in(manager.email) == manager


def test_a_try_counts_for_a_minute(manager: User) -> None:
    for _ in range(5):
        sign_in(manager.email, "wrong")
    SignInAttempt.objects.update(at=timezone.now() - timedelta(seconds=61))

    assert sign_in(manager.email) == manager


def test_tries_to_sign_in_are_in_the_trail_without_the_password(manager: User) -> None:
    sign_in(manager.email, "hunter2hunter2")
    sign_in(manager.email)

    events = AuditEvent.objects.filter(action__startswith="session.").order_by("id")
    assert [event.action for event in events] == ["session.refuse", "session.open"]
    assert "hunter2" not in str(list(events.values()))


@pytest.mark.parametrize(
    ("typed", "kept"),
    [
        pytest.param("A@Example.com", "a@example.com", id="an address"),
        pytest.param("hunter2hunter2", people.NO_ADDRESS, id="a password in the wrong field"),
        pytest.param("x@" + "y" * 100_000, "x@" + "y" * 198, id="more than an address has"),
        pytest.param("a\x00\n@example.com", "a@example.com", id="characters that none has"),
    ],
)
def test_the_trail_keeps_of_a_refused_address_no_more_than_an_address(
    db: None, typed: str, kept: str
) -> None:
    sign_in(typed, "wrong")

    assert AuditEvent.objects.get(action="session.refuse").object_label == kept


def test_passwords_are_kept_as_argon2id_with_the_parameters_of_the_specification() -> None:
    encoded = Argon2().encode("correct horse", Argon2().salt())

    assert re.match(r"argon2\$argon2id\$v=19\$m=65536,t=3,p=2\$", encoded)


@pytest.mark.parametrize("password", ["short", "password123", "1234567890"])
def test_a_short_or_common_password_is_refused(db: None, password: str) -> None:
    with pytest.raises(ValidationError):
        people.create_user(email="a@example.com", password=password, by=None)


def test_a_person_changes_their_password_by_giving_the_current_one(manager: User) -> None:
    with pytest.raises(ValidationError):
        people.change_password(manager, current="wrong", new="another long one")
    with pytest.raises(ValidationError):
        people.change_password(manager, current=PASSWORD, new="short")

    people.change_password(manager, current=PASSWORD, new="another long one")

    assert sign_in(manager.email, "another long one") == manager


def test_the_current_password_cannot_be_guessed_from_an_open_session(manager: User) -> None:
    for _ in range(5):
        with pytest.raises(ValidationError):
            people.change_password(manager, current="wrong", new="another long one")

    with pytest.raises(TooManyAttemptsError):
        people.change_password(manager, current=PASSWORD, new="another long one")


def test_a_set_password_takes_every_machine_off_the_list(manager: User) -> None:
    websessions.admit("key", manager, Machine("", ""))

    people.set_password(manager, "another long one", None)

    assert not websessions.machines_of(manager)


def test_the_last_active_manager_stays(manager: User) -> None:
    disabled = person(Membership.Role.MANAGER, None, "other@example.com")
    disabled.is_active = False
    disabled.save(update_fields=["is_active"])

    with pytest.raises(LastManagerError):
        remove_member(manager.memberships.get(), None)


def test_a_manager_beside_another_can_be_removed(manager: User) -> None:
    other = person(Membership.Role.MANAGER, None, "other@example.com")

    remove_member(manager.memberships.get(), other)

    assert not manager.memberships.exists()


def test_a_token_carries_a_checksum_that_a_scanner_can_verify(manager: User) -> None:
    token, plaintext = issue_token(manager, "ci", manager)

    assert re.fullmatch(r"cg_api_[A-Z2-7]{38}", plaintext)
    assert plaintext[-6:] == checksum(plaintext[:-6])
    assert token.token_hash not in plaintext


def test_the_trail_keeps_the_name_of_an_account_that_is_gone(manager: User) -> None:
    other = person(Membership.Role.MANAGER, None, "other@example.com")
    people.set_password(other, "another long one", manager)
    AuditEvent.objects.count()
    manager.memberships.all().delete()
    User.objects.filter(pk=manager.pk).delete()

    event = AuditEvent.objects.get(action="user.set_password")
    assert (event.actor_label, event.object_label) == (manager.email, other.email)


def test_identifiers_sort_by_time(settings: Any) -> None:
    from controlplane.identifiers import new_uid

    first = new_uid("ten")
    time.sleep(0.002)
    second = new_uid("ten")

    assert re.fullmatch(r"ten_[0-9a-hjkmnp-tv-z]{26}", first)
    assert first < second
