"""What somebody answers to an alarm (04 §5.3)."""

from __future__ import annotations

from datetime import datetime, timedelta

from django import forms
from django.utils import timezone

from controlplane.ui.frame.forms import DesignedForm

HOURS = (("", "No end"), ("1", "1 hour"), ("4", "4 hours"), ("24", "1 day"))
SILENT_HOURS = (("1", "1 hour"), ("4", "4 hours"), ("24", "1 day"), ("168", "7 days"))


def _until(hours: str) -> datetime | None:
    return timezone.now() + timedelta(hours=int(hours)) if hours else None


class AckForm(DesignedForm):
    ids = "ack"

    comment = forms.CharField(
        label="Comment",
        max_length=500,
        widget=forms.Textarea(attrs={"rows": 3, "data-keys": "a"}),
        help_text="Acknowledging stops the reminders. It resolves nothing and resumes nothing.",
    )
    until = forms.ChoiceField(label="Until", required=False, choices=HOURS)

    def ends_at(self) -> datetime | None:
        return _until(self.cleaned_data["until"])


class ResolveForm(DesignedForm):
    ids = "resolve"

    resolution = forms.CharField(
        label="What was done",
        max_length=500,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text="Kept with the alarm, for whoever meets the next one.",
    )


class SilenceForm(DesignedForm):
    ids = "silence"

    reason = forms.CharField(label="Reason", max_length=500)
    until = forms.ChoiceField(
        label="For",
        choices=SILENT_HOURS,
        help_text="Nobody is told meanwhile. The alarm stays on these pages.",
    )

    def ends_at(self) -> datetime:
        return timezone.now() + timedelta(hours=int(self.cleaned_data["until"]))
