"""Validate, resolve, fix and compare without saving; the registry (04 §6.3)."""

from __future__ import annotations

from typing import Any, Literal

from django.http import HttpRequest
from ninja import Query, Router
from pydantic import BaseModel, Field

from controlplane.api import schemas, shown
from controlplane.api.access import readable, scope_of
from controlplane.api.limits import CHECKS
from controlplane.api.operations import JSON, YAML, operation
from controlplane.api.refusals import invalid, not_found
from controlplane.api.targets import document_named
from controlplane.configs import comparing, drafts, visible
from controlplane.configs.catalogue import presets_for
from controlplane.configs.checking import checked_as
from controlplane.configs.comparing import Side
from controlplane.configs.effective_rows import effective_rows
from controlplane.configs.released import registry_facts
from controlplane.configs.reports import all_fixed, fixed, keep_report, report
from controlplane.fleet import running
from dataplane.core.components import components
from dataplane.core.config.problems import ConfigError, Edit
from dataplane.core.config.registry import SCHEMA_VERSION, json_schema, registry

router = Router(tags=["checks"])
READ = "config:read"


class Target(BaseModel):
    target: schemas.Uid = ""


@operation(
    router, "POST", "/validate", scope=READ, tenancy="organisation", rate=CHECKS,
    media=(JSON, YAML), response={200: schemas.ReportOut},
    openapi={"requestBody": {"content": {YAML: {"schema": {"type": "string"}}}}},
)  # fmt: skip
def validate(request: HttpRequest, query: Query[Target], body: schemas.Text) -> schemas.ReportOut:
    """Every problem of a text, in the place that it is meant for; 422 when there are errors.

    The text may be the body itself, as text/yaml, with the target in the query.
    """
    document = document_named(request, body.target or query.target)
    principal = scope_of(request).principal
    checked = checked_as(document, body.source_yaml, principal)
    if checked.errors:
        raise ConfigError(checked.problems)
    found = report(document, body.source_yaml, principal)
    if principal is not None and principal.token is not None:
        keep_report(found, body.source_yaml, body.target)
    return shown.report(found)


@operation(
    router, "POST", "/effective", scope=READ, tenancy="organisation", rate=CHECKS,
    response={200: schemas.EffectiveOut},
)  # fmt: skip
def resolve(request: HttpRequest, body: schemas.Text) -> dict[str, Any]:
    """What would run if the text were saved, with the origin of every value; nothing is."""
    document = document_named(request, body.target)
    checked = checked_as(document, body.source_yaml, scope_of(request).principal)
    if checked.effective is None:
        raise ConfigError(checked.problems)
    return {
        "effective_hash": checked.effective.effective_hash,
        "document": checked.effective.document,
        "rows": shown.as_rows(effective_rows(checked.effective, running.imposed())),
    }


@operation(
    router, "POST", "/fix", scope=READ, tenancy="organisation", rate=CHECKS,
    response={200: schemas.Mended},
)  # fmt: skip
def fix(request: HttpRequest, body: schemas.Fix) -> schemas.Mended:
    """Apply the edits of a problem, or every fix there is, to a text; comments stay."""
    document = document_named(request, body.target)
    principal = scope_of(request).principal
    if body.edits:
        edits = [Edit(**edit.model_dump()) for edit in body.edits]
        after, found = fixed(document, body.source_yaml, edits, principal)
    else:
        after, found = all_fixed(document, body.source_yaml, principal)
    return schemas.Mended(source_yaml=after, report=shown.report(found))


class Sides(BaseModel):
    """left, right: ver_… a version, eff_… a revision, doc_… one's draft of a document."""

    left: schemas.Uid
    right: schemas.Uid
    view: Literal["text", "semantic", "effective", "summary", "all"] = "all"


@operation(
    router, "GET", "/diff", scope=READ, tenancy="organisation",
    response={200: schemas.DiffOut},
)  # fmt: skip
def diff(request: HttpRequest, sides: Query[Sides]) -> dict[str, Any]:
    """What differs between two states: as texts, as keys, as what runs, in sentences."""
    return _compared(_side(request, sides.left), _side(request, sides.right), sides.view)


class Candidate(schemas.Text):
    """Compared with the newest text of its target, or with left: a version or revision."""

    left: schemas.Uid = ""
    view: Literal["text", "semantic", "effective", "summary", "all"] = Field(default="all")


@operation(
    router, "POST", "/diff", scope=READ, tenancy="organisation",
    response={200: schemas.DiffOut},
)  # fmt: skip
def diff_text(request: HttpRequest, body: Candidate) -> dict[str, Any]:
    """The same with a text that is not saved on the right."""
    document = document_named(request, body.target)
    principal = scope_of(request).principal
    right = comparing.text_side(document, body.source_yaml, "yours", principal)
    if body.left:
        left = _side(request, body.left)
    else:
        source = document.head.source if document.head else ""
        left = comparing.text_side(document, source, "newest", principal)
    return _compared(left, right, body.view)


def _side(request: HttpRequest, uid: str) -> Side:
    scope = scope_of(request)
    if uid.startswith("eff_"):
        revision = visible.revisions(scope).filter(uid=uid).first()
        if revision is not None:
            return comparing.revision_side(revision)
    elif uid.startswith("ver_"):
        version = visible.versions(scope).filter(uid=uid).first()
        if version is not None:
            return comparing.version_side(version)
    elif uid.startswith("doc_"):
        return _draft_side(request, uid)
    else:
        raise invalid("left", "Write the uid of a version, a revision or a document.")
    raise not_found()


def _draft_side(request: HttpRequest, uid: str) -> Side:
    document, principal = readable(request, uid), scope_of(request).principal
    draft = drafts.draft_of(document, principal.user) if principal else None
    if draft is None:
        raise not_found()
    return comparing.text_side(document, draft.source, "your draft", principal)


def _compared(left: Side, right: Side, view: str) -> dict[str, Any]:
    found = comparing.compare(left, right)
    every = view == "all"
    return {
        "left": found.left,
        "right": found.right,
        "rows": shown.as_rows(found.rows) if every or view == "text" else None,
        "unified": found.unified if every or view == "text" else None,
        "written": _changes(found.written) if every or view == "semantic" else None,
        "running": _changes(found.running) if every or view == "effective" else None,
        "summary": list(found.summary.sentences),
        "impact": list(found.summary.impact),
    }


def _changes(found: Any) -> list[dict[str, Any]] | None:
    return None if found is None else shown.as_rows(found)


@operation(
    router, "GET", "/schema", scope=READ, tenancy="organisation",
    response={200: schemas.SchemaOut},
)  # fmt: skip
def get_schema(request: HttpRequest) -> dict[str, Any]:
    """The legal keys with types, bounds and meanings; gates, refusals, presets to name."""
    known = components()
    names = [preset.name for preset in presets_for(None, [])]
    for organisation in visible.organisations(scope_of(request)):
        names += [preset.name for preset in presets_for(organisation, []) if not preset.archived]
    return {
        "version": SCHEMA_VERSION,
        "registry": json_schema(registry(known)),
        "components": registry_facts(known),
        "presets": list(dict.fromkeys(names)),
    }
