"""How often a password or a code may be guessed: five times a minute, no longer lock (04 §8.1)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from django.db import transaction
from django.utils import timezone

from controlplane.accounts.models import SignInAttempt
from controlplane.databases import DEFAULT, Turn, take_turn

ATTEMPTS_PER_WINDOW = 5
WINDOW = timedelta(minutes=1)
LONGEST_SUBJECT = 300


class TooManyAttemptsError(Exception):
    """More than five failed tries within a minute for one of the subjects."""


@transaction.atomic
def counted(*subjects: str) -> Sequence[int]:
    """Count one try for each of them; TooManyAttemptsError when one has had its five.

    Only failures stay counted, see `forgiven`; but a try is counted before it is decided, and one
    at a time, so that parallel ones do not slip through.
    """
    take_turn(Turn.ATTEMPTS, DEFAULT)
    SignInAttempt.objects.filter(at__lt=timezone.now() - WINDOW).delete()
    named = [subject[:LONGEST_SUBJECT] for subject in subjects]
    for subject in named:
        if SignInAttempt.objects.filter(subject=subject).count() >= ATTEMPTS_PER_WINDOW:
            raise TooManyAttemptsError
    return [SignInAttempt.objects.create(subject=subject).pk for subject in named]


def forgiven(attempts: Sequence[int]) -> None:
    """The try was right, so it does not count."""
    SignInAttempt.objects.filter(pk__in=attempts).delete()
