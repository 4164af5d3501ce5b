"""What automation does with accounts over the API (04 §1.1, 6.1, 6.3, 8.3, 8.5, 8.6)."""

from __future__ import annotations

import hashlib
import json

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from controlplane.accounts.models import DataPlaneKey, Secret, Tenant, User
from controlplane.accounts.secrets import digest_of
from controlplane.accounts.upstream_urls import unresolved
from controlplane.accounts.upstreams import create_upstream
from controlplane.api import limits
from controlplane.audit.models import AuditEvent
from controlplane.configs.models import IdempotencyRecord
from controlplane.prices.actions import ensure_card
from controlplane.telemetry import queries as telemetry
from tests.controlplane.api.conftest import Caller, sent
from tests.controlplane.conftest import PASSWORD
from tests.controlplane.ui.watched import a_stream

# ---- what is shown once -----------------------------------------------------------------------


def test_a_key_is_shown_once_and_a_retry_gets_everything_but_its_text(
    tenant: Tenant, admin: User, caller: Caller
) -> None:
    ci, path, body = caller(admin), f"/tenants/{tenant.uid}/keys", {"label": "laptop"}

    first = sent(ci, "POST", path, body, idempotency_key="k1").json()
    again = sent(ci, "POST", path, body, idempotency_key="k1")

    assert DataPlaneKey.objects.get().key_hash == digest_of(first["key"])
    assert again.json() == {**first, "key": None}
    assert again["Idempotent-Replay"] == "true"
    assert first["key"] not in IdempotencyRecord.objects.get().response


def test_a_dry_run_issues_nothing_and_shows_no_key(
    tenant: Tenant, admin: User, caller: Caller
) -> None:
    path = f"/tenants/{tenant.uid}/keys?dry_run=true"

    answer = sent(caller(admin), "POST", path, {"label": "laptop"})

    assert (answer.status_code, answer.json()["key"], answer.json()["dry_run"]) == (201, None, True)
    assert not DataPlaneKey.objects.exists()


def test_the_link_of_an_invitation_opens_the_door_it_names(
    tenant: Tenant, admin: User, caller: Caller
) -> None:
    place = f"/organisations/{tenant.organisation.slug}/invitations"
    body = {"email": "New@Example.com", "role": "operator", "tenants": [tenant.uid]}

    made = sent(caller(admin), "POST", place, body).json()

    page = Client().get(made["link"].partition("testserver")[2])
    assert (page.status_code, made["email"], made["tenants"]) == (
        200, "new@example.com", [tenant.uid],
    )  # fmt: skip
    assert sent(caller(admin), "GET", place).json()["items"][0].get("link") is None


# ---- retries and dry runs ---------------------------------------------------------------------


def test_what_was_refused_is_tried_again_under_the_same_key(
    tenant: Tenant, admin: User, caller: Caller
) -> None:
    ci, path, wanted = caller(admin), f"/tenants/{tenant.uid}/upstreams", {"openai": "later"}

    refused = sent(ci, "PUT", path, wanted, idempotency_key="k")
    create_upstream(
        name="later", dialect="openai", base_url="https://api.example", by=None, resolve=unresolved
    )
    done = sent(ci, "PUT", path, wanted, idempotency_key="k")
    again = sent(ci, "PUT", path, wanted, idempotency_key="k")

    assert [one.status_code for one in (refused, done, again)] == [422, 200, 200]
    assert [one.has_header("Idempotent-Replay") for one in (done, again)] == [False, True]


def test_what_is_kept_of_a_request_proves_no_guess_of_a_password_in_it(admin: User) -> None:
    client = Client()
    client.force_login(admin)
    body = {"current": PASSWORD, "new": "another long one"}

    sent(client, "POST", "/me/password", body, idempotency_key="k")

    text = b"POST /api/v1/me/password \n" + json.dumps(body).encode()
    assert IdempotencyRecord.objects.get().request_hash != hashlib.sha256(text).hexdigest()


def test_a_change_of_the_password_has_no_dry_run_that_would_undo_the_count_of_wrong_tries(
    admin: User,
) -> None:
    client = Client()
    client.force_login(admin)
    guess = {"current": "wrong", "new": "another long one"}

    tried = sent(client, "POST", "/me/password?dry_run=true", guess)
    tries = [sent(client, "POST", "/me/password", guess).status_code for _ in range(6)]

    assert (tried.status_code, tried.json()["errors"][0]["path"]) == (422, "dry_run")
    assert tries == [422] * 5 + [429]


# ---- secrets, upstreams, prices ---------------------------------------------------------------


