"""What keys and tokens have in common: how long they live, and what became of them (04 §8.3)."""

from __future__ import annotations

from datetime import timedelta

from django import forms

from controlplane.ui.frame.forms import DesignedForm
from controlplane.ui.frame.verdicts import Verdict

NEVER = "never"
LIFETIMES = (
    (NEVER, "never"), ("7", "in 7 days"), ("30", "in 30 days"), ("90", "in 90 days"),
    ("365", "in a year"),
)  # fmt: skip
OVERLAPS = (
    ("0", "at once"), ("1", "in an hour"), ("24", "in 24 hours"), ("168", "in 7 days"),
)  # fmt: skip


class OverlapForm(DesignedForm):
    """How long the old credential works on, in hours."""

    ids = "overlap"

    overlap = forms.ChoiceField(choices=OVERLAPS, label="The old one ends", initial="24")

    def duration(self) -> timedelta:
        return timedelta(hours=int(self.cleaned_data["overlap"]))


LIVE = Verdict("live", "ok", "ok")
EXPIRED = Verdict("expired", "wait", "watch")
REVOKED = Verdict("revoked", "offline", "quiet")
