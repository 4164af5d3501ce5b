"""Bodies of the API (04 sections 0.3, 6.3). Times are milliseconds since the epoch."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

NO_CONTROL = r"^[^\x00-\x08\x0b\x0c\x0e-\x1f]*$"
Json = dict[str, Any]
Message = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=3, max_length=500, pattern=NO_CONTROL),
]
Name = Annotated[str, StringConstraints(max_length=120, pattern=NO_CONTROL)]
Slug = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9-]{1,39}$")]
Uid = Annotated[str, StringConstraints(max_length=64, pattern=r"^[a-z0-9_/@-]*$")]
Number = Annotated[int, Field(ge=0, le=2**31 - 1)]


def ms(moment: datetime) -> int:
    return int(moment.timestamp() * 1000)


class Sent(BaseModel):
    """What a caller sends: exact types, no field that is not known."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Problem(BaseModel):
    """The envelope of every refusal (section 2.4)."""

    model_config = ConfigDict(extra="allow")

    type: str
    title: str
    status: int
    code: str
    request_id: str
    detail: str
    errors: list[Json]
    warnings: list[Json]
    advice: list[Json]
    truncated: bool


# ---- what is sent -----------------------------------------------------------------------------


class Text(Sent):
    """target: as in a validation, "" for a tenant that has nothing but the server default."""

    source_yaml: str
    target: Uid = ""


class NewVersion(Sent):
    source_yaml: str
    message: Message


class Reason(Sent):
    message: Message


class Form(Sent):
    """fields: JSON pointer to a value, null deletes the key; pipeline: the whole new list."""

    fields: dict[str, Any] = Field(default_factory=dict)
    pipeline: list[Name] | None = None
    message: Message


class NewDraft(Sent):
    source_yaml: str
    base: Number = 0


class Mine(Sent):
    source_yaml: str
    base: Number


class EditIn(Sent):
    """One machine-applicable edit of section 2.4."""

    op: Literal["delete", "rename", "move", "set", "insert_after"]
    path: Annotated[str, StringConstraints(max_length=500, pattern="^(/.*)?$")]
    to: Annotated[str, StringConstraints(max_length=500)] | None = None
    anchor: Annotated[str, StringConstraints(max_length=500)] | None = None
    value: Any = None


class Fix(Text):
    """edits: those of one problem's replacement; none applies every fix of an error."""

    edits: list[EditIn] = Field(default_factory=list, max_length=100)


class NewPreset(Sent):
    """From source_yaml, or a copy of clone: a preset's name, with @version for an older one."""

    organisation: Uid
    name: Slug
    source_yaml: str | None = None
    message: Message
    title: Name = ""
    description: Annotated[str, StringConstraints(max_length=500, pattern=NO_CONTROL)] = ""
    labels: list[Name] = Field(default_factory=list, max_length=20)


class Clone(Sent):
    """version: of the preset that is copied, the promoted one by default."""

    organisation: Uid
    name: Slug
    version: Number | None = None
    message: Message = "Cloned"


class Described(Sent):
    title: Name = ""
    description: Annotated[str, StringConstraints(max_length=500, pattern=NO_CONTROL)] = ""
    labels: list[Name] = Field(default_factory=list, max_length=20)


class Archive(Sent):
    archived: bool = True


class Promotion(Sent):
    """version: the number to put in force; an older one rolls back."""

    version: Number
    message: Message


class Change(Sent):
    target: Uid
    source_yaml: str


class NewPlan(Sent):
    changes: list[Change] = Field(min_length=1, max_length=20)
    message: Message


# ---- what is answered -------------------------------------------------------------------------


class Person(BaseModel):
    uid: str
    email: str
    display_name: str


class MembershipOut(BaseModel):
    role: str
    organisation: str | None
    tenants: list[str]


class DeploymentOut(BaseModel):
    profile: str
    version: str
    schema_version: int
    registration: str


class WhoAmI(BaseModel):
    authenticated: bool
    user: Person | None
    token: str | None
    memberships: list[MembershipOut]
    permissions: list[str]
    deployment: DeploymentOut


class TenantOut(BaseModel):
    uid: str
    slug: str
    label: str
    organisation: str
    organisation_slug: str
    document: str
    follows: bool
    upstreams: dict[str, str]
    disabled_at: int | None
    disabled_reason: str
    created_at: int


class VersionOut(BaseModel):
    """parent: the number of the version that its author started from."""

    uid: str
    document: str
    number: int
    kind: str
    etag: str
    parent: int | None
    origin: str
    author: str
    token: str | None
    message: str
    content_hash: str
    source_sha256: str
    schema_version: int
    created_at: int
    is_head: bool
    is_promoted: bool


