"""What a text is for, as callers name it: tenant/acme/orchid, preset/lean, a uid (04 §4.9)."""

from __future__ import annotations

from django.http import HttpRequest

from controlplane.accounts.models import Organisation
from controlplane.accounts.problems import AmbiguousNameError
from controlplane.accounts.scopes import Scope
from controlplane.api.access import plain, scope_of, tenant_named
from controlplane.api.refusals import invalid, not_found
from controlplane.configs import visible
from controlplane.configs.documents import document_of, org_default
from controlplane.configs.models import ConfigDocument, Preset

FORMS = "server, organisation/NAME, tenant/NAME, preset/NAME, new-preset/ORGANISATION, or a uid"
UIDS = ("doc_", "ten_", "pre_", "org_")
READ = "config:read"
KINDS = {"doc_": "document", "ten_": "tenant", "pre_": "preset", "org_": "organisation"}


def document_named(request: HttpRequest, target: str) -> ConfigDocument:
    """The document that a target names; without one, a tenant's that has only the server default.

    Absent when the caller may not see it.
    """
    if not target:
        return ConfigDocument(kind=ConfigDocument.Kind.TENANT)
    scope = scope_of(request)
    kind, _, name = plain(target).partition("/")
    if target.startswith(UIDS):
        kind, name = KINDS[target[:4]], target
    named = {
        "server": _server,
        "document": _document,
        "tenant": _tenant,
        "preset": _preset,
        "organisation": _default,
        "new-preset": _new_preset,
    }
    if kind not in named:
        raise invalid("/target", f"Write one of: {FORMS}.")
    found = named[kind](scope, name)
    if found is None:
        raise not_found(f"{kind} {name}".strip())
    return found


def _document(scope: Scope, uid: str) -> ConfigDocument | None:
    return visible.documents(scope).filter(uid=uid).first()


def _server(scope: Scope, _name: str) -> ConfigDocument | None:
    return visible.documents(scope).filter(kind=ConfigDocument.Kind.SERVER_DEFAULT).first()


def _tenant(scope: Scope, name: str) -> ConfigDocument | None:
    """slug, organisation/slug or uid."""
    place, _, slug = name.rpartition("/")
    if place:
        tenant = scope.tenants().filter(slug=slug, organisation__slug=place).first()
    else:
        tenant = tenant_named(scope, name, READ)
    return document_of(tenant) if tenant else None


def _default(scope: Scope, name: str) -> ConfigDocument | None:
    found = organisation_named(scope, name)
    return org_default(found) if found else None


def _preset(scope: Scope, name: str) -> ConfigDocument | None:
    found = preset_named(scope, name)
    return visible.documents(scope).filter(pk=found.document_id).first() if found else None


def _new_preset(scope: Scope, name: str) -> ConfigDocument | None:
    found = organisation_named(scope, name)
    return new_preset_of(found) if found else None


def new_preset_of(organisation: Organisation, name: str = "new") -> ConfigDocument:
    """A document that is not saved, to check the text of a preset that does not exist yet."""
    document = ConfigDocument(kind=ConfigDocument.Kind.PRESET, organisation=organisation)
    document.preset = Preset(organisation=organisation, name=name)
    return document


def organisation_named(scope: Scope, name: str) -> Organisation | None:
    """By slug or uid."""
    seen = visible.organisations(scope)
    return seen.filter(uid=name).first() or seen.filter(slug=name).first()


def preset_named(scope: Scope, name: str) -> Preset | None:
    """By uid, organisation/name, or a name that only one organisation in sight has."""
    place, _, own = plain(name).rpartition("/")
    seen = visible.presets(scope)
    if place:
        return seen.filter(organisation__slug=place, name=own).first()
    found = list(seen.filter(uid=name)) or list(seen.filter(name=name)[:2])
    if len(found) > 1:
        raise AmbiguousNameError("preset", [preset.uid for preset in found])
    return found[0] if found else None
