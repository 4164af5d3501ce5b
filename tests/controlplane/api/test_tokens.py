"""What a token of the API may do with tokens, and with what lies elsewhere (04 §1.1, 8.3)."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from controlplane.accounts.models import ApiToken, Tenant, User
from controlplane.accounts.tokens import TokenTerms, issue_token
from tests.controlplane.api.conftest import Caller, sent


def test_a_token_gives_out_no_scope_that_it_lacks(admin: User, caller: Caller) -> None:
    narrow = caller(admin, TokenTerms(scopes=["token:write", "config:read"]))

    refused = sent(narrow, "POST", "/me/tokens", {"name": "x", "scopes": ["config:write"]})
    given = sent(narrow, "POST", "/me/tokens", {"name": "x", "scopes": ["config:read"]})

    assert (refused.status_code, refused.json()["code"]) == (403, "policy.forbidden")
    assert "config:write" in refused.json()["detail"]
    assert given.json()["scopes"] == ["config:read"]


def test_a_token_without_the_permission_gives_out_none(admin: User, caller: Caller) -> None:
    reader = caller(admin, TokenTerms(scopes=["config:read"]))

    refused = sent(reader, "POST", "/me/tokens", {"name": "x", "scopes": ["config:read"]})

    assert (refused.status_code, refused.json()["code"]) == (403, "auth.scope_missing")


def test_a_tokens_place_and_networks_pass_to_the_tokens_it_gives_out(
    tenant: Tenant, other_tenant: Tenant, manager: User, caller: Caller
) -> None:
    terms = TokenTerms(organisation=tenant.organisation, tenant=tenant, ip_allow=["127.0.0.0/8"])
    placed, body = caller(manager, terms), {"name": "x", "scopes": ["config:read"]}

    given = sent(placed, "POST", "/me/tokens", {**body, "ip_allow": ["0.0.0.0/0"]}).json()
    elsewhere = sent(placed, "POST", "/me/tokens", {**body, "tenant": other_tenant.uid})

    assert (given["tenant"], given["ip_allow"]) == (tenant.uid, ["127.0.0.0/8"])
    assert elsewhere.status_code == 422


def test_a_token_replaces_itself_and_the_old_one_works_on_for_the_overlap(admin: User) -> None:
    token, plaintext = issue_token(admin, "ci", admin)
    ci = Client(headers={"authorization": f"Bearer {plaintext}"})

    fresh = sent(ci, "POST", f"/me/tokens/{token.uid}/rotate", {"overlap_h": 1}).json()

    renewed = Client(headers={"authorization": f"Bearer {fresh['token']}"})
    assert [sent(each, "GET", "/me").status_code for each in (ci, renewed)] == [200, 200]
    assert ApiToken.objects.get(uid=fresh["uid"]).rotated_from == token


def test_a_token_replaces_no_other_or_it_would_gain_what_that_one_may(
    tenant: Tenant, admin: User, caller: Caller
) -> None:
    here = tenant.organisation
    strong, _ = issue_token(admin, "all", admin, TokenTerms(organisation=here))
    narrow = caller(admin, TokenTerms(scopes=["token:write"], organisation=here))

    refused = sent(narrow, "POST", f"/me/tokens/{strong.uid}/rotate", {})

    assert (refused.status_code, refused.json()["code"]) == (403, "policy.forbidden")
    assert not ApiToken.objects.filter(rotated_from=strong).exists()
    assert sent(narrow, "DELETE", f"/me/tokens/{strong.uid}").status_code == 200


def test_a_token_gives_out_none_that_outlives_it(admin: User, caller: Caller) -> None:
    short = caller(admin, TokenTerms(scopes=["token:write", "config:read"], days=1))
    wanted = {"name": "x", "scopes": ["config:read"], "days": 300}

    given = sent(short, "POST", "/me/tokens", wanted).json()

    parent, child = ApiToken.objects.order_by("id")
    assert child.expires_at == parent.expires_at
    assert given["expires_at"] == int(parent.expires_at.timestamp() * 1000)


def test_a_token_is_not_told_of_its_makers_other_tokens(
    tenant: Tenant, admin: User, caller: Caller
) -> None:
    issue_token(admin, "somewhere else", admin)
    narrow = caller(admin, TokenTerms(scopes=["telemetry:read"], tenant=tenant))

    assert [one["name"] for one in sent(narrow, "GET", "/me/tokens").json()["items"]] == ["ci"]


@pytest.mark.parametrize(
    ("change", "status", "code"),
    [
        ({"expires_at": timezone.now()}, 401, "auth.expired"),
        ({"revoked_at": timezone.now()}, 401, "auth.revoked"),
        ({"ip_allow": ["10.0.0.0/8"]}, 403, "auth.ip_not_allowed"),
        ({"token_hash": "0" * 64}, 401, "auth.invalid_token"),
    ],
)
def test_a_token_that_is_not_accepted_is_told_why(
    admin: User, caller: Caller, change: Any, status: int, code: str
) -> None:
    ci = caller(admin)
    ApiToken.objects.update(**change)

    refused = sent(ci, "GET", "/me")

    assert (refused.status_code, refused.json()["code"]) == (status, code)
    assert refused.has_header("WWW-Authenticate") == (status == 401)


def test_a_token_whose_maker_is_out_is_not_told_what_became_of_it(
    admin: User, caller: Caller
) -> None:
    ci = caller(admin)
    ApiToken.objects.update(revoked_at=timezone.now())
    User.objects.update(is_active=False)

    assert sent(ci, "GET", "/me").json()["code"] == "auth.invalid_token"


def test_a_token_is_nobodys_account(admin: User, caller: Caller) -> None:
    refused = sent(caller(admin), "PATCH", "/me", {"display_name": "Somebody"})

    assert (refused.status_code, refused.json()["code"]) == (403, "policy.forbidden")


def test_a_plan_is_read_where_the_texts_in_it_may_be(
    tenant: Tenant, other_tenant: Tenant, manager: User, caller: Caller
) -> None:
    texts = [{"target": tenant.uid, "source_yaml": "pipeline: [format]\n"}]
    made = sent(caller(manager), "POST", "/plans", {"changes": texts, "message": "try it"}).json()
    elsewhere = caller(manager, TokenTerms(organisation=other_tenant.organisation))
    here = caller(manager, TokenTerms(organisation=tenant.organisation))

    answers = [sent(each, "GET", f"/plans/{made['uid']}") for each in (elsewhere, here)]

    assert [answer.status_code for answer in answers] == [404, 200]


def test_a_slug_of_several_organisations_names_no_tenant(
    tenant: Tenant, other_tenant: Tenant, admin: User, manager: User, caller: Caller
) -> None:
    wide, narrow, why = caller(manager), caller(admin), {"reason": "unpaid"}

    refused = sent(wide, "POST", "/tenants/orchid/disable", why)
    seen = sent(wide, "GET", "/tenants/orchid")
    exact = sent(wide, "POST", f"/tenants/{other_tenant.uid}/disable", why)

    assert [one.json().get("code") for one in (refused, seen)] == ["conflict.ambiguous"] * 2
    assert exact.status_code == 200
    assert sent(narrow, "GET", "/tenants/orchid").json()["uid"] == tenant.uid
    assert not Tenant.objects.get(pk=tenant.pk).disabled_at
