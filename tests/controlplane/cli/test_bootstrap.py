"""What bootstrap makes, keeps and replaces (00 §3)."""

from __future__ import annotations

from typing import Any

import pytest

from controlplane.accounts.models import DataPlaneKey, Tenant, Upstream, User
from controlplane.accounts.permissions import may
from controlplane.accounts.queries import chosen_upstreams
from controlplane.cli.bootstrapping import Bootstrapped, Wanted, bootstrap
from controlplane.cli.bundling import UnknownTenantError, bundle_of
from controlplane.configs.queries import tenant_document
from dataplane.core import resource

LOCAL = "http://127.0.0.1:9100"
pytestmark = pytest.mark.django_db


def run(tenant: str = "orchid", **more: Any) -> Bootstrapped:
    given = {"upstreams": {"anthropic": LOCAL}, "admin_email": "admin@localhost", **more}
    return bootstrap(Wanted(tenant=tenant, **given))


def url_of(slug: str, dialect: str = "anthropic") -> str:
    return chosen_upstreams(Tenant.objects.get(slug=slug))[dialect].base_url


def test_the_first_admin_manages_the_deployment() -> None:
    made = run()

    assert may(User.objects.get(email=made.email), "upstream:write", None)


def test_rotating_replaces_every_secret_and_keeps_the_principal() -> None:
    first = run()
    rotated = run(rotate=True)

    for field in ("password", "data_plane_key", "api_token"):
        assert getattr(rotated, field) not in (None, getattr(first, field))
    keys = DataPlaneKey.objects.values_list("principal", "revoked_at")
    assert len({principal for principal, _ in keys}) == 1
    assert sorted(revoked is None for _, revoked in keys) == [False, True]
    assert User.objects.get().check_password(rotated.password or "")


def test_an_existing_manager_stays_whatever_is_preset_later() -> None:
    first = run()
    second = run(admin_email="late@example.com", admin_password="another long one")

    assert (second.email, second.password) == (first.email, None)
    assert User.objects.count() == 1


def test_a_second_tenant_gets_a_key_and_does_not_move_the_first_ones_upstream() -> None:
    run()
    maple = run("maple", upstreams={"anthropic": "http://127.0.0.1:9200"})

    assert maple.data_plane_key
    assert (maple.password, maple.api_token) == (None, None)
    assert (url_of("orchid"), url_of("maple")) == (LOCAL, "http://127.0.0.1:9200")


def test_another_address_moves_the_tenants_own_upstream() -> None:
    run()
    run(upstreams={"anthropic": "http://127.0.0.1:9300"})

    assert url_of("orchid") == "http://127.0.0.1:9300"
    assert Upstream.objects.filter(name__startswith="orchid").count() == 1


def test_the_providers_themselves_can_be_chosen_later() -> None:
    run(upstreams={"openai": "https://api.openai.com"})

    assert set(Upstream.objects.values_list("name", flat=True)) == {"anthropic", "openai"}
    assert url_of("orchid", "openai") == "https://api.openai.com"


def test_a_document_becomes_the_tenants_own() -> None:
    run(document="# mine\npipeline: [format]\n")

    found = tenant_document(Tenant.objects.get())
    assert (found.source, found.follows) == ("# mine\npipeline: [format]\n", False)


def test_a_bundle_holds_a_tenant_and_nothing_of_another() -> None:
    run()
    run("maple", upstreams={"openai": "http://127.0.0.1:9200"})
    raw = bundle_of(["orchid"])

    found = {one.envelope.type for one in resource.unbundle(raw)}
    assert found == {resource.TENANT, resource.AUTH_INDEX, resource.NODE, resource.PRICES}
    for one in resource.unbundle(raw):
        assert one.envelope.hash == resource.hash_of(one.body)
    maple = Tenant.objects.get(slug="maple")
    digests = maple.keys.values_list("key_hash", flat=True)
    for foreign in ("maple", maple.uid, "9200", *digests):
        assert foreign.encode() not in raw


def test_a_bundle_of_an_unknown_tenant_is_refused() -> None:
    with pytest.raises(UnknownTenantError, match="no tenant 'elm'"):
        bundle_of(["elm"])
