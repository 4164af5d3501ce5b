"""Answers of the API (04 §0.3, 6.3). Times are milliseconds since the epoch."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import BaseModel, ConfigDict

from controlplane.api.sent import (
    Archive as Archive,
)
from controlplane.api.sent import (
    Change as Change,
)
from controlplane.api.sent import (
    Clone as Clone,
)
from controlplane.api.sent import (
    Described as Described,
)
from controlplane.api.sent import (
    EditIn as EditIn,
)
from controlplane.api.sent import (
    Fix as Fix,
)
from controlplane.api.sent import (
    Form as Form,
)
from controlplane.api.sent import (
    Mine as Mine,
)
from controlplane.api.sent import (
    NewDraft as NewDraft,
)
from controlplane.api.sent import (
    NewPlan as NewPlan,
)
from controlplane.api.sent import (
    NewPreset as NewPreset,
)
from controlplane.api.sent import (
    NewVersion as NewVersion,
)
from controlplane.api.sent import (
    Promotion as Promotion,
)
from controlplane.api.sent import (
    Reason as Reason,
)
from controlplane.api.sent import (
    Text as Text,
)
from controlplane.api.sent import (
    Uid as Uid,
)

Json = dict[str, Any]


def ms(moment: datetime) -> int:
    return int(moment.timestamp() * 1000)


class Problem(BaseModel):
    """The envelope of every refusal."""

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
    rpm_limit: int
    concurrent_limit: int
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
    """status: ack, nack or pending; version: of the published resource.

    nodes: how many answered. waiting: ids of nodes that have not; apart: of those that serve a
    bundle of their own and do not follow.
    """

    status: str
    version: int
    nodes: int
    serving: int | None
    problems: list[Json]
    waiting: list[str] = []
    apart: list[str] = []


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
