"""Every operation of the API, every kind of caller, exactly the permitted answer (04 §A-01, A-02).

A new operation fails here until it has a line in LINES.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from django.db.transaction import atomic, set_rollback
from django.test import Client

from controlplane.accounts.actions import (
    choose_upstream,
    issue_key,
)
from controlplane.accounts.agent_keys import bind_agent_key
from controlplane.accounts.members import invite
from controlplane.accounts.models import Organisation, Tenant, User
from controlplane.accounts.roles import PERMISSIONS
from controlplane.accounts.scopes import Principal
from controlplane.accounts.tokens import TokenTerms, issue_token
from controlplane.accounts.upstream_urls import unresolved
from controlplane.accounts.upstreams import create_upstream
from controlplane.accounts.vault import put_secret
from controlplane.accounts.websessions import Machine, admit
from controlplane.api import limits
from controlplane.api.application import api
from controlplane.api.described import as_text
from controlplane.audit.models import AuditEvent
from controlplane.configs.actions import save_version
from controlplane.configs.documents import document_of
from controlplane.configs.plans import Proposal, make_plan
from controlplane.configs.presets import Beginning, create_preset
from controlplane.prices.actions import ensure_card
from controlplane.telemetry.models import NodeStream
from tests.controlplane.conftest import person
from tests.controlplane.sites import two_organisations

CALLERS = ("anonymous", "foreign", "viewer", "operator", "admin", "manager")
OK, MADE, EMPTY, NOBODY, FORBIDDEN, ABSENT, WRONG = 200, 201, 204, 401, 403, 404, 422
LEAN = "pipeline: [format, mask]\n"
TEXT = {"source_yaml": LEAN, "target": "{ten}"}
WHY = {"message": "because"}
DRAFT = {"source_yaml": LEAN, "base": 0}
PRESET = {"organisation": "acme", "name": "fresh", "message": "new"}
PLAN = {"changes": [{"target": "{ten}", "source_yaml": LEAN}], "message": "lean"}
SECRET = {"owner": "{org}", "name": "hook", "kind": "other", "value": "v"}
PRICES = {"message": "new card", "entries": [{"match": "m", "input": "1", "output": "2"}]}
AT = "https://api.example"

# In the order of CALLERS: nobody, an admin of elsewhere, viewer, operator, admin, manager.
READS = (NOBODY, ABSENT, OK, OK, OK, OK)
LISTS = (NOBODY, OK, OK, OK, OK, OK)
# For administrators of somewhere, and for those who may read the trail.
ADMINS = (NOBODY, OK, FORBIDDEN, FORBIDDEN, OK, OK)
TRAIL = (NOBODY, OK, FORBIDDEN, OK, OK, OK)
# What a token cannot do in anybody's name.
BY_HAND = (NOBODY, *(FORBIDDEN,) * 5)


def writes(answer: int) -> tuple[int, ...]:
    return (NOBODY, ABSENT, FORBIDDEN, FORBIDDEN, answer, answer)


def managers(answer: int) -> tuple[int, ...]:
    return (NOBODY, FORBIDDEN, FORBIDDEN, FORBIDDEN, FORBIDDEN, answer)


def admins_own(answer: int) -> tuple[int, ...]:
    """Something that the admin made; absent for everybody else."""
    return (NOBODY, ABSENT, ABSENT, ABSENT, answer, ABSENT)


LINES: dict[str, tuple[tuple[int, ...], Any]] = {
    "GET /whoami": ((OK,) * 6, None),
    "GET /me": (LISTS, None),
    "PATCH /me": (BY_HAND, {"display_name": "A"}),
    "POST /me/password": (BY_HAND, {"current": "x", "new": "y"}),
    "GET /me/sessions": (BY_HAND, None),
    "DELETE /me/sessions/{ses}": (BY_HAND, None),
    "GET /me/tokens": (LISTS, None),
    "POST /me/tokens": ((NOBODY, *(MADE,) * 5), {"name": "ci", "scopes": ["config:read"]}),
    "POST /me/tokens/{tok}/rotate": (admins_own(FORBIDDEN), {}),  # each replaces itself alone
    "DELETE /me/tokens/{tok}": (admins_own(OK), None),
    "GET /tokens": (ADMINS, None),
    "DELETE /tokens/{tok}": (writes(OK), None),
    "GET /organisations": (LISTS, None),
    "POST /organisations": (managers(MADE), {"slug": "fresh", "name": "Fresh"}),
    "GET /organisations/{org}": (READS, None),
    "PATCH /organisations/{org}": (writes(OK), {"policy": {"max_token_days": 30}}),
    "GET /organisations/{org}/members": (writes(OK), None),
    "PATCH /organisations/{org}/members/{person}": (writes(OK), {"role": "operator"}),
    "DELETE /organisations/{org}/members/{person}": (writes(EMPTY), None),
    "GET /organisations/{org}/invitations": (writes(OK), None),
    "POST /organisations/{org}/invitations": (
        writes(MADE), {"email": "new@example.com", "role": "viewer"},
    ),
    "DELETE /organisations/{org}/invitations/{inv}": (writes(EMPTY), None),
    "GET /secrets": (ADMINS, None),
    "POST /secrets": (writes(MADE), SECRET),
    "PUT /secrets/{sec}": (writes(OK), {"value": "w"}),
    "DELETE /secrets/{sec}": (writes(EMPTY), None),
    "GET /upstreams": (managers(OK), None),
    "POST /upstreams": (
        managers(MADE), {"name": "lab", "dialect": "openai", "base_url": AT},
    ),
    "GET /upstreams/{up}": (managers(OK), None),
    "PUT /upstreams/{up}": (managers(OK), {"base_url": AT, "header_timeout_s": 9}),
    "DELETE /upstreams/{up}": (managers(EMPTY), None),
    "POST /upstreams/{up}/check": (managers(OK), None),
    "GET /price-cards": (LISTS, None),
    "GET /price-cards/match?model=m": (LISTS, None),
    "GET /price-cards/{card}": (LISTS, None),
    "POST /price-cards": (managers(MADE), PRICES),
    "POST /price-cards/{card}/activate": (managers(MADE), WHY),
    "DELETE /nodes/{node}": (managers(EMPTY), None),
    "GET /audit": (TRAIL, None),
    "GET /audit/verify": (TRAIL, None),
    "GET /audit/export": (TRAIL, None),
    "GET /requests/export": (TRAIL, None),
    "GET /requests/export?tenant={ten}&format=csv": (
        (NOBODY, ABSENT, FORBIDDEN, OK, OK, OK), None,
    ),
    "GET /tenants": (LISTS, None),
    "POST /tenants": (writes(MADE), {"organisation": "{org}", "slug": "birch"}),
    "GET /tenants/{ten}": (READS, None),
    "PATCH /tenants/{ten}": (writes(OK), {"rpm_limit": 60}),
    "PUT /tenants/{ten}/upstreams": (writes(OK), {"openai": "main"}),
    "POST /tenants/{ten}/disable": (writes(OK), {"reason": "unpaid"}),
    "POST /tenants/{ten}/enable": (writes(OK), None),
    "GET /tenants/{ten}/keys": (writes(OK), None),
    "POST /tenants/{ten}/keys": (writes(MADE), {"label": "laptop"}),
    "POST /tenants/{ten}/keys/{key}/rotate": (writes(MADE), {}),
    "DELETE /tenants/{ten}/keys/{key}": (writes(OK), None),
    "GET /tenants/{ten}/agent-keys": (writes(OK), None),
    "POST /tenants/{ten}/agent-keys": (writes(MADE), {"label": "Cline", "agent_key": "k" * 24}),
    "DELETE /tenants/{ten}/agent-keys/{bind}": (writes(EMPTY), None),
    "GET /tenants/{ten}/effective": (READS, None),
    "GET /tenants/{ten}/revisions": (READS, None),
    "GET /documents": (LISTS, None),
    "GET /documents/{doc}": (READS, None),
    "GET /documents/{doc}/versions": (READS, None),
    "POST /documents/{doc}/versions": (writes(MADE), {"source_yaml": "mode: sync\n", **WHY}),
    "GET /documents/{doc}/form": (READS, None),
    "POST /documents/{doc}/form": (writes(MADE), {"fields": {"/mode": "observe"}, **WHY}),
    "POST /documents/{doc}/follow-default": (writes(MADE), WHY),
    "POST /documents/{doc}/merge": (writes(OK), DRAFT),
    "GET /documents/{doc}/draft": (writes(ABSENT), None),
    "PUT /documents/{doc}/draft": (writes(OK), DRAFT),
    "DELETE /documents/{doc}/draft": (writes(EMPTY), None),
    "GET /versions/{ver}": (READS, None),
    "POST /validate": (READS, TEXT),
    "POST /effective": (READS, TEXT),
    "POST /fix": (READS, TEXT),
    "GET /diff?left={ver}&right={ver}": (READS, None),
    "POST /diff": (READS, TEXT),
    "GET /schema": (LISTS, None),
    "GET /presets": (LISTS, None),
    "POST /presets": ((NOBODY, WRONG, FORBIDDEN, FORBIDDEN, MADE, MADE), PRESET),
    "GET /presets/{pre}": (READS, None),
    "PATCH /presets/{pre}": (writes(OK), {"title": "Ours"}),
    "POST /presets/{pre}/clone": ((NOBODY, WRONG, FORBIDDEN, FORBIDDEN, MADE, MADE), PRESET),
    "POST /presets/{pre}/archive": (writes(OK), {}),
    "POST /presets/{pre}/promote": (writes(OK), {"version": 1, **WHY}),
    "GET /presets/{pre}/usage": (READS, None),
    "POST /plans": (writes(MADE), PLAN),
    "GET /plans/{plan}": ((NOBODY, ABSENT, FORBIDDEN, FORBIDDEN, OK, ABSENT), None),
    "POST /plans/{plan}/apply": ((NOBODY, ABSENT, FORBIDDEN, FORBIDDEN, OK, ABSENT), None),
}  # fmt: skip
LISTED = ("/tenants", "/documents", "/presets", "/schema", "/organisations", "/tokens",
          "/secrets", "/audit", "/audit/export",
          "/requests/export", "/me/tokens")  # fmt: skip
KEYS = count()
OTHERS = {"pre": "name", "person": "person", "inv": "invitation", "key": "key", "bind": "binding",
          "node": "node_id"}  # fmt: skip
BY_UID = ("ten", "doc", "ver", "plan", "org", "tok", "sec", "up", "card", "ses")
NAMES = {**dict.fromkeys(BY_UID, "uid"), **OTHERS}


def operations() -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    for path, methods in api.get_openapi_schema()["paths"].items():
        for method, described in methods.items():
            yield method.upper(), path.removeprefix("/api/v1"), described


@dataclass
class Site:
    """A deployment, a client of each kind, and the objects that the paths name."""

    clients: Mapping[str, Client]
    places: Mapping[str, str]

    def answer(self, caller: str, line: str, body: Any) -> int:
        method, _, path = self.filled(line).partition(" ")
        sent = "" if body is None else self.filled(json.dumps(body))
        headers = {"if-match": "*", "idempotency-key": f"k{next(KEYS)}"} if method != "GET" else {}
        found = self.clients[caller].generic(
            method, f"/api/v1{path}", sent, content_type="application/json", headers=headers
        )
        return found.status_code

    def filled(self, text: str) -> str:
        for name, value in self.places.items():
            text = text.replace(f"{{{name}}}", value)
        return text


@pytest.fixture(scope="module")
def deployment(django_db_setup: None, django_db_blocker: Any) -> Iterator[Site]:
    """Built once: every test of the walk begins from it and is rolled back to it."""
    with two_organisations(django_db_blocker) as (own, other):
        yield deployed(own, other.organisation)


@pytest.fixture
def site(db: None, deployment: Site, monkeypatch: pytest.MonkeyPatch) -> Site:
    """The deployment, in which nobody has asked too often yet."""
    monkeypatch.setattr(limits, "windows", limits.Windows())
    return deployment


def deployed(tenant: Tenant, elsewhere: Organisation) -> Site:
    """The admin has a plan and a token; every role is a member of the visited organisation."""
    people = {
        "foreign": person("admin", elsewhere, "foreign@example.com"),
        **{role: person(role, tenant.organisation) for role in ("viewer", "operator", "admin")},
        "manager": person("manager", None),
    }
    clients = {"anonymous": Client()}
    for name, user in people.items():
        _, plaintext = issue_token(user, "ci", user)
        clients[name] = Client(headers={"authorization": f"Bearer {plaintext}"})
    NodeStream.objects.create(node_id="node-gone", boot_id="b", first_at=1, last_at=1)
    places = {**documents_of(tenant, people["admin"]), **accounts_of(tenant, people["admin"])}
    return Site(clients, places)


def documents_of(tenant: Tenant, admin: User) -> dict[str, str]:
    version = save_version(document_of(tenant), "pipeline: [format]\n", "first", None)
    first = Beginning(source=LEAN, message="first")
    preset = create_preset(tenant.organisation, "lean", first, None)
    plan = make_plan([Proposal(document_of(tenant), LEAN)], "lean", Principal(admin))
    return {
        "ten": tenant.uid,
        "doc": document_of(tenant).uid,
        "ver": version.uid,
        "pre": preset.uid,
        "plan": plan.uid,
    }


def accounts_of(tenant: Tenant, admin: User) -> dict[str, str]:
    organisation = tenant.organisation
    colleague = person("viewer", organisation, "colleague@example.com")
    invitation, _ = invite("guest@example.com", organisation, "viewer", None)
    key, _ = issue_key(tenant, "first", None)
    binding = bind_agent_key(tenant, "sk-" + "b" * 24, "Cline", None)
    token, _ = issue_token(admin, "other", admin, TokenTerms(organisation=organisation))
    secret = put_secret(organisation, "kept", "value", kind="other", by=None)
    main, spare = (
        create_upstream(name=name, dialect="openai", base_url=AT, by=None, resolve=unresolved)
        for name in ("main", "spare")
    )
    choose_upstream(tenant, "openai", main.name, None)
    machine = admit("a session key", admin, Machine("Firefox", "192.0.2.1"))
    assert machine is not None
    return {
        "org": organisation.uid,
        "person": colleague.uid,
        "inv": invitation.uid,
        "key": key.uid,
        "bind": binding.uid,
        "tok": token.uid,
        "sec": secret.uid,
        "up": spare.uid,
        "card": ensure_card().uid,
        "ses": machine.session.uid,
        "node": "node-gone",
    }


def test_every_operation_has_a_line() -> None:
    lined = set()
    for line in LINES:
        plain = line.partition("?")[0]
        for name, parameter in NAMES.items():
            plain = plain.replace(f"{{{name}}}", f"{{{parameter}}}")
        lined.add(plain)

    assert lined == {f"{method} {path}" for method, path, _ in operations()}


@pytest.mark.parametrize("line", LINES)
def test_a_caller_gets_exactly_the_permitted_answer_and_a_refused_one_changes_nothing(
    site: Site, line: str
) -> None:
    answers, body = LINES[line]
    for caller, expected in zip(CALLERS, answers, strict=True):
        with atomic():
            events = AuditEvent.objects.count()

            assert (caller, site.answer(caller, line, body)) == (caller, expected)

            if expected in (NOBODY, FORBIDDEN, ABSENT):
                assert AuditEvent.objects.count() == events
            set_rollback(True)


@pytest.mark.parametrize(
    "line", [line for line in LINES if "{" in line and LINES[line][0] != LISTS]
)
def test_an_unknown_object_and_a_foreign_one_answer_alike(site: Site, line: str) -> None:
    answers, body = LINES[line]
    prefixes = {name: f"{name}_unknown" for name in site.places}
    unknown = Site(site.clients, prefixes)

    assert unknown.answer("admin", line, body) in (ABSENT, answers[1])
    assert unknown.answer("foreign", line, body) == site.answer("foreign", line, body)


def test_every_operation_states_permission_tenancy_and_refusals() -> None:
    for method, path, described in operations():
        assert described["x-tenancy"] in {"public", "self", "organisation", "tenant", "deployment"}
        scope = described["x-scope"]
        assert not scope or scope in PERMISSIONS["manager"], path
        assert (scope is None) == (path == "/whoami")
        assert (scope == "") == path.startswith("/me")
        assert {400, 401, 403, 404, 422, 429} <= set(described["responses"]), (method, path)


def test_lists_of_another_organisation_hold_nothing_of_this_one(site: Site) -> None:
    for path in LISTED:
        text = b"".join(site.clients["foreign"].get(f"/api/v1{path}")).decode()
        for uid in (*site.places.values(), "acme", '"lean"'):
            assert uid not in text, (path, uid)


def test_the_kept_description_is_the_served_one(db: None) -> None:
    kept = Path(__file__).resolve().parents[3] / "docs" / "openapi.json"

    assert kept.read_text(encoding="utf-8") == as_text(api.get_openapi_schema())
    served = Client().get("/api/v1/openapi.json")
    assert served.json() == json.loads(kept.read_text(encoding="utf-8"))
