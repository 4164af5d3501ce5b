"""Validate, resolve, fix, compare, the registry; presets and plans through the API (04 §6.3)."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from controlplane.accounts.actions import create_tenant
from controlplane.accounts.models import Organisation, Tenant, User
from controlplane.configs.actions import save_version
from controlplane.configs.documents import document_of
from controlplane.configs.models import ConfigVersion, Plan, ValidationReport
from tests.controlplane.api.conftest import Caller
from tests.controlplane.api.test_documents import API, OFF, WRONG, save, send

LEAN = "pipeline: [format, mask]\n"


@pytest.fixture
def client(caller: Caller, admin: User, tenant: Tenant) -> Client:
    return caller(admin)


def post(client: Client, path: str, body: Any, **headers: str) -> Any:
    return send(client, "POST", f"{API}{path}", body, **headers)


# ---- checks -----------------------------------------------------------------------------------


def test_a_right_text_is_200_with_its_hashes_and_a_wrong_one_422(client: Client) -> None:
    right = post(client, "/validate", {"source_yaml": LEAN, "target": "tenant/orchid"})
    wrong = post(client, "/validate", {"source_yaml": WRONG})

    assert right.json()["ok"] is True
    assert len(right.json()["canonical_hash"]) == len(right.json()["effective_hash"]) == 64
    assert wrong.status_code == 422
    assert len(wrong.json()["errors"]) == 2
    assert ValidationReport.objects.count() == 1


def test_a_text_may_be_the_body_itself(client: Client) -> None:
    path = f"{API}/validate?target=tenant/acme/orchid"

    assert client.post(path, data=LEAN, content_type="text/yaml").json()["ok"] is True
    broken = client.post(f"{API}/validate", data=b"\xff", content_type="text/yaml")
    assert broken.status_code == 400


@pytest.mark.parametrize(
    "target",
    [
        "server", "organisation/acme", "tenant/orchid", "tenant/acme/orchid", "new-preset/acme", "",
    ],
)  # fmt: skip
def test_a_target_is_named_in_words(client: Client, target: str) -> None:
    assert post(client, "/validate", {"source_yaml": LEAN, "target": target}).status_code == 200


def test_a_target_out_of_sight_is_absent(client: Client, other_tenant: Tenant) -> None:
    for target in ("tenant/globex/orchid", other_tenant.uid, "organisation/globex", "preset/x"):
        answer = post(client, "/validate", {"source_yaml": LEAN, "target": target})
        assert (answer.status_code, answer.json()["code"]) == (404, "not_found"), target
    assert post(client, "/validate", {"source_yaml": LEAN, "target": "moon"}).status_code == 422


def test_resolving_shows_what_would_run_with_origins_and_saves_nothing(client: Client) -> None:
    before = ConfigVersion.objects.count()
    found = post(client, "/effective", {"source_yaml": LEAN, "target": "tenant/orchid"}).json()

    rows = {row["path"]: row for row in found["rows"]}
    assert rows["/pipeline"]["value"] == ["format", "mask"]
    assert rows["/pipeline"]["origin"] == {"layer": "tenant", "text": "tenant:acme/orchid:line 1",
                                           "line": 1}  # fmt: skip
    assert rows["/pipeline"]["overridden"][0]["origin"]["layer"] == "server_default"
    assert found["document"]["pipeline"] == ["format", "mask"]
    assert ConfigVersion.objects.count() == before


def test_a_fix_is_applied_with_comments_in_place(client: Client) -> None:
    text = "pipeline: [mask]  # one\ncomponents:\n  mask: {keep_recnt: 4}  # two\n"
    found = post(client, "/fix", {"source_yaml": text}).json()

    assert found["source_yaml"] == text.replace("recnt", "recent")
    assert found["report"]["ok"] is True
    impossible = {"source_yaml": text, "edits": [{"op": "delete", "path": "/nowhere"}]}
    assert post(client, "/fix", impossible).status_code == 422


@pytest.mark.parametrize(
    "edit",
    [
        {"op": "x", "path": "/pipeline"},
        {"op": "delete"},
        {"op": "delete", "path": ""},
        {"op": "set", "path": "/pipeline/x", "value": 1},
        {"op": "rename", "path": "/pipeline/0", "to": "a"},
        {"op": "move", "path": "/pipeline"},
        {"op": "move", "path": "/pipeline", "to": "/"},
        {"op": "set", "path": "/", "value": 1},
        {"op": "insert_after", "path": "/components", "value": {"a": [1]}},
        {"op": "delete", "path": "/pipeline/9"},
        {"op": "set", "path": "/pipeline", "value": None, "anchor": "line 1"},
    ],
)
def test_an_edit_that_makes_no_sense_is_refused_never_a_fault(
    client: Client, edit: dict[str, Any]
) -> None:
    answer = post(client, "/fix", {"source_yaml": LEAN, "edits": [edit]})

    assert answer.status_code in {200, 422}


def test_two_states_are_compared_in_four_views(client: Client, tenant: Tenant, admin: User) -> None:
    first = save_version(document_of(tenant), LEAN, "lean", admin)
    second = save_version(document_of(tenant), "pipeline: [format]\n", "no mask", admin)

    found = client.get(f"{API}/diff?left={first.uid}&right={second.uid}").json()
    text = client.get(f"{API}/diff?left={first.uid}&right={second.uid}&view=text").json()

    assert found["unified"] == ["-pipeline: [format, mask]", "+pipeline: [format]"]
    assert found["written"][0]["op"] == "remove"
    assert "prefix_break" in found["impact"]
    assert any("Removes `mask`" in sentence for sentence in found["summary"])
    assert text["written"] is None
    body = {"source_yaml": LEAN, "target": "tenant/orchid", "view": "summary"}
    assert any("Adds `mask`" in said for said in post(client, "/diff", body).json()["summary"])
    assert client.get(f"{API}/diff?left=abc&right={second.uid}").status_code == 422
    assert client.get(f"{API}/diff?left=ver_1&right={second.uid}").status_code == 404


def test_the_schema_names_every_component_and_what_is_refused(client: Client) -> None:
    found = client.get(f"{API}/schema").json()

    sweep = next(one for one in found["components"] if one["name"] == "extract_llm_sweep")
    assert "model" in sweep["refusals"]
    keys = found["registry"]["properties"]["components"]["properties"]
    assert keys["mask"]["properties"]["keep_recent"]["x-unit"]
    assert "house" in found["presets"]


def test_a_tenants_effective_document_comes_as_json_and_as_yaml(
    client: Client, tenant: Tenant, admin: User
) -> None:
    save_version(document_of(tenant), LEAN, "lean", admin)
    path = f"{API}/tenants/{tenant.uid}/effective"

    found = client.get(path).json()
    first = client.get(f"{path}?revision=1").json()
    text = client.get(f"{path}?format=yaml")

    assert found["revision"]["number"] == 2
    assert found["following"] == ""
    assert first["document"]["pipeline"] != found["document"]["pipeline"]
    assert text["content-type"].startswith("text/yaml")
    assert b"# tenant:acme/orchid@v1:line 1" in text.content
    assert client.get(f"{path}?revision=9").status_code == 404


# ---- presets ----------------------------------------------------------------------------------


def created(client: Client, **body: Any) -> Any:
    return post(client, "/presets", {"organisation": "acme", "message": "new", **body})


def test_a_preset_is_cloned_saved_promoted_and_rolled_back(client: Client, tenant: Tenant) -> None:
    made = post(client, "/presets/cache/clone", {"organisation": "acme", "name": "ours"})
    assert made.status_code == 201
    assert made.json()["cloned_from"] == "cache@1"
    document = f"{API}/documents/{made.json()['document']}"
    saved = save(client, document, "pipeline: [format]\n", if_match=made["etag"])

    body = {"version": 2, "message": "leaner"}
    promote = "/presets/ours/promote"
    assert post(client, promote, body, if_match=saved["etag"]).status_code == 428
    stale = post(client, promote, body, if_match=made["etag"], idempotency_key="a")
    done = post(client, promote, body, if_match=saved["etag"], idempotency_key="b")
    back = post(
        client, promote, {**body, "version": 1}, if_match=saved["etag"], idempotency_key="c"
    )

    assert saved.json()["acknowledgement"] is None
    assert stale.status_code == 412
    assert (done.json()["version"], done.json()["pipeline"]) == (2, ["format"])
    assert back.json()["version"] == 1


def test_a_preset_is_described_archived_and_left_out_of_the_list(client: Client) -> None:
    made = created(client, name="ours", source_yaml=LEAN, title="Ours", labels=["b", "a"])
    path = "/presets/ours"
    body = {"title": "Still ours"}

    described = send(client, "PATCH", f"{API}{path}", body, if_match=made["etag"])
    post(client, f"{path}/archive", {})

    assert made.json()["labels"] == ["a", "b"]
    assert described.json()["title"] == "Still ours"
    assert "ours" not in {one["name"] for one in client.get(f"{API}/presets").json()["items"]}
    every = client.get(f"{API}/presets?archived=true").json()["items"]
    assert "ours" in {one["name"] for one in every}
    assert client.get(f"{API}{path}").json()["is_archived"] is True


def test_a_packaged_preset_is_read_and_never_changed(client: Client) -> None:
    found = client.get(f"{API}/presets/house")

    assert found.json()["is_packaged"] is True
    assert found.json()["source_yaml"].startswith("pipeline:")
    assert post(client, "/presets/house/archive", {}).status_code == 409
    assert created(client, name="house").status_code == 422
    known = client.get(f"{API}/presets/house", headers={"if-none-match": found["etag"]})
    assert known.status_code == 304


def test_usage_shows_the_tenants_that_the_caller_may_see(
    client: Client,
    caller: Caller,
    admin: User,
    tenant: Tenant,
    organisation: Organisation,
) -> None:
    created(client, name="ours", source_yaml=LEAN)
    second = create_tenant(organisation, slug="second", by=None)
    for one, text in ((tenant, "preset: ours\n"), (second, "preset: ours@1\n")):
        save_version(document_of(one), text, "ours", admin)
    restricted = admin.memberships.get()

    found = client.get(f"{API}/presets/ours/usage").json()
    assert (found["following"], found["pinned"]) == (1, 1)
    restricted.tenants.add(tenant)
    found = client.get(f"{API}/presets/ours/usage").json()
    assert [user["uid"] for user in found["users"]] == [tenant.uid]


def test_somebody_restricted_to_a_tenant_makes_no_preset(
    client: Client, admin: User, tenant: Tenant
) -> None:
    admin.memberships.get().tenants.add(tenant)

    assert created(client, name="ours").status_code == 403
    body = {"organisation": "globex", "name": "x", "message": "new"}
    assert post(client, "/presets", body).status_code == 422


# ---- plans ------------------------------------------------------------------------------------


def planned(client: Client, source: str = LEAN) -> Any:
    changes = [{"target": "tenant/orchid", "source_yaml": source}]
    return post(client, "/plans", {"changes": changes, "message": "lean"})


def test_a_plan_is_made_read_and_carried_out(client: Client, tenant: Tenant) -> None:
    plan = planned(client)
    path = f"/plans/{plan.json()['uid']}"

    assert plan.status_code == 201
    assert plan.json()["affected"][0]["slug"] == "orchid"
    assert client.get(f"{API}{path}")["etag"] == plan["etag"]
    assert post(client, f"{path}/apply", None, idempotency_key="a").status_code == 428
    wrong = post(client, f"{path}/apply", None, if_match='"other"', idempotency_key="b")
    tried = post(
        client, f"{path}/apply?dry_run=true", None, if_match=plan["etag"], idempotency_key="c"
    )
    done = post(client, f"{path}/apply", None, if_match=plan["etag"], idempotency_key="d")
    twice = post(client, f"{path}/apply", None, if_match=plan["etag"], idempotency_key="e")

    assert (wrong.status_code, tried.status_code, done.status_code) == (412, 200, 200)
    assert done.json()["versions"][0]["number"] == 1
    assert done.json()["acknowledgements"][tenant.uid]["status"] == "pending"
    assert (twice.status_code, twice.json()["code"]) == (409, "conflict.state")


def test_a_plan_that_was_overtaken_is_stale(client: Client, tenant: Tenant, admin: User) -> None:
    plan = planned(client)
    save_version(document_of(tenant), OFF, "meanwhile", admin)

    path = f"/plans/{plan.json()['uid']}/apply"
    stale = post(client, path, None, if_match=plan["etag"], idempotency_key="a")

    assert (stale.status_code, stale.json()["code"]) == (409, "plan.stale")


def test_a_plan_of_a_wrong_text_is_rejected_and_not_kept(client: Client) -> None:
    assert planned(client, WRONG).json()["code"] == "config.invalid"
    assert not Plan.objects.exists()


def test_a_plan_is_its_makers_own(caller: Caller, client: Client, manager: User) -> None:
    plan = planned(client).json()["uid"]

    assert caller(manager).get(f"{API}/plans/{plan}").status_code == 404
