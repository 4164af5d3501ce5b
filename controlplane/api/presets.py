"""Presets: the packaged ones to read, an organisation's to keep (04 §3.2, 6.3)."""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus
from typing import Any

from django.http import HttpRequest, HttpResponse
from ninja import Query, Router, Status
from pydantic import BaseModel

from controlplane.accounts.models import Organisation
from controlplane.api import schemas, shown
from controlplane.api.access import lacking, plain, scope_of
from controlplane.api.conditions import based_on, is_unchanged, quoted
from controlplane.api.operations import operation
from controlplane.api.refusals import RefusedError, invalid, not_found
from controlplane.api.retries import key_required
from controlplane.api.targets import organisation_named, preset_named
from controlplane.configs import visible
from controlplane.configs.actions import promote as put_in_force
from controlplane.configs.models import ConfigVersion, Preset
from controlplane.configs.plans import etag_of
from controlplane.configs.preset_rows import PresetRow, preset_rows
from controlplane.configs.presets import (
    Beginning,
    Labels,
    archive_preset,
    create_preset,
    describe_preset,
)
from controlplane.configs.usage import usage_of
from dataplane.core.config.presets import BUILT_IN, find

router = Router(tags=["presets"])
READ, WRITE, PROMOTE = "config:read", "config:write", "rollout:write"
CREATED = {201: schemas.PresetText}


class Filters(BaseModel):
    archived: bool = False


@operation(
    router, "GET", "/presets", scope=READ, tenancy="organisation",
    response={200: schemas.PresetsOut},
)  # fmt: skip
def list_presets(request: HttpRequest, filters: Query[Filters]) -> dict[str, Any]:
    """The packaged presets, then those of the caller's organisations, with who uses them."""
    rows = preset_rows(scope_of(request), archived=filters.archived)
    return {"items": [_shown(row) for row in rows]}


def _shown(row: PresetRow) -> dict[str, Any]:
    return {**{name: getattr(row, name) for name in row.__slots__}, "is_packaged": row.is_packaged}


@operation(
    router, "GET", "/presets/{name}", scope=READ, tenancy="organisation", cached=True,
    errors=(409,), response={200: schemas.PresetText},
)  # fmt: skip
def get_preset(request: HttpRequest, name: str, response: HttpResponse) -> Any:
    """One preset with the text in force; by uid where two organisations use one name."""
    found = _row(request, name)
    response.headers["ETag"] = quoted(found["etag"])
    if is_unchanged(request, found["etag"]):
        return Status(304, None)
    return found


def _row(request: HttpRequest, name: str) -> dict[str, Any]:
    packaged = find(BUILT_IN, plain(name))
    record = None if packaged else preset_named(scope_of(request), name)
    uid = record.uid if record else ""
    for row in preset_rows(scope_of(request), archived=True):
        if packaged and row.is_packaged and row.name == packaged.name:
            etag = f"p{row.version}-{packaged.name}"
            return {**_shown(row), "source_yaml": packaged.text, "etag": etag}
        if record and row.uid == uid:
            version = record.document.promoted or record.document.head
            source = version.source if version else ""
            return {**_shown(row), "source_yaml": source, "etag": etag_of(record.document)}
    raise not_found(f"preset {plain(name)}")


@operation(
    router, "POST", "/presets", scope=WRITE, tenancy="organisation", response=CREATED
)  # fmt: skip
def create(request: HttpRequest, body: schemas.NewPreset, response: HttpResponse) -> Any:
    """A preset from a text, or from an empty pipeline; its first version is in force."""
    organisation = _place(request, body.organisation)
    source = "pipeline: []\n" if body.source_yaml is None else body.source_yaml
    first = Beginning(source=source, message=body.message, origin=ConfigVersion.Origin.API)
    about = Labels(title=body.title, description=body.description, labels=body.labels)
    by = scope_of(request).principal
    return _created(request, create_preset(organisation, body.name, first, by, about), response)


@operation(
    router, "POST", "/presets/{name}/clone", scope=WRITE, tenancy="organisation", response=CREATED
)  # fmt: skip
def clone(request: HttpRequest, name: str, body: schemas.Clone, response: HttpResponse) -> Any:
    """A copy of one version's text under a name of its own."""
    organisation = _place(request, body.organisation)
    source, reference = _copied(request, name, body.version)
    first = Beginning(source=source, message=body.message, cloned_from=reference)
    preset = create_preset(organisation, body.name, first, scope_of(request).principal)
    return _created(request, preset, response)


