"""One delivery as a letter, through the backend that Django is configured with (04 §7)."""

from __future__ import annotations

from django.core.mail import EmailMultiAlternatives
from django.template.loader import render_to_string

from controlplane.alarms.models import Delivery

EVENTS = {
    "alarm.opened": "",
    "alarm.reminder": "Reminder: ",
    "alarm.acknowledged": "Acknowledged: ",
    "alarm.resolved": "Resolved: ",
    "test": "Test: ",
}


def send(delivery: Delivery) -> None:
    """OSError when the mail server does not take it (smtplib's errors are OSErrors)."""
    letter(delivery).send()


def letter(delivery: Delivery) -> EmailMultiAlternatives:
    """Plain text and simple HTML; all letters about one alarm are one thread."""
    context = {"about": delivery.payload, "event": delivery.event, "alarm": delivery.alarm}
    subject = f"[Headrace] {EVENTS.get(delivery.event, '')}{delivery.payload['title']}"
    written = EmailMultiAlternatives(
        subject=" ".join(subject.split()),
        body=render_to_string("alarms/letter.txt", context),
        to=[address.strip() for address in delivery.channel.target.split(",")],
        headers=_thread(delivery),
    )
    written.attach_alternative(render_to_string("alarms/letter.html", context), "text/html")
    return written


def _thread(delivery: Delivery) -> dict[str, str]:
    if delivery.alarm is None:
        return {"X-CG-Delivery": delivery.uid}
    root = f"<{delivery.alarm.uid}@headrace>"
    return {"References": root, "In-Reply-To": root, "X-CG-Delivery": delivery.uid}
