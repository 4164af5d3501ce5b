"""The terms of a channel, as a form (04 §5.16)."""

from __future__ import annotations

from django import forms
from django.http import QueryDict

from controlplane.alarms.channels import Terms
from controlplane.alarms.models import Channel, Severity
from controlplane.ui.frame.forms import DesignedForm

LEAST = (
    (Severity.CRITICAL, "critical only"),
    (Severity.WARNING, "warning and critical"),
    (Severity.INFO, "everything"),
)


class ChannelForm(DesignedForm):
    """channel: the one whose terms change; its kind stays. may_be_private: see Terms."""

    ids = "channel"

    name = forms.CharField(label="Name", max_length=64)
    kind = forms.ChoiceField(label="Kind", choices=Channel.Kind.choices)
    target = forms.CharField(
        label="Address",
        max_length=500,
        help_text="A webhook's URL, or e-mail addresses parted by commas.",
    )
    least = forms.ChoiceField(label="Tell of", choices=LEAST)
    allow_private = forms.BooleanField(
        required=False, label="It is on this machine or a private network"
    )

    def __init__(
        self, sent: QueryDict | None, *, channel: Channel | None, may_be_private: bool
    ) -> None:
        super().__init__(sent, initial=_initial(channel))
        self._kind = channel.kind if channel else ""
        if channel is not None:
            del self.fields["kind"]
        if not may_be_private:
            del self.fields["allow_private"]
        self._is_private = bool(channel and channel.allow_private)
        self._may_be_private = may_be_private

    def terms(self) -> Terms:
        """A private address that a manager allowed holds for that address alone."""
        cleaned = self.cleaned_data
        is_same = cleaned["target"] == self.initial.get("target")
        return Terms(
            name=cleaned["name"],
            kind=self._kind or cleaned["kind"],
            target=cleaned["target"],
            least=cleaned["least"],
            allow_private=cleaned["allow_private"]
            if self._may_be_private
            else self._is_private and is_same,
        )


def _initial(channel: Channel | None) -> dict[str, object]:
    if channel is None:
        return {"least": Severity.WARNING}
    return {
        "name": channel.name,
        "target": channel.target,
        "least": channel.least,
        "allow_private": channel.allow_private,
    }