class VersionText(VersionOut):
    source_yaml: str
    canonical: Json | None
    warnings: list[Json]


class DocumentOut(BaseModel):
    uid: str
    kind: str
    name: str
    organisation: str | None
    tenant: str | None
    preset: str | None
    etag: str
    head: VersionOut | None
    promoted: VersionOut | None
    follows: bool
    may_write: bool
    created_at: int


class Acknowledged(BaseModel):
    """status: ack, nack or pending; version: of the published resource."""

    status: str
    version: int
    nodes: int
    serving: int | None
    problems: list[Json]


class Saved(BaseModel):
    """acknowledgement: of a tenant's document, what the nodes said within two seconds."""

    unchanged: bool
    version: VersionText
    acknowledgement: Acknowledged | None


class DraftOut(BaseModel):
    document: str
    source_yaml: str
    base: int
    updated_at: int
    others: list[str]


class ReportOut(BaseModel):
    ok: bool
    detail: str
    errors: list[Json]
    warnings: list[Json]
    advice: list[Json]
    truncated: bool
    schema_version: int
    canonical_hash: str | None
    effective_hash: str | None


class Mended(BaseModel):
    source_yaml: str
    report: ReportOut


class HunkOut(BaseModel):
    outcome: str
    base: list[str]
    theirs: list[str]
    mine: list[str]


class MergeOut(BaseModel):
    hunks: list[HunkOut]
    source_yaml: str
    conflicts: int
    etag: str


class OriginOut(BaseModel):
    layer: str
    text: str
    line: int | None


class OverriddenOut(BaseModel):
    value: Any
    origin: OriginOut


class RowOut(BaseModel):
    path: str
    component: str
    name: str
    value: Any
    origin: OriginOut
    overridden: list[OverriddenOut]
    unit: str
    meaning: str
    is_ignored: bool


class EffectiveOut(BaseModel):
    effective_hash: str
    document: Json
    rows: list[RowOut]


class RevisionOut(BaseModel):
    uid: str
    tenant: str
    number: int
    effective_hash: str
    schema_version: int
    reason: str
    caused_by: str
    inputs: list[Json]
    created_at: int


class TenantEffective(EffectiveOut):
    revision: RevisionOut
    following: str


class DiffOut(BaseModel):
    """rows: the texts side by side; written: what the texts say; running: what would run."""

    left: str
    right: str
    rows: list[Json] | None
    unified: list[str] | None
    written: list[Json] | None
    running: list[Json] | None
    summary: list[str]
    impact: list[str]


class FieldOut(BaseModel):
    path: str
    name: str
    control: str
    title: str
    written: Any
    effective: Any
    default: Any
    unit: str
    choices: list[str | int]
    minimum: float | None
    maximum: float | None
    under: float | None
    zero_means: str
    secret: bool
    is_written: bool


class GroupOut(BaseModel):
    component: str
    title: str
    place: int | None
    kind: str
    calls_model: bool
    lacks: str
    fields: list[FieldOut]


class FormOut(BaseModel):
    groups: list[GroupOut]


class PresetOut(BaseModel):
    name: str
    uid: str
    document: str
    organisation: str
    version: int
    head: int
    title: str
    description: str
    labels: list[str]
    pipeline: list[str]
    calls_model: bool
    is_lossy: bool
    is_sound: bool
    is_packaged: bool
    is_archived: bool
    cloned_from: str
    base_changed: bool
    following: int
    pinned: int


class PresetText(PresetOut):
    source_yaml: str
    etag: str


class PresetsOut(BaseModel):
    items: list[PresetOut]


class UserOut(BaseModel):
    kind: str
    uid: str
    name: str
    reference: str
    pinned: int | None
    via: str


class UsageOut(BaseModel):
    following: int
    pinned: int
    users: list[UserOut]


class PlanOut(BaseModel):
    uid: str
    message: str
    target: list[str]
    base: dict[str, str]
    plan_hash: str
    diff: list[Json]
    affected: list[Json]
    validation: list[Json]
    expires_at: int
    applied_at: int | None


class Applied(BaseModel):
    plan: str
    versions: list[VersionOut]
    acknowledgements: dict[str, Acknowledged]


class SchemaOut(BaseModel):
    """registry: JSON Schema of a document; components: what a schema cannot say of them."""

    version: int
    registry: Json
    components: list[Json]
    presets: list[str]
