"""How people are told: signed, tried again, each channel by itself (04 §7, J-05, J-06)."""

from __future__ import annotations

import hashlib
import hmac
import json
from datetime import timedelta
from typing import Any

import pytest
from django.core import mail
from django.core.exceptions import ValidationError
from django.utils import timezone

from controlplane.accounts.models import Organisation, Secret, Tenant, User
from controlplane.alarms import channels
from controlplane.alarms.actions import acknowledge, silence
from controlplane.alarms.channels import Terms
from controlplane.alarms.delivering import FAILURES_MAX, WAITS, deliver, deliver_due
from controlplane.alarms.models import Alarm, Channel, Delivery
from controlplane.alarms.signing import signature
from controlplane.audit.models import AuditEvent
from tests.controlplane.alarms.conftest import Receiver, opened

Watched = tuple[Channel, str]


@pytest.fixture
def webhook(organisation: Organisation, admin: User, receiver: Receiver) -> Watched:
    """A channel to the receiver, and its secret."""
    terms = Terms(name="on-call", kind="webhook", target=receiver.url, allow_private=True)
    return channels.add(organisation, terms, by=admin)


def send_due(after: timedelta = timedelta()) -> int:
    return deliver_due(timezone.now() + after, deliver)


def expected(secret: str, letter: Any) -> str:
    signed = letter.headers["X-CG-Timestamp"].encode() + b"." + letter.body
    return "v1=" + hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()


def test_the_signature_of_a_known_message() -> None:
    assert signature("secret", 1_700_000_000, b'{"a":1}') == (
        "v1=" + hmac.new(b"secret", b'1700000000.{"a":1}', hashlib.sha256).hexdigest()
    )


def test_an_alarm_arrives_signed_with_links_and_numbers(
    webhook: Watched, receiver: Receiver, tenant: Tenant
) -> None:
    alarm = opened(tenant.uid)

    assert send_due() == 1

    (letter,) = receiver.letters
    message = json.loads(letter.body)
    assert letter.path == "/hooks/7"
    assert letter.headers["X-CG-Signature"] == expected(webhook[1], letter)
    assert letter.headers["X-CG-Event"] == message["event"] == "alarm.opened"
    assert letter.headers["X-CG-Delivery"] == message["id"]
    assert message["alarm"]["url"].endswith(f"/alarms/{alarm.uid}")
    assert message["alarm"]["occurrence"]["session"] == "s1"
    assert Delivery.objects.get().state == "delivered"


def test_a_receiver_that_fails_is_asked_again_under_the_same_identifier(
    webhook: Watched, receiver: Receiver, tenant: Tenant
) -> None:
    opened(tenant.uid)
    receiver.status = 503

    assert send_due() == 1
    assert send_due() == 0
    receiver.status = 200
    assert send_due(timedelta(seconds=31)) == 1

    first, second = receiver.letters
    assert first.headers["X-CG-Delivery"] == second.headers["X-CG-Delivery"]
    assert [json.loads(letter.body)["attempt"] for letter in receiver.letters] == [1, 2]
    delivery = Delivery.objects.get()
    assert (delivery.state, delivery.http_status, delivery.answer) == ("delivered", 200, "taken")


def test_after_six_tries_it_is_given_up(
    webhook: Watched, receiver: Receiver, tenant: Tenant
) -> None:
    opened(tenant.uid)
    receiver.status = 500

    for wait in (timedelta(), *WAITS):
        assert send_due(wait) == 1

    assert Delivery.objects.get().state == "given up"
    assert send_due(timedelta(days=2)) == 0


def test_a_redirect_is_not_followed(webhook: Watched, receiver: Receiver, tenant: Tenant) -> None:
    opened(tenant.uid)
    receiver.status, receiver.location = 302, receiver.url

    send_due()

    assert len(receiver.letters) == 1
    assert Delivery.objects.get().http_status == 302


def test_a_channel_that_nobody_answers_keeps_the_reason_and_delays_no_other(
    webhook: Watched, receiver: Receiver, organisation: Organisation, admin: User, tenant: Tenant
) -> None:
    gone = Terms(name="gone", kind="webhook", target="http://127.0.0.1:9/", allow_private=True)
    channels.add(organisation, gone, by=admin)
    opened(tenant.uid)

    assert send_due() == 2

    assert len(receiver.letters) == 1
    assert "ConnectionRefused" in Delivery.objects.get(channel__name="gone").answer


def test_however_much_waits_for_one_channel_another_is_told_at_once(
    webhook: Watched, receiver: Receiver, organisation: Organisation, admin: User, tenant: Tenant
) -> None:  # J-06
    blocked = Terms(
        name="blocked", kind="webhook", target="http://127.0.0.1:9/", allow_private=True
    )
    channel, _ = channels.add(organisation, blocked, by=admin)
    before = timezone.now() - timedelta(hours=1)
    waiting = {"channel": channel, "event": "test", "payload": {}, "created_at": before}
    for _ in range(250):
        Delivery.objects.create(next_at=before, **waiting)
    opened(tenant.uid)

    assert send_due() == 2

    assert len(receiver.letters) == 1


def test_one_that_was_sent_while_it_waited_for_its_turn_is_not_sent_again(
    webhook: Watched, receiver: Receiver, tenant: Tenant
) -> None:
    opened(tenant.uid)
    queued: list[int] = []
    for wait in (timedelta(), timedelta(seconds=61)):
        assert deliver_due(timezone.now() + wait, queued.append) == 1

    for pk in queued:
        deliver(pk)

    assert len(receiver.letters) == 1


