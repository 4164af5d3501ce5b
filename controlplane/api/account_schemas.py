"""Bodies about accounts: who belongs where, what opens what (04 §1.1, 6.3)."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, StringConstraints

from controlplane.api.sent import NO_CONTROL, Name, Number, Sent, Slug, Uid

Json = dict[str, Any]
Label = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=64, pattern=NO_CONTROL)
]
Why = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=3, max_length=200, pattern=NO_CONTROL)
]
Email = Annotated[str, StringConstraints(max_length=254, pattern=r"^[^\s@\x00]+@[^\s@\x00]+$")]
Value = Annotated[str, StringConstraints(min_length=1, max_length=8192)]
Url = Annotated[str, StringConstraints(max_length=200, pattern=r"^[\x21-\x7e]*$")]
Days = Annotated[int, Field(ge=1, le=3650)]
Overlap = Annotated[int, Field(ge=0, le=168, description="Hours that the old one works on.")]

# ---- what is sent -----------------------------------------------------------------------------


class NewOrganisation(Sent):
    slug: Slug
    name: Name


class OrganisationChange(Sent):
    """policy: the rules that change; the others stay."""

    name: Name | None = None
    policy: Json = Field(default_factory=dict)


class MemberChange(Sent):
    """tenants: uids that the membership covers, [] for all of the organisation."""

    role: Literal["viewer", "operator", "admin"]
    tenants: list[Uid] = Field(default_factory=list, max_length=200)


class NewInvitation(MemberChange):
    email: Email


class NewTenant(Sent):
    organisation: Uid
    slug: Slug
    label: Annotated[str, StringConstraints(max_length=64, pattern=NO_CONTROL)] = ""


class TenantChange(Sent):
    """Limits are per minute and at once; 0 is none."""

    label: Label | None = None
    rpm_limit: Number | None = None
    concurrent_limit: Number | None = None


class Disable(Sent):
    """reason: what the agents of the tenant are told."""

    reason: Why


class Upstreams(Sent):
    """Dialect to the name of an upstream."""

    anthropic: Slug | None = None
    openai: Slug | None = None
    bob: Slug | None = None


class NewKey(Sent):
    label: Label
    kind: Literal["live", "test"] = "live"
    days: Days | None = None


class Rotation(Sent):
    overlap_h: Overlap = 24


class NewAgentKey(Sent):
    """agent_key: the agent's own provider key; only its digest is kept."""

    label: Label
    agent_key: Annotated[str, StringConstraints(max_length=512)]


class NewToken(Sent):
    """organisation, tenant: where it may be used, everywhere that its maker may by default."""

    name: Label
    scopes: list[Name] = Field(min_length=1, max_length=40)
    organisation: Uid | None = None
    tenant: Uid | None = None
    days: Days = 90
    ip_allow: list[Name] = Field(default_factory=list, max_length=20)


class NewSecret(Sent):
    """owner: uid of an organisation or a tenant, "" for the deployment."""

    owner: Uid = ""
    name: Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_-]{0,63}$")]
    kind: Literal["provider_key", "webhook_hmac", "smtp", "oidc_client", "other"]
    value: Value


class SecretValue(Sent):
    value: Value


class UpstreamTerms(Sent):
    """key_secret: uid of a provider key of the deployment, "" to forward the caller's own."""

    base_url: Url
    allow_insecure: bool = False
    allow_private: bool = False
    key_secret: Uid = ""
    key_header: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9-]{0,64}$")] = ""
    allow_server_state: bool = False
    header_timeout_s: Annotated[int, Field(ge=0, le=3600)] = 0
    enabled: bool = True


class NewUpstream(UpstreamTerms):
    name: Slug
    dialect: Literal["anthropic", "openai", "bob"]


class MyChange(Sent):
    display_name: Name | None = None
    theme: Literal["auto", "light", "dark"] | None = None


class NewPassword(Sent):
    current: Annotated[str, StringConstraints(max_length=1024)]
    new: Annotated[str, StringConstraints(max_length=1024)]


# ---- what is answered -------------------------------------------------------------------------


class OrganisationOut(BaseModel):
    uid: str
    slug: str
    name: str
    policy: Json
    created_at: int


class MemberOut(BaseModel):
    """uid: the person's. tenants: [] for all of the organisation."""

    uid: str
    email: str
    display_name: str
    role: str
    tenants: list[str]
    is_active: bool
    since: int


class InvitationOut(BaseModel):
    uid: str
    email: str
    role: str
    tenants: list[str]
    created_by: str
    created_at: int
    expires_at: int


class InvitationLink(InvitationOut):
    """link: the way in, shown a single time; null where it went by mail and nobody else sees it."""

    link: str | None


class KeyOut(BaseModel):
    """last_used_at: as nodes reported it, null when none did."""

    uid: str
    label: str
    kind: str
    prefix: str
    created_at: int
    expires_at: int | None
    revoked_at: int | None
    last_used_at: int | None


class KeyText(KeyOut):
    """key: the text, shown a single time."""

    key: str | None


class KeysOut(BaseModel):
    items: list[KeyOut]


class AgentKeyOut(BaseModel):
    uid: str
    label: str
    created_at: int
    last_used_at: int | None


class AgentKeysOut(BaseModel):
    items: list[AgentKeyOut]


class TokenOut(BaseModel):
    uid: str
    name: str
    prefix: str
    scopes: list[str]
    organisation: str | None
    tenant: str | None
    ip_allow: list[str]
    created_by: str
    created_at: int
    expires_at: int
    last_used_at: int | None
    revoked_at: int | None


class TokenText(TokenOut):
    """token: the text, shown a single time."""

    token: str | None


class TokensOut(BaseModel):
    items: list[TokenOut]


class SecretOut(BaseModel):
    """Everything that is ever answered about a secret."""

    uid: str
    owner: str
    name: str
    kind: str
    set: bool
    fingerprint: str
    version: int
    updated_at: int
    updated_by: str
    used_by: list[str]


class SecretsOut(BaseModel):
    items: list[SecretOut]


class UpstreamOut(BaseModel):
    uid: str
    name: str
    dialect: str
    etag: str
    base_url: str
    allow_insecure: bool
    allow_private: bool
    key_secret: str | None
    key_header: str
    allow_server_state: bool
    header_timeout_s: int
    enabled: bool
    tenants: int


class UpstreamsOut(BaseModel):
    items: list[UpstreamOut]


class CheckedUpstream(BaseModel):
    """rule: the name of the rule that the address breaks now, "" for none."""

    ok: bool
    rule: str
    detail: str


class MembersOut(BaseModel):
    items: list[MemberOut]


class InvitationsOut(BaseModel):
    items: list[InvitationOut]


class MeOut(BaseModel):
    uid: str
    email: str
    display_name: str
    theme: str


class MachineOut(BaseModel):
    uid: str
    label: str
    ip: str
    created_at: int
    last_seen_at: int
    expires_at: int
    is_this_one: bool


class MachinesOut(BaseModel):
    items: list[MachineOut]
