"""Every operation of the API, every kind of caller, exactly the permitted answer (04 A-01, A-02).

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
from django.test import Client

from controlplane.accounts.models import Tenant
from controlplane.accounts.roles import PERMISSIONS
from controlplane.accounts.scopes import Principal
from controlplane.accounts.tokens import issue_token
from controlplane.api.application import api
from controlplane.api.described import as_text
from controlplane.audit.models import AuditEvent
from controlplane.configs.actions import save_version
from controlplane.configs.documents import document_of
from controlplane.configs.plans import Proposal, make_plan
from controlplane.configs.presets import Beginning, create_preset
from tests.controlplane.conftest import person

CALLERS = ("anonymous", "foreign", "viewer", "admin", "manager")
OK, MADE, EMPTY, NOBODY, FORBIDDEN, ABSENT, WRONG = 200, 201, 204, 401, 403, 404, 422
LEAN = "pipeline: [format, mask]\n"
TEXT = {"source_yaml": LEAN, "target": "{ten}"}
WHY = {"message": "because"}
DRAFT = {"source_yaml": LEAN, "base": 0}
PRESET = {"organisation": "acme", "name": "fresh", "message": "new"}
PLAN = {"changes": [{"target": "{ten}", "source_yaml": LEAN}], "message": "lean"}

# In the order of CALLERS: nobody, an admin of elsewhere, viewer, admin, manager.
READS = (NOBODY, ABSENT, OK, OK, OK)
LISTS = (NOBODY, OK, OK, OK, OK)


def writes(answer: int) -> tuple[int, ...]:
    return (NOBODY, ABSENT, FORBIDDEN, answer, answer)


LINES: dict[str, tuple[tuple[int, ...], Any]] = {
    "GET /whoami": ((OK,) * 5, None),
    "GET /tenants": (LISTS, None),
    "GET /tenants/{ten}": (READS, None),
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
    "POST /presets": ((NOBODY, WRONG, FORBIDDEN, MADE, MADE), PRESET),
    "GET /presets/{pre}": (READS, None),
    "PATCH /presets/{pre}": (writes(OK), {"title": "Ours"}),
    "POST /presets/{pre}/clone": ((NOBODY, WRONG, FORBIDDEN, MADE, MADE), PRESET),
    "POST /presets/{pre}/archive": (writes(OK), {}),
    "POST /presets/{pre}/promote": (writes(OK), {"version": 1, **WHY}),
    "GET /presets/{pre}/usage": (READS, None),
    "POST /plans": (writes(MADE), PLAN),
    "GET /plans/{plan}": ((NOBODY, ABSENT, FORBIDDEN, OK, ABSENT), None),
    "POST /plans/{plan}/apply": ((NOBODY, ABSENT, FORBIDDEN, OK, ABSENT), None),
}  # fmt: skip
KEYS = count()
NAMES = {"ten": "uid", "doc": "uid", "ver": "uid", "pre": "name", "plan": "uid"}


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


@pytest.fixture
def site(tenant: Tenant, other_tenant: Tenant) -> Site:
    """The admin has a plan; every role is a member of the visited organisation."""
    people = {
        "foreign": person("admin", other_tenant.organisation, "foreign@example.com"),
        **{role: person(role, tenant.organisation) for role in ("viewer", "admin")},
        "manager": person("manager", None),
    }
    clients = {"anonymous": Client()}
    for name, user in people.items():
        _, plaintext = issue_token(user, "ci", user)
        clients[name] = Client(headers={"authorization": f"Bearer {plaintext}"})
    version = save_version(document_of(tenant), "pipeline: [format]\n", "first", None)
    first = Beginning(source=LEAN, message="first")
    preset = create_preset(tenant.organisation, "lean", first, None)
    proposals = [Proposal(document_of(tenant), LEAN)]
    plan = make_plan(proposals, "lean", Principal(people["admin"]))
    places = {
        "ten": tenant.uid,
        "doc": document_of(tenant).uid,
        "ver": version.uid,
        "pre": preset.uid,
        "plan": plan.uid,
    }
    return Site(clients, places)


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
        events = AuditEvent.objects.count()
        if caller == "manager" and expected == MADE and body is PRESET:
            body = {**PRESET, "name": "another"}

        found = site.answer(caller, line, body)

        assert (caller, found) == (caller, expected) or _is_repeated(caller, line, found), line
        if expected in (NOBODY, FORBIDDEN, ABSENT):
            assert AuditEvent.objects.count() == events


def _is_repeated(caller: str, line: str, found: int) -> bool:
    """The manager asks for what the admin has just done: there is nothing left to change."""
    return caller == "manager" and line.startswith("POST /documents/") and found == OK


@pytest.mark.parametrize("line", [line for line in LINES if "{" in line])
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
        assert scope is None or scope in PERMISSIONS["manager"], path
        assert (scope is None) == (path == "/whoami")
        assert {400, 401, 403, 404, 422} <= set(described["responses"]), (method, path)


def test_lists_of_another_organisation_hold_nothing_of_this_one(site: Site, tenant: Tenant) -> None:
    for path in ("/tenants", "/documents", "/presets", "/schema"):
        text = site.clients["foreign"].get(f"/api/v1{path}").content.decode()
        for uid in (*site.places.values(), tenant.organisation.uid, "acme", '"lean"'):
            assert uid not in text, (path, uid)


def test_the_kept_description_is_the_served_one(db: None) -> None:
    kept = Path(__file__).resolve().parents[3] / "docs" / "openapi.json"

    assert kept.read_text(encoding="utf-8") == as_text(api.get_openapi_schema())
    served = Client().get("/api/v1/openapi.json")
    assert served.json() == json.loads(kept.read_text(encoding="utf-8"))
