"""Documents, versions, drafts through the API (04 §4.8, 6.1, 6.3)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client

from controlplane.accounts.models import Organisation, Tenant, User
from controlplane.accounts.tokens import TokenTerms
from controlplane.audit.models import AuditEvent
from controlplane.configs.actions import save_version
from controlplane.configs.documents import document_of, org_default
from controlplane.configs.models import ConfigVersion, EffectiveRevision, IdempotencyRecord
from tests.controlplane.api.conftest import Caller
from tests.controlplane.conftest import person

API = "/api/v1"
OFF = "pipeline: []\n"
OVERRIDDEN = "config.overridden_by_environment"
WRONG = "pipeline: [msk]\nmod: sync\n"


@pytest.fixture
def client(caller: Caller, admin: User, tenant: Tenant) -> Client:
    return caller(admin)


@pytest.fixture
def path(tenant: Tenant) -> str:
    return f"{API}/documents/{document_of(tenant).uid}"


def send(client: Client, method: str, path: str, body: Any = None, **headers: str) -> Any:
    """Headers with _ for -."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return client.generic(
        method,
        path,
        "" if body is None else json.dumps(body),
        content_type="application/json",
        headers=named,
    )


def save(client: Client, path: str, source: str, **headers: str) -> Any:
    body = {"source_yaml": source, "message": "because"}
    return send(client, "POST", f"{path}/versions", body, **headers)


def test_a_save_names_the_state_it_was_based_on_and_gets_the_next_one(
    client: Client, path: str, tenant: Tenant
) -> None:
    before = client.get(path)
    assert before["etag"] == '"d0"'

    first = save(client, path, OFF, if_match=before["etag"])
    second = save(client, path, OFF + "# why\n", if_match=first["etag"])

    assert (first.status_code, second.status_code) == (201, 201)
    body = second.json()
    assert body["version"]["number"] == 2
    assert body["version"]["origin"] == "api"
    assert body["version"]["token"] == "ci"
    assert body["acknowledgement"]["status"] == "pending"
    assert client.get(path)["etag"] == second["etag"]
    assert EffectiveRevision.objects.filter(tenant=tenant).count() == 2


def test_a_save_without_a_state_or_on_an_old_one_is_refused(client: Client, path: str) -> None:
    missing = save(client, path, OFF)
    made = save(client, path, OFF, if_none_match="*")
    stale = save(client, path, "pipeline: [format]\n", if_match='"d0"')
    again = save(client, path, "pipeline: [format]\n", if_none_match="*")

    assert (missing.status_code, missing.json()["code"]) == (428, "precondition.required")
    assert made.status_code == 201
    assert (stale.status_code, again.status_code) == (412, 412)
    problem = stale.json()
    assert problem["code"] == "precondition.failed"
    assert problem["current_etag"] == made["etag"].strip('"')
    assert problem["author"] == "admin@example.com"
    assert stale["etag"] == made["etag"]
    assert ConfigVersion.objects.filter(source="pipeline: [format]\n").count() == 0


def test_the_same_text_again_is_200_and_unchanged(client: Client, path: str) -> None:
    etag = save(client, path, OFF, if_match='"d0"')["etag"]

    again = save(client, path, OFF, if_match=etag)

    assert again.status_code == 200
    assert again.json()["unchanged"] is True
    assert again["etag"] == etag


def test_a_wrong_text_is_422_with_all_problems_in_the_envelope(client: Client, path: str) -> None:
    refused = save(client, path, WRONG, if_match='"d0"')

    problem = refused.json()
    assert refused.status_code == 422
    assert refused["content-type"] == "application/problem+json"
    assert problem["code"] == "config.invalid"
    assert problem["type"] == "/docs/errors/config.invalid"
    assert problem["schema_version"] == 1
    assert problem["request_id"] == refused["x-request-id"]
    assert [(one["code"], one["line"]) for one in problem["errors"]] == [
        ("config.unknown_component", 1),
        ("config.unknown_key", 2),
    ]