def _copied(request: HttpRequest, name: str, number: int | None) -> tuple[str, str]:
    packaged = find(BUILT_IN, name)
    if packaged is not None:
        if number not in (None, packaged.version):
            raise not_found()
        return packaged.text, f"{packaged.name}@{packaged.version}"
    record = _found(request, name)
    promoted = record.document.promoted
    wanted = number if number is not None else (promoted.number if promoted else 0)
    version = _version(record, wanted)
    return version.source, f"{record.name}@{version.number}"


def _created(request: HttpRequest, preset: Preset, response: HttpResponse) -> Any:
    found = _row(request, preset.uid)
    response.headers["ETag"] = quoted(found["etag"])
    response.headers["Location"] = f"/api/v1/presets/{preset.uid}"
    return Status(201, found)


@operation(
    router, "PATCH", "/presets/{name}", scope=WRITE, tenancy="organisation", conditional=True,
    response={200: schemas.PresetText},
)  # fmt: skip
def describe(request: HttpRequest, name: str, body: schemas.Described) -> Any:
    """Change what people read about a preset; its text is a document's."""
    record = _changeable(request, name)
    based_on(request, record.document)
    about = Labels(title=body.title, description=body.description, labels=body.labels)
    describe_preset(record, about, scope_of(request).principal)
    return _row(request, record.uid)


@operation(
    router, "POST", "/presets/{name}/archive", scope=WRITE, tenancy="organisation",
    response={200: schemas.PresetText},
)  # fmt: skip
def archive(request: HttpRequest, name: str, body: schemas.Archive) -> Any:
    """Offer it for new uses no more, or again; whoever names it keeps it."""
    record = _changeable(request, name)
    archive_preset(record, scope_of(request).principal, archived=body.archived)
    return _row(request, record.uid)


@operation(
    router, "POST", "/presets/{name}/promote", scope=PROMOTE, tenancy="organisation",
    conditional=True, response={200: schemas.PresetText},
)  # fmt: skip
def promote(request: HttpRequest, name: str, body: schemas.Promotion) -> Any:
    """Put a saved version in force for all who follow the preset; an older one rolls back."""
    key_required(request)
    record = _changeable(request, name, PROMOTE)
    based_on(request, record.document)
    version = _version(record, body.version)
    put_in_force(version, body.message, scope_of(request).principal)
    return _row(request, record.uid)


@operation(
    router, "GET", "/presets/{name}/usage", scope=READ, tenancy="organisation", errors=(409,),
    response={200: schemas.UsageOut},
)  # fmt: skip
def usage(request: HttpRequest, name: str) -> dict[str, Any]:
    """Who names the preset, following or pinned, among the tenants that the caller may see."""
    scope = scope_of(request)
    seen = set(scope.tenants().values_list("uid", flat=True))
    packaged = find(BUILT_IN, plain(name))
    owner = None if packaged else _found(request, name).organisation
    places: Sequence[Organisation] = [owner] if owner else list(visible.organisations(scope))
    found = usage_of(packaged.name if packaged else _found(request, name).name, owner, places)
    users = [user for user in found.users if user.kind != "tenant" or user.uid in seen]
    following = sum(user.pinned is None for user in users)
    return {
        "following": following,
        "pinned": len(users) - following,
        "users": shown.as_rows(users),
    }


def _place(request: HttpRequest, name: str) -> Organisation:
    scope = scope_of(request)
    found = organisation_named(scope, name)
    if found is None:
        raise invalid("/organisation", "There is no such organisation.")
    if not scope.may_in(WRITE, found):
        raise lacking(scope, WRITE)
    return found


def _found(request: HttpRequest, name: str) -> Preset:
    record = preset_named(scope_of(request), name)
    if record is None:
        raise not_found(f"preset {plain(name)}")
    return record


def _changeable(request: HttpRequest, name: str, permission: str = WRITE) -> Preset:
    if find(BUILT_IN, plain(name)) is not None:
        detail = "A packaged preset is changed by no one. Clone it."
        raise RefusedError(HTTPStatus.CONFLICT, "conflict.state", detail)
    record = _found(request, name)
    if not scope_of(request).may_in(permission, record.organisation):
        raise lacking(scope_of(request), permission)
    return record


def _version(record: Preset, number: int) -> ConfigVersion:
    found = ConfigVersion.objects.filter(document=record.document, number=number).first()
    if found is None:
        raise invalid("/version", "The preset has no such version.")
    found.document = record.document
    return found
