"""Who names a preset, with or without a version, directly or through another one (04 §3.2)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from controlplane.accounts.models import Organisation, Tenant
from controlplane.configs.models import ConfigDocument
from dataplane.core.config.presets import split

Kind = ConfigDocument.Kind


@dataclass(frozen=True, slots=True)
class User:
    """A tenant or a preset that is built on a preset. pinned: the version, None for following.

    via: the layer or preset that names it, "" for the user's own document.
    """

    kind: str
    uid: str
    name: str
    reference: str
    pinned: int | None
    via: str = ""


@dataclass(frozen=True, slots=True)
class Usage:
    following: int
    pinned: int
    users: tuple[User, ...]


class Uses:
    """Every use of every preset among some organisations, read in three queries."""

    def __init__(self, organisations: Iterable[Organisation]) -> None:
        places = list(organisations)
        documents = list(
            ConfigDocument.objects.filter(organisation__in=places).select_related(
                "promoted", "preset"
            )
        )
        tenants = Tenant.objects.filter(organisation__in=places).select_related(
            "organisation", "document__promoted"
        )
        shared = ConfigDocument.objects.filter(kind=Kind.SERVER_DEFAULT).select_related("promoted")
        self._server = next((_named(one) for one in shared), "")
        self._defaults = {
            one.organisation_id: _named(one) for one in documents if one.kind == Kind.ORG_DEFAULT
        }
        self._presets = [one for one in documents if one.kind == Kind.PRESET]
        self._tenants = list(tenants.order_by("organisation__slug", "slug"))

    def of(self, name: str, organisation: Organisation | None) -> Usage:
        """organisation: the owner, None for a packaged preset."""
        found = [
            *self._by_tenants(name, organisation),
            *self._by_presets(name, organisation),
        ]
        following = sum(user.pinned is None for user in found)
        return Usage(following, len(found) - following, tuple(found))

    def _by_tenants(self, name: str, organisation: Organisation | None) -> Iterator[User]:
        for tenant in self._tenants:
            place = tenant.organisation_id
            if organisation is not None and organisation.pk != place:
                continue
            reference, via = self._reference_of(tenant)
            for link, through in self._chain(reference, place):
                if split(link)[0] == name:
                    label = f"{tenant.organisation.slug}/{tenant.slug}"
                    at = through or via
                    yield User("tenant", tenant.uid, label, link, split(link)[1], at)

    def _by_presets(self, name: str, organisation: Organisation | None) -> Iterator[User]:
        for document in self._presets:
            reference = _named(document)
            is_here = organisation is None or organisation.pk == document.organisation_id
            if reference and is_here and split(reference)[0] == name:
                preset = document.preset
                yield User("preset", preset.uid, preset.name, reference, split(reference)[1])

    def _reference_of(self, tenant: Tenant) -> tuple[str, str]:
        """The preset that counts for a tenant, and the layer that names it."""
        own = _named(getattr(tenant, "document", None))
        if own:
            return own, ""
        default = self._defaults.get(tenant.organisation_id, "")
        return (default, "organisation default") if default else (self._server, "server default")

    def _chain(self, reference: str, place: int) -> Iterator[tuple[str, str]]:
        """The reference and what its preset extends, with the preset that names each."""
        extended: Mapping[str, str] = {
            one.preset.name: _named(one) for one in self._presets if one.organisation_id == place
        }
        through, seen = "", set[str]()
        while reference and reference not in seen:
            yield reference, through
            seen.add(reference)
            through = split(reference)[0]
            reference = extended.get(through, "")


def _named(document: ConfigDocument | None) -> str:
    """What a document in force says in `preset`, or a preset in `extends`; "" for nothing."""
    version = document.promoted if document else None
    written = json.loads(version.canonical) if version and version.canonical else {}
    return str(written.get("preset") or written.get("extends") or "")


def usage_of(name: str, organisation: Organisation | None, among: Sequence[Organisation]) -> Usage:
    """among: the organisations whose tenants the reader may see."""
    return Uses(among).of(name, organisation)
