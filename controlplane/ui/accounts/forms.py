"""What people send about keys, tenants, people and themselves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from django import forms
from django.http import QueryDict
from django.utils import timezone

from controlplane.accounts.models import DataPlaneKey, Membership, Organisation, Tenant
from controlplane.ui.frame.forms import DesignedForm

NEVER = "never"
LIFETIMES = (
    (NEVER, "never"), ("7", "in 7 days"), ("30", "in 30 days"), ("90", "in 90 days"),
    ("365", "in a year"),
)  # fmt: skip
OVERLAPS = (
    ("0", "at once"), ("1", "in an hour"), ("24", "in 24 hours"), ("168", "in 7 days"),
)  # fmt: skip


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


class OverlapForm(DesignedForm):
    """How long the old credential works on, in hours."""

    ids = "overlap"

    overlap = forms.ChoiceField(choices=OVERLAPS, label="The old one ends", initial="24")

    def duration(self) -> timedelta:
        return timedelta(hours=int(self.cleaned_data["overlap"]))


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


class RoleForm(DesignedForm):
    """Role and tenants of somebody in an organisation. No tenant chosen means all of them."""

    ids = "role"

    role = forms.ChoiceField()
    tenants = forms.MultipleChoiceField(
        required=False,
        label="Only these tenants",
        help_text="None ticked: every tenant of the organisation, later ones too.",
        widget=forms.CheckboxSelectMultiple(),
    )

    def __init__(
        self,
        organisation: Organisation | None,
        tenants: Sequence[Tenant],
        sent: QueryDict | None = None,
        *,
        initial: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(sent, initial=initial)
        self.tenants_by_uid = {tenant.uid: tenant for tenant in tenants}
        named = [(uid, tenant.label) for uid, tenant in self.tenants_by_uid.items()]
        self.fields["role"].choices = roles_in(organisation)  # type: ignore[attr-defined]
        self.fields["tenants"].choices = named  # type: ignore[attr-defined]
        if not named:
            del self.fields["tenants"]

    def chosen(self) -> list[Tenant]:
        return [self.tenants_by_uid[uid] for uid in self.cleaned_data.get("tenants", ())]


class InvitationForm(RoleForm):
    ids = "invite"

    email = forms.EmailField(
        max_length=254,
        label="E-mail",
        widget=forms.EmailInput(attrs={"autocomplete": "off"}),
        error_messages={"required": "Name the address of the person."},
    )
    field_order = ("email", "role", "tenants")


def roles_in(organisation: Organisation | None) -> list[tuple[str, str]]:
    if organisation is None:
        return [(Membership.Role.MANAGER, "manager: everything, everywhere")]
    return [
        (Membership.Role.VIEWER, "viewer: reads figures and documents"),
        (Membership.Role.OPERATOR, "operator: also handles alarms, reads texts and the trail"),
        (Membership.Role.ADMIN, "admin: also changes documents, keys, members"),
    ]


class NewPasswordForm(DesignedForm):
    ids = "password"

    password = forms.CharField(
        max_length=1024,
        strip=False,
        label="Password",
        help_text="At least 10 characters, and not one of the common ones.",
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
    )


class NewcomerForm(NewPasswordForm):
    display_name = forms.CharField(
        max_length=120,
        required=False,
        label="Your name",
        widget=forms.TextInput(attrs={"autocomplete": "name"}),
    )
    field_order = ("display_name", "password")


class NameForm(DesignedForm):
    ids = "name"

    display_name = forms.CharField(
        max_length=120,
        required=False,
        label="Name",
        help_text="Empty: your address is shown.",
        widget=forms.TextInput(attrs={"autocomplete": "name"}),
    )


class PasswordChangeForm(DesignedForm):
    ids = "change"

    current = forms.CharField(
        max_length=1024,
        strip=False,
        label="Current password",
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password"}),
    )
    new = forms.CharField(
        max_length=1024,
        strip=False,
        label="New password",
        help_text="At least 10 characters, and not one of the common ones.",
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
    )
