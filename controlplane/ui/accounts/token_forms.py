"""What people send about tokens of the API (04 §1.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django import forms
from django.http import QueryDict

from controlplane.accounts.models import Organisation, Tenant
from controlplane.accounts.roles import PERMISSIONS
from controlplane.accounts.scopes import Scope
from controlplane.accounts.tokens import TOKEN_DAYS, TokenTerms
from controlplane.ui.frame.forms import DesignedForm

ANYWHERE = ""
READS = (":read",)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a token may be used: everywhere its maker may, an organisation, or one tenant."""

    organisation: Organisation | None = None
    tenant: Tenant | None = None


class TokenForm(DesignedForm):
    ids = "token"

    name = forms.CharField(
        max_length=64,
        label="For",
        widget=forms.TextInput(attrs={"placeholder": "CI, a script", "autocomplete": "off"}),
        error_messages={"required": "Name what will use the token."},
    )
    where = forms.ChoiceField(required=False, label="Where it may be used")
    days = forms.IntegerField(
        min_value=1,
        initial=TOKEN_DAYS,
        label="Days until it ends",
        help_text="At most 365, or what the organisation allows.",
    )
    ip_allow = forms.CharField(
        required=False,
        max_length=400,
        label="Only from these networks",
        help_text="As 192.0.2.0/24, separated by spaces. Empty: from anywhere.",
    )
    scopes = forms.MultipleChoiceField(
        label="What it may",
        help_text="Never more than your own role, also when that changes.",
        widget=forms.CheckboxSelectMultiple(),
        error_messages={"required": "Tick at least one."},
    )

    def __init__(self, scope: Scope, sent: QueryDict | None = None) -> None:
        super().__init__(sent)
        self.places = places_of(scope)
        names = sorted(permissions_of(scope))
        self.fields["where"].choices = [  # type: ignore[attr-defined]
            (handle, _named(place)) for handle, place in self.places.items()
        ]
        self.fields["scopes"].choices = [(name, name) for name in names]  # type: ignore[attr-defined]
        self.fields["scopes"].initial = [name for name in names if name.endswith(READS)]

    def terms(self) -> TokenTerms:
        cleaned = self.cleaned_data
        place = self.places[cleaned["where"]]
        return TokenTerms(
            scopes=cleaned["scopes"],
            organisation=place.organisation,
            tenant=place.tenant,
            days=cleaned["days"],
            ip_allow=cleaned["ip_allow"].replace(",", " ").split(),
        )


def permissions_of(scope: Scope) -> frozenset[str]:
    """Everything that whoever asks may do somewhere."""
    every = frozenset[str]()
    return every.union(*(grant.permissions for grant in scope.grants))


def places_of(scope: Scope) -> dict[str, Place]:
    """By uid; a token of one tenant also belongs to its organisation."""
    tenants: Sequence[Tenant] = list(scope.tenants())
    organisations = {tenant.organisation.uid: tenant.organisation for tenant in tenants}
    places = {ANYWHERE: Place()}
    for uid, organisation in organisations.items():
        places[uid] = Place(organisation)
    for tenant in tenants:
        places[tenant.uid] = Place(tenant.organisation, tenant)
    return places


def _named(place: Place) -> str:
    if place.tenant is not None:
        return f"tenant {place.tenant.label}"
    return place.organisation.name if place.organisation else "wherever I may"


def is_every_scope(scopes: Sequence[str]) -> bool:
    return set(scopes) >= PERMISSIONS["manager"]