def test_two_schedulers_send_a_delivery_once(
    webhook: Watched, receiver: Receiver, tenant: Tenant
) -> None:
    opened(tenant.uid)
    claimed: list[int] = []
    now = timezone.now()

    assert deliver_due(now, claimed.append) == 1
    assert deliver_due(now, claimed.append) == 0
    assert len(claimed) == 1


def test_for_a_day_after_a_rotation_both_secrets_sign(
    webhook: Watched, receiver: Receiver, tenant: Tenant, admin: User
) -> None:
    channel, old = webhook
    new = channels.rotate(channel, by=admin)
    opened(tenant.uid)
    send_due()

    (letter,) = receiver.letters
    signed = letter.headers["X-CG-Signature"].split(", ")
    assert signed == [expected(new, letter), expected(old, letter)]
    Channel.objects.update(former_until=timezone.now())
    channels.send_test(channel, by=admin)
    send_due()
    assert receiver.letters[1].headers["X-CG-Signature"] == expected(new, receiver.letters[1])


def test_a_channel_that_only_fails_is_switched_off_and_that_is_an_alarm(
    webhook: Watched, receiver: Receiver, tenant: Tenant
) -> None:
    Channel.objects.update(failures=FAILURES_MAX - 1)
    receiver.status = 500
    opened(tenant.uid)

    send_due()

    assert Channel.objects.get().disabled_at is not None
    assert Alarm.objects.get(rule="channel_disabled").subject == "on-call"
    assert send_due(timedelta(days=1)) == 0


def test_nobody_is_told_of_what_is_silenced(
    webhook: Watched, receiver: Receiver, tenant: Tenant, admin: User
) -> None:
    alarm = opened(tenant.uid)
    send_due()
    silence(alarm, timezone.now() + timedelta(hours=1), "planned work", by=admin)

    acknowledge(alarm, "on it", by=admin)

    assert send_due() == 0
    assert len(receiver.letters) == 1


@pytest.mark.parametrize(("least", "told"), [("critical", 0), ("warning", 1), ("info", 1)])
def test_a_channel_hears_of_its_severity_and_graver(
    organisation: Organisation, admin: User, tenant: Tenant, least: str, told: int
) -> None:
    terms = Terms(name="mail", kind="email", target="ops@example.com", least=least)
    channels.add(organisation, terms, by=admin)

    opened(tenant.uid, rule="stash_refused")

    assert Delivery.objects.count() == told


def test_another_organisations_channel_hears_nothing(
    organisation: Organisation, admin: User, other_tenant: Tenant
) -> None:
    channels.add(organisation, Terms(name="mail", kind="email", target="ops@example.com"), by=admin)

    opened(other_tenant.uid)

    assert not Delivery.objects.exists()


def test_letters_about_one_alarm_are_one_thread(
    organisation: Organisation, admin: User, tenant: Tenant
) -> None:
    terms = Terms(name="mail", kind="email", target="a@example.com, b@example.com")
    channels.add(organisation, terms, by=admin)
    alarm = opened(tenant.uid, session="<script>alert(1)</script>")
    send_due()
    acknowledge(alarm, "mine", by=admin)
    send_due()

    first, second = mail.outbox
    assert first.to == ["a@example.com", "b@example.com"]
    assert first.subject == "[Headrace] 1 original lost on node-b"
    assert second.subject == "[Headrace] Acknowledged: 1 original lost on node-b"
    assert first.extra_headers["References"] == second.extra_headers["References"]
    html = str(first.alternatives[0][0])  # type: ignore[attr-defined]
    assert "&lt;script&gt;" in html
    assert "<script>" not in html


@pytest.mark.parametrize(
    "target",
    [
        "http://hooks.example.com/x",
        "https://10.0.0.1/x",
        "https://127.0.0.1/x",
        "https://localhost/x",
        "https://169.254.169.254/latest",
        "https://user:pass@hooks.example.com/",
        "file:///etc/passwd",
        "https://hooks.example.com:22/",
    ],
)
def test_an_address_that_breaks_a_rule_is_no_channel(
    organisation: Organisation, admin: User, target: str
) -> None:
    with pytest.raises(ValidationError):
        channels.add(organisation, Terms(name="x", kind="webhook", target=target), by=admin)


def test_an_address_is_checked_again_when_it_is_used(
    webhook: Watched, receiver: Receiver, tenant: Tenant
) -> None:
    Channel.objects.update(allow_private=False)
    opened(tenant.uid)

    send_due()

    assert receiver.letters == []
    assert Delivery.objects.get().state == "pending"


def test_a_removed_channel_takes_its_secrets_with_it_and_the_trail_keeps_no_path(
    webhook: Watched, admin: User
) -> None:
    channels.rotate(webhook[0], by=admin)
    channels.remove(Channel.objects.get(), by=admin)

    assert not Secret.objects.filter(kind="webhook_hmac").exists()
    for event in AuditEvent.objects.filter(action__startswith="channel."):
        assert "hooks/7" not in json.dumps([event.before, event.after])


def test_a_delivery_that_is_gone_harms_nobody(db: None) -> None:
    deliver(4711)