def test_a_secret_goes_in_and_never_comes_out(tenant: Tenant, admin: User, caller: Caller) -> None:
    ci, value = caller(admin), "a value that nobody reads"
    body = {"owner": tenant.uid, "name": "hook", "kind": "other", "value": value}

    made = sent(ci, "POST", "/secrets", body, idempotency_key="s1")
    sent(ci, "PUT", f"/secrets/{made.json()['uid']}", {"value": f"{value}, changed"})
    listed = sent(ci, "GET", "/secrets")

    assert [(one["version"], one["set"], one["updated_by"]) for one in listed.json()["items"]] == [
        (2, True, admin.email)
    ]
    kept = IdempotencyRecord.objects.get().response + json.dumps(
        list(AuditEvent.objects.values_list("before", "after"))
    )
    assert value not in made.content.decode() + listed.content.decode() + kept
    assert Secret.objects.get().updated_by == admin


def test_an_upstream_that_breaks_a_rule_is_refused_by_the_rules_name(
    manager: User, caller: Caller
) -> None:
    body = {"name": "meta", "dialect": "openai", "base_url": "https://localhost"}

    refused = sent(caller(manager), "POST", "/upstreams", body)

    found = refused.json()
    assert (refused.status_code, found["code"], found["rule"]) == (
        422, "upstream.url_refused", "loopback",
    )  # fmt: skip
    assert "127.0.0.1" not in refused.content.decode()


def test_an_upstream_is_changed_by_who_has_seen_how_it_is(manager: User, caller: Caller) -> None:
    ci = caller(manager)
    body = {"name": "lab", "dialect": "openai", "base_url": "https://api.example"}
    made = sent(ci, "POST", "/upstreams", body)
    path, terms = f"/upstreams/{made.json()['uid']}", {"base_url": "https://other.example"}

    blind = sent(ci, "PUT", path, terms)
    changed = sent(ci, "PUT", path, terms, if_match=made["ETag"])
    late = sent(ci, "PUT", path, terms, if_match=made["ETag"])

    assert [one.status_code for one in (blind, changed, late)] == [428, 200, 412]
    assert late.json()["current_etag"] == changed.json()["etag"]
    cached = sent(ci, "GET", path, if_none_match=changed["ETag"])
    assert cached.status_code == 304


def test_a_longer_list_of_upstreams_takes_no_more_queries(manager: User, caller: Caller) -> None:
    ci = caller(manager)

    def queries_with(name: str) -> int:
        create_upstream(
            name=name, dialect="openai", base_url="https://a.example", by=None, resolve=unresolved
        )
        with CaptureQueriesContext(connection) as asked:
            assert sent(ci, "GET", "/upstreams").json()["items"][-1]["tenants"] == 0
        return len(asked)

    queries_with("first")  # it also notes that the token was used
    assert queries_with("second") == queries_with("third")


def test_an_earlier_price_card_comes_back_as_a_new_version(manager: User, caller: Caller) -> None:
    ci, first = caller(manager), ensure_card()
    entry = {"match": "m-*", "input": "1", "output": "2.5"}
    wanted = {"message": "our own", "entries": [entry]}

    own = sent(ci, "POST", "/price-cards", wanted, if_match='"p1"').json()
    match = sent(ci, "GET", "/price-cards/match?model=m-9").json()
    path = f"/price-cards/{first.uid}/activate"
    back = sent(ci, "POST", path, {"message": "as before"}, if_match='"p2"').json()

    assert (own["version"], own["entries"][0]["output"]) == (2, "2.5")
    assert match == {"model": "m-9", "match": "m-*", "how": "longest match"}
    assert (back["version"], back["content_hash"]) == (3, first.content_hash)


@pytest.mark.parametrize("price", ["-1", "1e3", "1.0000000001", "x"])
def test_a_wrong_price_is_refused_and_the_card_stays(
    price: str, manager: User, caller: Caller
) -> None:
    ensure_card()
    wanted = {"message": "wrong", "entries": [{"match": "m", "input": price, "output": "1"}]}

    refused = sent(caller(manager), "POST", "/price-cards", wanted, if_match="*")

    assert refused.status_code == 422
    assert sent(caller(manager), "GET", "/price-cards/current").json()["version"] == 1


def test_a_rule_of_an_organisation_that_is_none_changes_nothing(
    tenant: Tenant, admin: User, caller: Caller
) -> None:
    place = f"/organisations/{tenant.organisation.uid}"
    wrong = {"policy": {"max_token_days": 0, "irreversible_marker_modes": "deny", "nonsense": 1}}

    refused = sent(caller(admin), "PATCH", place, wrong)

    assert refused.status_code == 422
    assert {error["message"] for error in refused.json()["errors"]} == {
        "max_token_days is a whole number from 1 to 3650.", "There is no rule nonsense.",
    }  # fmt: skip
    assert sent(caller(admin), "GET", place).json()["policy"]["max_token_days"] == 365


# ---- the trail --------------------------------------------------------------------------------


