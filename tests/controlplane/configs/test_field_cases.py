"""Cases K of 08-field-cases.md: what was reported of other gateways, on this one."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.db import transaction
from django.test import Client

from controlplane.accounts.actions import create_tenant
from controlplane.accounts.models import Organisation, Tenant, User
from controlplane.accounts.tokens import issue_token
from controlplane.configs.actions import promote, restored, save_version
from controlplane.configs.documents import document_of
from controlplane.configs.drafts import keep_draft
from controlplane.configs.models import ConfigVersion
from controlplane.configs.plans import Proposal, make_plan
from controlplane.configs.presets import Beginning, create_preset
from controlplane.configs.problems import StaleBaseError
from controlplane.fleet import hints, queries
from dataplane.core import resource
from dataplane.core.config.problems import ConfigError

CASES = Path(__file__).parents[2] / "data" / "cases"
SECRET = "sk-ant-api03-abcdefghijklmnop"


@pytest.fixture
def client(admin: User, tenant: Tenant) -> Client:
    _, token = issue_token(admin, "ci", admin)
    return Client(headers={"authorization": f"Bearer {token}"})


@pytest.mark.parametrize("number", ["01", "02", "03"])
def test_case_k_01_02_03_the_api_names_every_place_of_the_case(client: Client, number: str) -> None:
    case = json.loads((CASES / f"K-{number}.json").read_text())
    text = case["request"]["body_text"]
    body = {"source_yaml": text, "target": "tenant/acme/orchid"}

    answer = client.post("/api/v1/validate", json.dumps(body), content_type="application/json")

    errors = answer.json()["errors"]
    paths = {one["path"][1:].replace("/", ".") for one in errors}
    assert answer.status_code == case["expect"]["status"]
    assert set(case["expect"]["error_paths"]) <= paths
    assert len({one["reason"] for one in errors}) >= case["expect"].get("distinct_reasons_min", 1)


def test_case_k_07_a_rollback_based_on_an_older_state_loses_nothing(
    tenant: Tenant, admin: User
) -> None:
    document = document_of(tenant)
    first = save_version(document, "pipeline: []\n", "one", admin)
    save_version(document, "pipeline: [format]\n", "two", admin, based_on=1)

    with pytest.raises(StaleBaseError) as lost:
        restored(first, "back", admin, based_on=1)

    assert lost.value.head.message == "two"
    assert ConfigVersion.objects.filter(document=document).count() == 2


@pytest.fixture
def wakes(transactional_db: None) -> Iterator[list[int]]:
    """Every hint that nodes got."""
    heard: list[int] = []
    hint = lambda: heard.append(1)  # noqa: E731
    hints.subscribe(hint)
    yield heard
    hints.unsubscribe(hint)


def test_case_k_08_a_save_that_is_undone_is_never_pushed(
    wakes: list[int], tenant: Tenant, admin: User
) -> None:
    before = queries.published(resource.TENANT, tenant.uid)
    wakes.clear()

    with transaction.atomic():
        save_version(document_of(tenant), "pipeline: []\n", "off", admin)
        transaction.set_rollback(True)

    assert wakes == []
    assert queries.published(resource.TENANT, tenant.uid) == before


def test_case_k_08_a_late_commit_is_pushed_once_when_a_reader_can_fetch_it(
    wakes: list[int], tenant: Tenant, admin: User
) -> None:
    document = document_of(tenant)
    wakes.clear()

    with transaction.atomic():
        save_version(document, "pipeline: []\n", "off", admin)
        assert wakes == []

    assert len(wakes) == 1
    found = queries.published(resource.TENANT, tenant.uid)
    assert found is not None
    assert b'"pipeline":[]' in found.body


def test_v_09_a_credential_is_refused_by_every_way_in_and_is_in_no_log(
    tenant: Tenant, organisation: Organisation, admin: User, client: Client,
    caplog: pytest.LogCaptureFixture,
) -> None:  # fmt: skip
    caplog.set_level(logging.DEBUG)
    document, text = document_of(tenant), f"force_model: {SECRET}\n"
    first = Beginning(source=text, message="first")
    preset = create_preset(organisation, "ours", Beginning(source="{}\n", message="new"), admin)

    for way in (
        lambda: save_version(document, text, "save", admin),
        lambda: keep_draft(document, admin, text, base=0),
        lambda: make_plan([Proposal(document, text)], "plan", admin),
        lambda: create_preset(organisation, "theirs", first, admin),
        lambda: save_version(preset.document, text, "save", admin),
    ):
        with pytest.raises(ConfigError) as refused:
            way()
        assert "config.inline_secret" in {one.code for one in refused.value.problems}
        assert SECRET not in str(refused.value.problems)
    body = {"source_yaml": text, "target": "tenant/acme/orchid"}
    answer = client.post("/api/v1/validate", json.dumps(body), content_type="application/json")

    assert answer.status_code == 422
    assert SECRET not in answer.content.decode() + caplog.text


def test_p_04_a_promotion_gives_each_follower_one_revision_however_many_there_are(
    organisation: Organisation, admin: User
) -> None:
    first = Beginning(source="pipeline: [format]\n", message="first")
    preset = create_preset(organisation, "ours", first, admin)
    tenants = [create_tenant(organisation, slug=f"t{at}", by=None) for at in range(6)]
    for at, tenant in enumerate(tenants):
        text = "preset: ours\n" if at < 4 else "preset: ours@1\n"
        save_version(document_of(tenant), text, "ours", admin)
    before = [tenant.revisions.count() for tenant in tenants]
    second = save_version(preset.document, "pipeline: []\n", "off", admin)

    promote(second, "now", admin)

    after = [tenant.revisions.count() for tenant in tenants]
    assert [b - a for a, b in zip(before, after, strict=True)] == [1, 1, 1, 1, 0, 0]
