"""Signed-in machines: seen, listed, revoked, and how long they last (04 §1.1, 8.1)."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth import update_session_auth_hash
from django.test import Client, RequestFactory
from django.utils import timezone

from controlplane.accounts import people, websessions
from controlplane.accounts.models import User, WebSession
from controlplane.accounts.websessions import Machine, machines_of, sid_of
from controlplane.audit.models import AuditEvent
from tests.controlplane.conftest import PASSWORD

FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"


def signed_in(user: User, agent: str = FIREFOX) -> Client:
    client = Client(headers={"user-agent": agent})
    client.post("/login", {"email": user.email, "password": PASSWORD})
    return client


def is_in(client: Client) -> bool:
    return client.get("/tenants").status_code == 200


def age(by: timedelta) -> None:
    """As if every session had been opened and used that much earlier."""
    for row in WebSession.objects.all():
        row.created_at -= by
        row.last_seen_at -= by
        row.expires_at -= by
        row.save()


def test_a_sign_in_is_listed_by_machine_and_never_by_its_key(admin: User) -> None:
    client = signed_in(admin)
    key = client.session.session_key
    assert key is not None

    (row,) = machines_of(admin, key)
    assert (row.is_this_one, row.session.label) == (True, "Firefox on Linux")
    assert (row.session.ip, row.session.user_agent) == ("127.0.0.1", FIREFOX)
    assert row.session.sid == sid_of(key)
    assert key not in str(list(WebSession.objects.values()))


def test_a_revoked_machine_is_out_at_its_next_request_and_the_others_stay(admin: User) -> None:
    here, there = signed_in(admin), signed_in(admin, "curl/8")
    row = WebSession.objects.get(sid=sid_of(there.session.session_key or ""))

    websessions.revoke(row, admin)

    assert (is_in(here), is_in(there)) == (True, False)
    assert AuditEvent.objects.filter(action="session.revoke", actor_uid=admin.uid).count() == 1
    assert len(machines_of(admin)) == 1


def test_the_cookie_of_a_revoked_machine_opens_nothing_again(admin: User) -> None:
    client = signed_in(admin)
    cookie = client.cookies["cg_session"].value
    websessions.revoke_all(admin, admin)
    assert not is_in(client)

    replayed = Client()
    replayed.cookies["cg_session"] = cookie

    assert not is_in(replayed)


def test_every_machine_but_this_one_can_be_signed_out(admin: User) -> None:
    here, there = signed_in(admin), signed_in(admin)

    assert websessions.revoke_all(admin, admin, but=here.session.session_key or "") == 1

    assert (is_in(here), is_in(there)) == (True, False)


def test_signing_out_takes_the_machine_off_the_list(admin: User) -> None:
    client = signed_in(admin)

    client.post("/logout")

    assert not WebSession.objects.exists()


def test_use_lengthens_a_session_and_thirty_idle_days_end_it(admin: User) -> None:
    client = signed_in(admin)
    age(timedelta(days=29))
    assert is_in(client)
    age(timedelta(days=29))
    assert is_in(client)

    age(timedelta(days=30))

    assert not is_in(client)


def test_a_lengthened_session_lengthens_its_cookie(admin: User) -> None:
    client = signed_in(admin)
    assert "cg_session" not in client.get("/tenants").cookies

    age(timedelta(minutes=2))

    assert client.get("/tenants").cookies["cg_session"]["max-age"] == 30 * 24 * 3600


def test_a_manager_is_out_after_twelve_hours_however_busy(manager: User) -> None:
    client = signed_in(manager)
    age(timedelta(hours=11))
    assert is_in(client)

    age(timedelta(hours=1))

    assert not is_in(client)


def test_a_machine_is_written_down_at_most_once_a_minute(admin: User) -> None:
    client = signed_in(admin)
    before = WebSession.objects.get().last_seen_at
    is_in(client)
    assert WebSession.objects.get().last_seen_at == before

    age(timedelta(minutes=1))
    is_in(client)

    assert WebSession.objects.get().last_seen_at > before


def test_what_is_long_over_is_forgotten_with_the_next_sign_in(admin: User) -> None:
    signed_in(admin)
    WebSession.objects.update(expires_at=timezone.now() - timedelta(days=31))

    signed_in(admin)

    assert WebSession.objects.count() == 1


def test_the_machine_on_which_a_password_is_changed_can_stay(admin: User) -> None:
    """What a page does: change it, then give the session a new name."""
    request = RequestFactory().post("/me/password")
    request.user, request.session = admin, signed_in(admin).session
    before = request.session.session_key or ""
    people.change_password(admin, current=PASSWORD, new="another long one")
    update_session_auth_hash(request, admin)
    request.session.save()
    client = Client()
    client.cookies["cg_session"] = request.session.session_key or ""

    assert request.session.session_key != before
    assert is_in(client)


def test_a_key_does_not_pass_from_one_person_to_another(admin: User, manager: User) -> None:
    websessions.admit("key", admin, Machine("", ""))

    assert websessions.admit("key", manager, Machine("", "")) is None


@pytest.mark.parametrize(
    ("agent", "label"),
    [
        (FIREFOX, "Firefox on Linux"),
        ("(Windows NT 10.0) AppleWebKit Chrome/140 Safari/537 Edg/140", "Edge on Windows"),
        ("(Macintosh; Intel Mac OS X 14) AppleWebKit Safari/605", "Safari on macOS"),
        ("(Linux; Android 15) AppleWebKit Chrome/140 Mobile Safari/537", "Chrome on Android"),
        ("curl/8.5", "curl"),
        ("", "Unknown machine"),
    ],
)  # fmt: skip
def test_a_machine_is_named_by_browser_and_system(agent: str, label: str) -> None:
    assert Machine(agent, "").label == label
