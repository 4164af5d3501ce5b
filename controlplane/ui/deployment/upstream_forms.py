"""What a manager sends about upstreams and held secrets (04 §1.1, 1.2)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from django import forms
from django.http import QueryDict

from controlplane.accounts.models import Organisation, Secret, Upstream
from controlplane.accounts.upstreams import UpstreamTerms
from controlplane.ui.frame.forms import DesignedForm

NO_SECRET = ""
KINDS = (
    (Secret.Kind.PROVIDER_KEY, "provider key"),
    (Secret.Kind.WEBHOOK_HMAC, "webhook signature"),
    (Secret.Kind.SMTP, "mail server"),
    (Secret.Kind.OIDC_CLIENT, "sign-in provider"),
    (Secret.Kind.OTHER, "other"),
)


class UpstreamTermsForm(DesignedForm):
    """Where an upstream is and how it is reached; its name and dialect stay."""

    ids = "upstream"

    base_url = forms.CharField(
        max_length=200,
        label="Address",
        help_text="https://host or https://host:port, no path.",
        widget=forms.TextInput(attrs={"placeholder": "https://api.anthropic.com"}),
    )
    key_secret = forms.ChoiceField(
        required=False,
        label="Provider key",
        help_text="With a held key, what agents send is not forwarded.",
    )
    key_header = forms.CharField(
        max_length=64,
        required=False,
        label="Header of the key",
        help_text="Empty: the dialect's own.",
    )
    proxy_url = forms.CharField(
        max_length=200, required=False, label="Through this proxy", help_text="Empty: straight."
    )
    header_timeout_s = forms.IntegerField(
        min_value=0,
        max_value=3600,
        initial=0,
        required=False,
        label="Wait for the first byte, seconds",
        help_text="0: the node's own limit.",
    )
    allow_private = forms.BooleanField(
        required=False, label="May be this machine or a private network, at any port"
    )
    allow_insecure = forms.BooleanField(required=False, label="May be plain http")
    allow_server_state = forms.BooleanField(
        required=False, label="May hold conversations at the provider, even with a held key"
    )
    wan_compression = forms.BooleanField(
        required=False, label="Ask the provider for compressed answers"
    )
    enabled = forms.BooleanField(required=False, initial=True, label="Tenants may choose it")

    def __init__(
        self,
        secrets: Iterable[Secret],
        sent: QueryDict | None = None,
        *,
        initial: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(sent, initial=initial)
        self.secrets = {secret.uid: secret for secret in secrets}
        named = [(uid, f"held: {secret.name}") for uid, secret in self.secrets.items()]
        self.fields["key_secret"].choices = [  # type: ignore[attr-defined]
            (NO_SECRET, "the agent's own"), *named,
        ]  # fmt: skip

    def terms(self) -> UpstreamTerms:
        cleaned = self.cleaned_data
        return UpstreamTerms(
            allow_insecure=cleaned["allow_insecure"],
            allow_private=cleaned["allow_private"],
            key_secret=self.secrets.get(cleaned["key_secret"]),
            key_header=cleaned["key_header"],
            allow_server_state=cleaned["allow_server_state"],
            wan_compression=cleaned["wan_compression"],
            proxy_url=cleaned["proxy_url"],
            header_timeout_s=cleaned["header_timeout_s"] or 0,
            enabled=cleaned["enabled"],
        )


class UpstreamForm(UpstreamTermsForm):
    name = forms.CharField(
        max_length=64, help_text="What tenants choose it by: lower-case letters, digits, hyphens."
    )
    dialect = forms.ChoiceField(choices=Upstream.Dialect.choices)
    field_order = ("name", "dialect")


class SecretValueForm(DesignedForm):
    """A value that goes in and never comes out."""

    ids = "secret"

    value = forms.CharField(
        max_length=8192,
        strip=False,
        label="Value",
        help_text="It is sealed and never shown again.",
        widget=forms.PasswordInput(attrs={"autocomplete": "off"}),
    )


class SecretForm(SecretValueForm):
    owner = forms.ChoiceField(required=False, label="Belongs to")
    name = forms.CharField(
        max_length=64, help_text="Lower-case letters, digits, hyphens, underscores."
    )
    kind = forms.ChoiceField(choices=KINDS)
    field_order = ("owner", "name", "kind", "value")

    def __init__(
        self, owners: Iterable[Organisation | None], sent: QueryDict | None = None
    ) -> None:
        super().__init__(sent)
        self.owners = {owner.uid if owner else "": owner for owner in owners}
        self.fields["owner"].required = "" not in self.owners
        self.fields["owner"].choices = [  # type: ignore[attr-defined]
            (uid, owner.name if owner else "the deployment") for uid, owner in self.owners.items()
        ]

    def owner_chosen(self) -> Organisation | None:
        return self.owners[self.cleaned_data["owner"]]