def test_a_text_beyond_the_limit_is_a_named_error(client: Client, path: str) -> None:
    long = save(client, path, "# " + "x" * (300 * 1024), if_match='"d0"')
    longer = save(client, path, "# " + "x" * (2 << 20), if_match='"d0"')

    assert [one["code"] for one in long.json()["errors"]] == ["config.too_large"]
    assert (longer.status_code, longer.json()["limit_bytes"]) == (413, 1 << 20)


def test_the_history_is_paged_without_texts_and_a_version_is_for_ever(
    client: Client, path: str, tenant: Tenant, admin: User
) -> None:
    for number in range(5):
        save_version(document_of(tenant), f"pipeline: []\n# {number}\n", "change", admin)

    first = client.get(f"{path}/versions?limit=2").json()
    second = client.get(f"{path}/versions?limit=2&cursor={first['next_cursor']}").json()
    back = client.get(f"{path}/versions?limit=2&cursor={second['prev_cursor']}").json()
    last = client.get(f"{path}/versions?limit=2&cursor={second['next_cursor']}").json()

    assert [one["number"] for one in first["items"] + second["items"]] == [5, 4, 3, 2]
    assert back["items"] == first["items"]
    assert ([one["number"] for one in last["items"]], last["next_cursor"]) == ([1], None)
    assert first["prev_cursor"] is None
    assert "source_yaml" not in first["items"][0]

    uid = first["items"][0]["uid"]
    version = client.get(f"{API}/versions/{uid}")
    assert version.json()["source_yaml"] == "pipeline: []\n# 4\n"
    assert "immutable" in version["cache-control"]
    text = client.get(f"{API}/versions/{uid}", headers={"accept": "text/yaml"})
    assert (text.content, text["content-type"]) == (
        b"pipeline: []\n# 4\n",
        "text/yaml; charset=utf-8",
    )
    known = client.get(f"{API}/versions/{uid}", headers={"if-none-match": version["etag"]})
    assert known.status_code == 304


def test_a_cursor_that_is_not_ours_is_refused(client: Client, path: str) -> None:
    refused = client.get(f"{path}/versions?cursor=abc")

    assert (refused.status_code, refused.json()["code"]) == (400, "cursor.invalid")


def test_single_keys_are_changed_without_touching_other_bytes(client: Client, path: str) -> None:
    source = "# mine\npipeline: [mask]\ncomponents:\n  mask:\n    keep_recent: 4  # four\n"
    etag = save(client, path, source, if_match='"d0"')["etag"]

    body = {"fields": {"/components/mask/keep_recent": 5}, "message": "five"}
    saved = send(client, "POST", f"{path}/form", body, if_match=etag)

    assert saved.status_code == 201
    assert saved.json()["version"]["source_yaml"] == source.replace("recent: 4", "recent: 5")
    form = client.get(f"{path}/form").json()
    fields = {one["path"]: one for group in form["groups"] for one in group["fields"]}
    assert fields["/components/mask/keep_recent"]["written"] == 5


def test_following_the_default_again_is_a_tombstone(client: Client, path: str) -> None:
    etag = save(client, path, OFF, if_match='"d0"')["etag"]
    body = {"message": "the default is better"}

    stone = send(client, "POST", f"{path}/follow-default", body, if_match=etag)

    assert stone.status_code == 201
    assert stone.json()["version"]["kind"] == "tombstone"
    assert client.get(path).json()["follows"] is True
    etag = stone["etag"]
    assert save(client, path, OFF, if_match=etag).json()["version"]["number"] == 3


def test_a_draft_is_kept_read_and_thrown_away(client: Client, path: str) -> None:
    assert client.get(f"{path}/draft").status_code == 404
    kept = send(client, "PUT", f"{path}/draft", {"source_yaml": "pipeline: [", "base": 0})
    assert kept.json()["source_yaml"] == "pipeline: ["
    assert client.get(f"{path}/draft").json() == kept.json()
    assert client.delete(f"{path}/draft").status_code == 204
    assert client.get(f"{path}/draft").status_code == 404