def test_the_exported_trail_is_chained_and_proves_itself(
    tenant: Tenant, manager: User, caller: Caller
) -> None:
    ci = caller(manager)
    sent(ci, "POST", f"/tenants/{tenant.uid}/disable", {"reason": "unpaid"})

    lines = [json.loads(line) for line in sent(ci, "GET", "/audit/export").content.splitlines()]
    proof = sent(ci, "GET", "/audit/verify").json()

    assert [line["prev_hash"] for line in lines[1:]] == [line["hash"] for line in lines[:-1]]
    assert lines[-1]["action"] == "tenant.disable"
    assert lines[-1]["actor_uid"].startswith("tok_")
    assert (lines[-1]["via"], lines[-1]["actor_kind"]) == ("api", "token")
    assert proof["is_whole"]
    assert proof["last_hash"] == lines[-1]["hash"]


def test_the_trail_is_paged_and_narrowed(tenant: Tenant, admin: User, caller: Caller) -> None:
    ci = caller(admin)
    for label in ("a", "b", "c"):
        sent(ci, "POST", f"/tenants/{tenant.uid}/keys", {"label": label})

    first = sent(ci, "GET", "/audit?action=key.&limit=2").json()
    rest = sent(ci, "GET", f"/audit?action=key.&limit=2&cursor={first['next_cursor']}").json()

    shown = [one["object"] for one in first["items"] + rest["items"]]
    assert shown == ["c", "b", "a"]


# ---- how often --------------------------------------------------------------------------------


def test_who_asks_too_often_is_told_when_the_next_one_counts(
    tenant: Tenant, admin: User, manager: User, caller: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [1_000_000_010.0]
    monkeypatch.setattr(limits, "windows", limits.Windows(lambda: now[0]))
    ci, path = caller(admin), f"/tenants/{tenant.uid}/enable"

    answers = [sent(ci, "POST", path) for _ in range(61)]

    left = [int(answer["RateLimit-Remaining"]) for answer in answers]
    assert left == [*range(59, -1, -1), 0]
    refused = answers[-1]
    assert (refused.status_code, refused.json()["code"]) == (429, "rate_limited")
    assert (refused["Retry-After"], refused["RateLimit-Limit"], refused["RateLimit-Reset"]) == (
        "10", "60", "10",
    )  # fmt: skip
    assert sent(ci, "GET", f"/tenants/{tenant.uid}").status_code == 200
    assert sent(caller(manager), "POST", path).status_code == 200
    now[0] += 10
    assert sent(ci, "POST", path).status_code == 200


def test_a_request_costs_the_same_however_many_callers_are_counted() -> None:
    looked_at: list[str] = []

    class Caller(str):
        __slots__ = ()

        def __hash__(self) -> int:
            looked_at.append(self)
            return super().__hash__()

    windows = limits.Windows(lambda: 0.0)
    for number in range(10_050):
        windows.take(Caller(number), limits.READS)
    looked_at.clear()

    left = [windows.take(Caller(number), limits.READS).remaining for number in (0, 10_049)]

    assert left == [598, 598]
    assert len(looked_at) <= 8


def test_a_refused_request_changes_nothing(
    tenant: Tenant, admin: User, caller: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "windows", limits.Windows(lambda: 0.0))
    ci = caller(admin)
    for _ in range(60):
        sent(ci, "POST", f"/tenants/{tenant.uid}/enable")

    sent(ci, "POST", f"/tenants/{tenant.uid}/keys", {"label": "late"})

    assert not DataPlaneKey.objects.exists()


# ---- nodes ------------------------------------------------------------------------------------


def test_a_node_that_left_is_removed_and_the_trail_says_by_whom(
    manager: User, caller: Caller
) -> None:
    a_stream("node-a", last_at=1)
    a_stream("node-b", last_at=1, stopped_at=1)

    answers = [sent(caller(manager), "DELETE", f"/nodes/node-{name}") for name in "ab"]

    assert [answer.status_code for answer in answers] == [204, 204]
    assert list(telemetry.nodes()) == []
    events = AuditEvent.objects.filter(action="node.remove")
    assert {(each.actor_label, each.object_label) for each in events} == {
        (f"{manager.email} (ci)", "node-a"), (f"{manager.email} (ci)", "node-b"),
    }  # fmt: skip


def test_a_node_that_is_online_is_not_removed(manager: User, caller: Caller) -> None:
    a_stream("node-a")

    refused = sent(caller(manager), "DELETE", "/nodes/node-a")

    assert (refused.status_code, refused.json()["code"]) == (409, "conflict.state")
    assert [row.node_id for row in telemetry.nodes()] == ["node-a"]


def test_removing_a_node_is_done_or_is_not(manager: User, caller: Caller) -> None:
    a_stream("node-a", last_at=1)

    tried = sent(caller(manager), "DELETE", "/nodes/node-a?dry_run=true")
    unknown = sent(caller(manager), "DELETE", "/nodes/node-x")

    assert (tried.status_code, unknown.status_code) == (422, 404)
    assert [row.node_id for row in telemetry.nodes()] == ["node-a"]
