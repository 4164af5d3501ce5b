"""Links into an account go to the mailbox of the person, where the deployment has mail (04 §8.1).

Whoever asks for a link then never sees it, and cannot use it in the person's place.
"""

from __future__ import annotations

from dataclasses import dataclass

from django.core.mail import EmailMessage
from django.db.models import Q

from controlplane.accounts.models import Organisation
from controlplane.alarms.models import Channel


@dataclass(frozen=True, slots=True)
class LinkLetter:
    """what: the subject, without the product's name. good_for: how long, in words."""

    to: str
    what: str
    link: str
    good_for: str


def invitation(to: str, link: str) -> LinkLetter:
    return LinkLetter(to, "An invitation", link, "7 days")


def new_password(to: str, link: str) -> LinkLetter:
    return LinkLetter(to, "A new password", link, "an hour")


def goes_by_mail(organisation: Organisation | None) -> bool:
    """Whether the organisation or the deployment has a channel for mail that is switched on."""
    here = Q(organisation=organisation) | Q(organisation=None)
    return Channel.objects.filter(here, kind=Channel.Kind.EMAIL, disabled_at=None).exists()


def send(letter: LinkLetter) -> None:
    """OSError when the mail server does not take it (smtplib's errors are OSErrors)."""
    EmailMessage(
        subject=f"[Headrace] {letter.what}",
        body=f"{letter.what}:\n\n{letter.link}\n\n"
        f"The link is good for {letter.good_for} and for one use. Who did not expect this letter "
        "can leave it alone.\n",
        to=[letter.to],
    ).send()