def test_a_lost_race_is_merged_three_ways(client: Client, path: str) -> None:
    base = "pipeline: [mask]\ncomponents:\n  mask:\n    keep_recent: 4\n    min_tokens: 90\n"
    etag = save(client, path, base, if_match='"d0"')["etag"]
    save(client, path, "mode: observe\n" + base, if_match=etag)

    mine = {"source_yaml": base.replace("90", "80"), "base": 1}
    merged = send(client, "POST", f"{path}/merge", mine).json()

    assert merged["conflicts"] == 0
    assert merged["source_yaml"] == "mode: observe\n" + base.replace("90", "80")
    assert [hunk["outcome"] for hunk in merged["hunks"]] == ["theirs", "same", "mine"]


# ---- retries and dry runs ---------------------------------------------------------------------


def test_a_retry_gets_the_first_answer_and_saves_nothing(client: Client, path: str) -> None:
    first = save(client, path, OFF, if_match='"d0"', idempotency_key="k1")
    again = save(client, path, OFF, if_match='"d0"', idempotency_key="k1")
    other = save(client, path, "pipeline: [format]\n", if_match='"d0"', idempotency_key="k1")

    assert again.content == first.content
    assert (again.status_code, again["etag"]) == (201, first["etag"])
    assert again["idempotent-replay"] == "true"
    assert (other.status_code, other.json()["code"]) == (422, "idempotency.key_reused")
    assert ConfigVersion.objects.filter(source=OFF).count() == 1


def test_a_request_that_is_still_running_is_not_repeated(client: Client, path: str) -> None:
    save(client, path, OFF, if_match='"d0"', idempotency_key="k1")
    IdempotencyRecord.objects.update(status=None)

    again = save(client, path, OFF, if_match='"d0"', idempotency_key="k1")

    assert (again.status_code, again.json()["code"]) == (409, "idempotency.in_progress")


def test_the_key_of_another_principal_is_another_key(
    caller: Caller, client: Client, path: str, manager: User
) -> None:
    save(client, path, OFF, if_match='"d0"', idempotency_key="k1")
    theirs = save(caller(manager), path, OFF, if_match='"d0"', idempotency_key="k1")

    assert theirs.status_code == 412


def test_a_dry_run_does_everything_and_leaves_a_trail_alone(
    client: Client, path: str, tenant: Tenant
) -> None:
    before = (ConfigVersion.objects.count(), EffectiveRevision.objects.count())
    body = {"source_yaml": OFF, "message": "because"}

    tried = send(client, "POST", f"{path}/versions?dry_run=true", body, if_match='"d0"')
    wrong = send(client, "POST", f"{path}/versions?dry_run=true", {**body, "source_yaml": "{"})

    assert tried.status_code == 201
    assert tried.json()["dry_run"] is True
    assert wrong.status_code == 428
    assert (ConfigVersion.objects.count(), EffectiveRevision.objects.count()) == before
    event = AuditEvent.objects.filter(action="api.dry_run").get()
    assert event.after == {"dry_run": True, "method": "POST"}
    assert client.get(path)["etag"] == '"d0"'


# ---- who may ----------------------------------------------------------------------------------


def test_refusals_say_what_is_missing(
    caller: Caller, path: str, admin: User, organisation: Organisation
) -> None:
    viewer = person("viewer", organisation)
    reading = caller(admin, TokenTerms(scopes=["config:read"]))
    answers = [
        Client().get(path),
        Client(headers={"authorization": "Bearer cg_api_nonsense"}).get(path),
        Client(headers={"authorization": "Bearer cg_live_" + "A" * 26}).get(path),
        save(reading, path, OFF, if_match='"d0"'),
        save(caller(viewer), path, OFF, if_match='"d0"'),
    ]

    assert [(one.status_code, one.json()["code"]) for one in answers] == [
        (401, "auth.missing"),
        (401, "auth.invalid_token"),
        (401, "auth.wrong_credential"),
        (403, "auth.scope_missing"),
        (403, "auth.scope_missing"),
    ]
    assert answers[3].json()["scope"] == "config:write"


def test_a_browser_session_may_write_with_its_csrf_token_alone(path: str, admin: User) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(admin)
    without = save(client, path, OFF, if_match='"d0"')
    client.get("/login")
    client.get("/")
    token = client.cookies["csrftoken"].value
    with_it = save(client, path, OFF, if_match='"d0"', x_csrftoken=token)

    assert (without.status_code, without.json()["code"]) == (403, "auth.csrf")
    assert with_it.status_code == 201
    assert with_it.json()["version"]["token"] is None


