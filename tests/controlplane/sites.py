"""A deployment with something of every kind in it, and a visitor of every kind."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from django.db.transaction import atomic, set_rollback
from django.test import Client

from controlplane.accounts.actions import create_organisation, create_tenant, issue_key
from controlplane.accounts.agent_keys import bind_agent_key
from controlplane.accounts.members import invite
from controlplane.accounts.models import Organisation, Tenant, User
from controlplane.accounts.tokens import TokenTerms, issue_token
from controlplane.accounts.upstreams import create_upstream
from controlplane.accounts.vault import put_secret
from controlplane.accounts.websessions import Machine, admit
from controlplane.configs.actions import ensure_server_default, save_version
from controlplane.configs.documents import document_of
from controlplane.configs.presets import Beginning, create_preset
from tests.controlplane import watched_deeds
from tests.controlplane.conftest import person

VISITORS = ("anonymous", "foreign", "viewer", "operator", "admin", "manager")
SIGN_IN = "sign in"  # led to the sign-in page
Expected = int | str


@contextmanager
def two_organisations(blocker: Any) -> Iterator[tuple[Tenant, Tenant]]:
    """A tenant of one slug in each, for all tests of a module: whatever they do is rolled back.

    blocker: pytest-django's, which lets nobody else ask a database meanwhile.
    """
    with blocker.unblock(), atomic("default"), atomic("telemetry"):
        ensure_server_default()
        acme, globex = (
            create_organisation(name=name.title(), slug=name, by=None)
            for name in ("acme", "globex")
        )
        yield (
            create_tenant(acme, slug="orchid", by=None),
            create_tenant(globex, slug="orchid", by=None),
        )
        for database in ("default", "telemetry"):
            set_rollback(True, using=database)


@dataclass
class Site:
    """A deployment, and a signed-in client of each kind."""

    clients: Mapping[str, Client]
    places: Mapping[str, str]

    def path(self, route: str) -> str:
        for placeholder, value in self.places.items():
            route = route.replace(placeholder, value)
        assert "<" not in route, f"no value for a placeholder of {route}: add it to places"
        return f"/{route}"

    def answer(self, visitor: str, method: str, route: str, body: Mapping[str, str]) -> Expected:
        client = self.clients[visitor]
        path = self.path(route)
        if method == "GET":
            found = client.get(path, body)
        elif method == "POST":
            found = client.post(path, body)
        else:
            found = client.generic(method, path)
        where = found.get("location", "")
        return SIGN_IN if where.startswith("/login?") else found.status_code


def deployed(tenant: Tenant, other_tenant: Tenant) -> Site:
    key, _ = issue_key(tenant, "first", None)
    lab = create_upstream(
        name="lab", dialect="openai", base_url="https://api.example", by=None,
        resolve=lambda _host: (),
    )  # fmt: skip
    clients = {visitor: signed_in(visitor, tenant, other_tenant) for visitor in VISITORS}
    places = {
        "<str:name>": "mask",
        "<slug:slug>": tenant.uid,
        "<slug:uid>": key.uid,
        "<slug:upstream>": lab.uid,
    }
    admin = User.objects.get(email="admin@example.com")
    watched = watched_deeds.places_of(tenant, admin)
    return Site(clients, {**places, **people_of(tenant), **documents_of(tenant), **watched})


def documents_of(tenant: Tenant) -> dict[str, str]:
    """The tenant's document and a preset of its organisation, with one version each."""
    save_version(document_of(tenant), "mode: sync\n", "first", None)
    first = Beginning(source="pipeline: [mask]\n", message="first")
    preset = create_preset(tenant.organisation, "lean", first, None)
    return {
        "<slug:handle>": tenant.uid,
        "<slug:preset>": preset.uid,
        "<int:number>": "1",
        "<slug:form>": "yaml",
        "<str:code>": "config.removed_key",
    }


def people_of(tenant: Tenant) -> dict[str, str]:
    """Somebody of the visited organisation, and what belongs to its admin."""
    organisation = tenant.organisation
    admin = User.objects.get(email="admin@example.com")
    colleague = person("viewer", organisation, "colleague@example.com")
    invitation, _ = invite("guest@example.com", organisation, "viewer", None)
    binding = bind_agent_key(tenant, "sk-" + "b" * 24, "Cline", None)
    token, _ = issue_token(admin, "ci", admin, TokenTerms(organisation=organisation))
    secret = put_secret(organisation, "hook", "value", kind="other", by=None)
    machine = admit("a session key", admin, Machine("Firefox", "192.0.2.1"))
    assert machine is not None
    return {
        "<slug:place>": organisation.uid,
        "<slug:person>": colleague.uid,
        "<slug:invitation>": invitation.uid,
        "<slug:binding>": binding.uid,
        "<slug:token>": token.uid,
        "<slug:secret>": secret.uid,
        "<slug:session>": machine.session.uid,
        "<str:link>": "cg_link_unknown",
    }


def signed_in(visitor: str, tenant: Tenant, other_tenant: Tenant) -> Client:
    client = Client()
    if visitor == "anonymous":
        return client
    places: dict[str, tuple[str, Organisation | None]] = {
        "foreign": ("admin", other_tenant.organisation),
        "manager": ("manager", None),
    }
    role, organisation = places.get(visitor, (visitor, tenant.organisation))
    client.force_login(person(role, organisation, f"{visitor}@example.com"))
    return client
