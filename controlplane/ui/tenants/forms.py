"""What people send about tenants and their keys."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from django import forms
from django.http import QueryDict
from django.utils import timezone

from controlplane.accounts.models import DataPlaneKey, Organisation
from controlplane.ui.frame.credentials import LIFETIMES, NEVER
from controlplane.ui.frame.forms import DesignedForm


class KeyForm(DesignedForm):
    ids = "key"

    label = forms.CharField(
        max_length=64,
        label="New key for",
        error_messages={"required": "Name who or what will use the key."},
        widget=forms.TextInput(attrs={"placeholder": "laptop, CI, an agent"}),
    )
    kind = forms.ChoiceField(
        choices=[("live", "live"), ("test", "test")],
        required=False,
        help_text="A word for you; both are accepted alike.",
    )
    expires = forms.ChoiceField(choices=LIFETIMES, required=False, label="Expires")

    def clean_kind(self) -> str:
        return self.cleaned_data["kind"] or DataPlaneKey.Kind.LIVE

    def expires_at(self) -> datetime | None:
        wanted = self.cleaned_data["expires"] or NEVER
        return None if wanted == NEVER else timezone.now() + timedelta(days=int(wanted))


class AgentKeyForm(DesignedForm):
    ids = "agent-key"

    label = forms.CharField(
        max_length=64,
        label="Whose key it is",
        widget=forms.TextInput(attrs={"placeholder": "Cline on the laptop"}),
        error_messages={"required": "Name who or what uses the key."},
    )
    agent_key = forms.CharField(
        max_length=512,
        label="The agent's own provider key",
        help_text="At least 20 characters. Only its digest is kept.",
        widget=forms.PasswordInput(attrs={"autocomplete": "off"}),
        error_messages={"required": "Enter the key that the agent sends to its provider."},
    )


class TenantForm(DesignedForm):
    ids = "tenant"

    organisation = forms.ChoiceField()
    slug = forms.CharField(
        max_length=40,
        label="Name in addresses",
        help_text="2 to 40 lower-case letters, digits, hyphens. It does not change later.",
    )
    label = forms.CharField(
        max_length=64, required=False, label="Name on pages", help_text="Empty: the same."
    )

    def __init__(
        self, organisations: Iterable[Organisation], sent: QueryDict | None = None
    ) -> None:
        super().__init__(sent)
        self.places = {each.uid: each for each in organisations}
        choices = [(uid, each.name) for uid, each in self.places.items()]
        self.fields["organisation"].choices = choices  # type: ignore[attr-defined]
        if len(choices) == 1:
            self.fields["organisation"].widget = forms.HiddenInput()
            self.fields["organisation"].initial = choices[0][0]


class LimitsForm(DesignedForm):
    """What a tenant is called and how much it may send at a time."""

    ids = "limits"

    label = forms.CharField(max_length=64, label="Name on pages")
    rpm_limit = forms.IntegerField(
        min_value=0,
        max_value=1_000_000,
        label="Requests per minute",
        help_text="0: no limit. More get 429 until the minute is over.",
    )
    concurrent_limit = forms.IntegerField(
        min_value=0,
        max_value=100_000,
        label="Requests at once",
        help_text="0: no limit. More get 429 at once; nothing queues.",
    )


class ReasonForm(DesignedForm):
    ids = "reason"

    reason = forms.CharField(
        max_length=200,
        help_text="Agents read it in the 403 that they get.",
        error_messages={"required": "Say why: the owner of the tenant reads it."},
    )


class UpstreamForm(forms.Form):
    dialect = forms.CharField(max_length=9)
    upstream = forms.CharField(max_length=64)
