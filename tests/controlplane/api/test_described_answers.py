"""The API answers as its description says, whatever it is sent: no fault, nothing undescribed.

Source: 04-controlplane-and-dashboard.md 6.1, 6.7; 06-stack.md 13.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from django.core.signals import request_finished, request_started
from django.core.wsgi import get_wsgi_application
from django.db import close_old_connections
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from controlplane.accounts.actions import issue_key
from controlplane.accounts.agent_keys import bind_agent_key
from controlplane.accounts.members import invite
from controlplane.accounts.models import Tenant, User
from controlplane.accounts.tokens import issue_token
from controlplane.accounts.upstream_urls import unresolved
from controlplane.accounts.upstreams import create_upstream
from controlplane.accounts.vault import put_secret
from controlplane.api import limits
from controlplane.configs.actions import save_version
from controlplane.configs.documents import document_of
from controlplane.configs.presets import Beginning, create_preset
from controlplane.prices.actions import ensure_card
from tests.controlplane.conftest import person

LEAN = "pipeline: [format, mask]\n"
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]
KEPT = Path(__file__).resolve().parents[3] / "docs" / "openapi.json"
EXAMPLES = 6


@pytest.fixture
def one_connection(db: None) -> Iterator[None]:
    """A server closes its connection behind each request; the test's transaction needs it."""
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    yield
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)


@pytest.fixture(scope="module")
def described(django_db_setup: None, django_db_blocker: Any) -> Any:
    """Read once: it is the same for every test, and a second's work."""
    with django_db_blocker.unblock():
        return schemathesis.openapi.from_wsgi("/api/v1/openapi.json", get_wsgi_application())


@pytest.fixture
def objects(tenant: Tenant, manager: User, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """What the paths may name, by the beginning of a path or by a parameter's name."""
    monkeypatch.setattr(limits, "windows", limits.Windows())
    version = save_version(document_of(tenant), LEAN, "first", manager)
    first = Beginning(source=LEAN, message="first")
    create_preset(tenant.organisation, "lean", first, manager)
    colleague = person("viewer", tenant.organisation, "colleague@example.com")
    up = create_upstream(
        name="main", dialect="openai", base_url="https://api.example", by=None, resolve=unresolved
    )
    return {
        "/tenants/": tenant.uid,
        "/documents/": document_of(tenant).uid,
        "/versions/": version.uid,
        "/presets/": "lean",
        "/organisations/": tenant.organisation.uid,
        "/upstreams/": up.uid,
        "/price-cards/": ensure_card().uid,
        "/secrets/": put_secret(None, "kept", "value", kind="other", by=None).uid,
        "/tokens/": issue_token(manager, "other", manager)[0].uid,
        "key": issue_key(tenant, "first", None)[0].uid,
        "binding": bind_agent_key(tenant, "sk-" + "b" * 24, "Cline", None).uid,
        "person": colleague.uid,
        "invitation": invite("g@example.com", tenant.organisation, "viewer", None)[0].uid,
    }


@pytest.fixture
def token(manager: User) -> str:
    return issue_token(manager, "ci", manager)[1]


def operations() -> list[str]:
    """As "GET /api/v1/tenants"."""
    paths = json.loads(KEPT.read_text(encoding="utf-8"))["paths"]
    return [f"{method.upper()} {path}" for path in paths for method in paths[path]]


@pytest.mark.usefixtures("one_connection")
@pytest.mark.parametrize("operation", operations())
def test_no_request_is_a_fault_and_no_answer_is_undescribed(
    described: Any, objects: dict[str, str], token: str, operation: str
) -> None:
    method, _, path = operation.partition(" ")
    headers = {"authorization": f"Bearer {token}"}

    @given(case=described[path][method].as_strategy())
    @settings(
        max_examples=EXAMPLES,
        derandomize=True,
        deadline=None,
        phases=(Phase.generate,),
        suppress_health_check=list(HealthCheck),
        database=None,
    )
    def any_request(case: Any) -> None:
        case.call_and_validate(checks=CHECKS, headers=headers)
        if case.path_parameters:
            named = next((uid for prefix, uid in objects.items() if prefix in case.path), "unknown")
            case.path_parameters = {name: objects.get(name, named) for name in case.path_parameters}
            case.call_and_validate(checks=CHECKS, headers=headers)

    any_request()
