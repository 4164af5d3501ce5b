"""What people send about others and about themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django import forms
from django.http import QueryDict

from controlplane.accounts.models import Membership, Organisation, Tenant
from controlplane.ui.frame.forms import DesignedForm


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
