"""Who makes it possible to open another's account is named with what follows (04 §8.1, 8.8)."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Any

import pytest
from django.core import mail
from django.core.mail.backends.base import BaseEmailBackend
from django.test import Client

from controlplane.accounts import second_factor, totp
from controlplane.accounts.models import Invitation, Organisation, PasswordReset, Tenant, User
from controlplane.accounts.people import start_reset
from controlplane.accounts.problems import SameHandsError
from controlplane.accounts.tokens import issue_token
from controlplane.alarms import channels
from controlplane.audit.models import AuditEvent
from tests.controlplane.conftest import PASSWORD, person
from tests.controlplane.ui.conftest import Browser

NEW, NEWER = "a wholly new password", "another password of mine"
LINK = re.compile(r"/new-password/cg_link_\w+|/join/cg_link_\w+")


class Dead(BaseEmailBackend):
    """A mail server that takes nothing."""

    def send_messages(self, _letters: Any) -> int:
        raise ConnectionRefusedError("no mail server")


def sign_in(email: str, password: str) -> Client:
    client = Client()
    client.post("/login", {"email": email, "password": password})
    return client


def rename(client: Client, name: str) -> AuditEvent:
    """Something that a person does, as the trail tells it."""
    client.post("/me/name", {"display_name": name})
    return AuditEvent.objects.filter(action="user.rename").order_by("seq").last() or AuditEvent()


@pytest.fixture
def mailing(organisation: Organisation, manager: User) -> None:
    terms = channels.Terms(name="ops", kind="email", target="ops@example.com")
    channels.add(organisation, terms, by=manager)


@pytest.fixture
def reset(viewer: User, admin: User, browser: Browser) -> Callable[[], None]:
    """The admin makes a link for the viewer, and somebody uses it."""

    def done() -> None:
        page = browser(admin).post(f"/members/acme/people/{viewer.uid}/reset").content.decode()
        (link,) = set(LINK.findall(page))
        assert Client().post(link, {"password": NEW}).status_code == 302

    return done


def test_what_follows_from_a_link_names_who_saw_it(
    viewer: User, admin: User, reset: Callable[[], None]
) -> None:
    reset()
    event = rename(sign_in(viewer.email, NEW), "Ann")

    beside = f"{viewer.email} (let in by {admin.email})"
    assert (event.actor_uid, event.actor_label) == (viewer.uid, beside)
    actions = AuditEvent.objects.filter(actor_label=beside).values_list("action", flat=True)
    assert {"user.set_password", "session.open", "user.rename"} <= set(actions)


def test_a_token_made_meanwhile_names_them_too(viewer: User, admin: User) -> None:
    viewer.let_in_by, viewer.let_in_by_uid = admin.email, admin.uid
    viewer.save()
    token, _ = issue_token(viewer, "ci", viewer)

    assert AuditEvent.objects.get(object_uid=token.uid).actor_label.endswith(
        f"(let in by {admin.email})"
    )


def test_signing_in_again_with_the_password_of_the_link_proves_nothing(
    viewer: User, reset: Callable[[], None]
) -> None:
    reset()
    sign_in(viewer.email, NEW)

    assert "let in by" in rename(sign_in(viewer.email, NEW), "Ann").actor_label


def test_a_sign_in_with_a_password_chosen_since_is_the_persons_own(
    viewer: User, reset: Callable[[], None]
) -> None:
    reset()
    there = sign_in(viewer.email, NEW)
    there.post("/me/password", {"current": NEW, "new": NEWER})
    assert "let in by" in rename(there, "Ann").actor_label

    assert rename(sign_in(viewer.email, NEWER), "Ann B").actor_label == viewer.email


def test_a_sign_in_with_an_authenticator_is_the_persons_own(
    viewer: User, reset: Callable[[], None]
) -> None:
    secret = second_factor.begin(viewer).secret
    step = int(time.time()) // totp.STEP_S
    second_factor.confirm(viewer, totp.code_at(secret, step - 1))
    reset()
    client = Client()
    asked = client.post("/login", {"email": viewer.email, "password": NEW}).content.decode()
    (ticket,) = re.findall(r'name="ticket" value="([^"]+)"', asked)
    client.post("/login/code", {"ticket": ticket, "code": totp.code_at(secret, step)})

    assert rename(client, "Ann").actor_label == viewer.email


def test_what_follows_from_a_removed_second_factor_names_who_removed_it(
    viewer: User, manager: User
) -> None:
    enrol(viewer)
    second_factor.remove(viewer, manager)

    event = rename(sign_in(viewer.email, PASSWORD), "Ann")

    assert event.actor_label == f"{viewer.email} (let in by {manager.email})"


def test_giving_up_ones_own_second_factor_names_nobody(viewer: User) -> None:
    enrol(viewer)
    second_factor.remove(viewer, viewer)
    second_factor.remove(viewer, None)

    assert rename(sign_in(viewer.email, PASSWORD), "Ann").actor_label == viewer.email


@pytest.mark.parametrize("is_used", [False, True])
def test_one_person_gives_away_the_password_or_the_second_factor_but_not_both(
    viewer: User,
    manager: User,
    browser: Browser,
    is_used: bool,  # noqa: FBT001
) -> None:
    enrol(viewer)
    client, path = browser(manager), f"/members/acme/people/{viewer.uid}"
    page = client.post(f"{path}/reset").content.decode()
    if is_used:
        (link,) = set(LINK.findall(page))
        Client().post(link, {"password": NEW})

    refused = client.post(f"{path}/second-factor")

    assert refused.status_code == 409
    assert "Another manager can" in refused.content.decode()
    assert second_factor.has_one(viewer)
    other = person("manager", None, "other@example.com")
    browser(other).post(f"{path}/second-factor")
    assert not second_factor.has_one(viewer)


def test_nor_the_other_way_round(viewer: User, manager: User) -> None:
    enrol(viewer)
    second_factor.remove(viewer, manager)

    with pytest.raises(SameHandsError):
        start_reset(viewer, manager)


@pytest.mark.usefixtures("mailing")
def test_with_a_channel_for_mail_only_the_mailbox_sees_a_link(
    viewer: User, admin: User, browser: Browser
) -> None:
    path = f"/members/acme/people/{viewer.uid}"
    page = browser(admin).post(f"{path}/reset", follow=True).content.decode()
    (letter,) = mail.outbox
    (link,) = LINK.findall(str(letter.body))

    assert not LINK.search(page)
    assert f"A link went by mail to {viewer.email}" in page
    assert letter.to == [viewer.email]
    assert Client().post(link, {"password": NEW}).status_code == 302
    assert rename(sign_in(viewer.email, NEW), "Ann").actor_label == viewer.email


@pytest.mark.usefixtures("mailing")
def test_an_invitation_goes_the_same_way(admin: User, browser: Browser) -> None:
    client = browser(admin)
    wanted = {"email": "new@example.com", "role": "viewer"}
    page = client.post("/members/acme/invite", wanted, follow=True).content.decode()
    api = client.post(
        f"/api/v1/organisations/{Organisation.objects.get().uid}/invitations",
        {"email": "other@example.com", "role": "viewer"},
        content_type="application/json",
    )

    assert not LINK.search(page)
    assert (api.status_code, api.json()["link"]) == (201, None)
    assert [letter.to for letter in mail.outbox] == [["new@example.com"], ["other@example.com"]]
    for letter in mail.outbox:
        assert Client().get(LINK.findall(str(letter.body))[0]).status_code == 200


@pytest.mark.usefixtures("mailing")
def test_a_link_that_the_mail_server_does_not_take_is_void(
    viewer: User, admin: User, browser: Browser, settings: Any
) -> None:
    settings.EMAIL_BACKEND = f"{__name__}.Dead"
    client = browser(admin)

    page = client.post(f"/members/acme/people/{viewer.uid}/reset", follow=True).content.decode()
    wanted = {"email": "new@example.com", "role": "viewer"}
    client.post("/members/acme/invite", wanted)

    assert "did not take the letter" in page
    assert not PasswordReset.objects.exists()
    assert Invitation.objects.get().withdrawn_at is not None


def test_a_new_account_names_who_invited(admin: User, browser: Browser, tenant: Tenant) -> None:
    wanted = {"email": "new@example.com", "role": "viewer"}
    page = browser(admin).post("/members/acme/invite", wanted).content.decode()
    (link,) = set(LINK.findall(page))
    Client().post(link, {"password": NEW, "display_name": "New"})

    made = AuditEvent.objects.get(action="user.create", object_label="new@example.com")
    assert made.after == {"email": "new@example.com", "invited_by": admin.email}


def enrol(user: User) -> None:
    secret = second_factor.begin(user).secret
    second_factor.confirm(user, totp.code_at(secret, int(time.time()) // totp.STEP_S))