def test_a_token_beside_a_session_cookie_counts_for_nothing(
    caller: Caller, path: str, admin: User, manager: User
) -> None:
    client = caller(manager)
    client.cookies["cg_session"] = "stolen"

    assert client.get(path).status_code == 401


def test_lists_hold_nothing_foreign_and_take_a_fixed_number_of_queries(
    client: Client, tenant: Tenant, other_tenant: Tenant, django_assert_num_queries: Any
) -> None:
    with django_assert_num_queries(5):
        found = client.get(f"{API}/documents").json()

    assert {one["name"] for one in found["items"]} == {"", "acme", "acme/orchid"}
    tenants = client.get(f"{API}/tenants").json()
    assert [one["uid"] for one in tenants["items"]] == [tenant.uid]
    only = client.get(f"{API}/documents?kind=org_default").json()
    assert [one["uid"] for one in only["items"]] == [org_default(tenant.organisation).uid]


@pytest.mark.parametrize("count", [1, 20])
def test_a_list_takes_the_same_number_of_queries_for_one_row_and_for_many(
    client: Client,
    path: str,
    tenant: Tenant,
    admin: User,
    django_assert_num_queries: Any,
    count: int,
) -> None:
    for number in range(count):
        save_version(document_of(tenant), f"pipeline: []\n# {number}\n", "change", admin)
    client.get(path)

    with django_assert_num_queries(5):
        assert len(client.get(f"{path}/versions").json()["items"]) == count
    with django_assert_num_queries(5):
        client.get(f"{API}/tenants/{tenant.uid}/revisions")


def test_what_does_not_fit_the_schema_is_named_field_by_field(client: Client, path: str) -> None:
    body = {"source_yaml": 4, "message": "no", "colour": "red"}
    refused = send(client, "POST", f"{path}/versions", body, if_match='"d0"')
    unknown = send(client, "POST", f"{path}/follow-default", {"message": "why", "x": 1})
    broken = client.generic("POST", f"{path}/versions", "{", content_type="application/json")
    form = client.post(f"{path}/versions", {"source_yaml": OFF})

    problem = refused.json()
    assert (refused.status_code, problem["code"]) == (422, "request.invalid")
    assert [(one["path"], one["code"]) for one in problem["errors"]] == [
        ("/source_yaml", "request.invalid"),
        ("/message", "request.invalid"),
        ("/colour", "request.unknown_field"),
    ]
    assert unknown.json()["code"] == "request.unknown_field"
    assert (broken.status_code, broken.json()["code"]) == (400, "request.malformed")
    assert (form.status_code, form.json()["code"]) == (415, "request.media_type")


def test_every_refusal_has_the_one_shape(client: Client, path: str) -> None:
    answers = [
        client.get("/api/v1/nothing"),
        client.get("/api/v2"),
        client.get("/api/v1/"),
        client.delete(path),
        client.get(f"{API}/documents/doc_unknown"),
        client.get(f"{API}/documents/%00"),
        client.get(f"{path}/versions?limit=0"),
    ]

    assert [one.status_code for one in answers] == [404, 404, 404, 405, 404, 404, 422]
    for one in answers:
        assert one["content-type"] == "application/problem+json"
        assert one.json()["request_id"] == one["x-request-id"]


@pytest.mark.usefixtures("forced")
def test_case_k_19_a_save_answers_with_what_overrides_it(
    client: Client, path: str, tenant: Tenant
) -> None:
    answer = save(client, path, "force_model: m8\n", if_match='"d0"')
    effective = client.get(f"{API}/tenants/{tenant.uid}/effective").json()

    (warning,) = (one for one in answer.json()["version"]["warnings"] if one["code"] == OVERRIDDEN)
    assert (warning["path"], warning["line"]) == ("/force_model", 1)
    assert "HEADRACE_FORCE_MODEL" in warning["message"]
    (row,) = (one for one in effective["rows"] if one["path"] == "/force_model")
    assert (row["value"], row["origin"]["text"]) == ("m9", "environment:HEADRACE_FORCE_MODEL")
    assert [one["value"] for one in row["overridden"]] == ["m8"]
    assert effective["document"]["force_model"] == "m8"
