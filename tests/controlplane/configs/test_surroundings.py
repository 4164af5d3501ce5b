"""What the deployment knows decides over a document where it is saved (04 §2.5)."""

from __future__ import annotations

import pytest

from controlplane.accounts.actions import choose_upstream
from controlplane.accounts.models import Organisation, Tenant, Upstream, User
from controlplane.accounts.upstreams import create_upstream
from controlplane.accounts.vault import put_secret
from controlplane.configs.checking import checked_as
from controlplane.configs.documents import document_of, org_default
from controlplane.configs.models import ConfigDocument

SUMMARY = "components: {summarize: {model: {%s}}}\npipeline: [summarize]\n"
GONE = {"config.component_unavailable"}


@pytest.fixture
def upstream(db: None) -> Upstream:
    return create_upstream(
        name="main", dialect="anthropic", base_url="https://models.example", by=None,
        resolve=lambda _: ["203.0.113.7"],
    )  # fmt: skip


def codes(document: ConfigDocument, source: str, by: User) -> set[str]:
    return {one.code for one in checked_as(document, source, by).problems} - GONE


def test_a_secret_is_known_in_the_scopes_above_its_reader_only(
    tenant: Tenant, other_tenant: Tenant, organisation: Organisation, admin: User
) -> None:
    for owner, name in ((None, "everyones"), (organisation, "ours"), (tenant, "mine")):
        put_secret(owner, name, "value", kind="provider_key", by=None)

    def missing(document: ConfigDocument) -> list[str]:
        names = ("everyones", "ours", "mine", "nobodys")
        texts = {name: SUMMARY % f"model: m, api_key: 'secret:{name}'" for name in names}
        wanted = "config.secret_not_found"
        return [name for name, text in texts.items() if wanted in codes(document, text, admin)]

    assert missing(document_of(tenant)) == ["nobodys"]
    assert missing(org_default(organisation)) == ["mine", "nobodys"]
    assert missing(document_of(other_tenant)) == ["ours", "mine", "nobodys"]


def test_an_address_is_that_of_an_enabled_upstream(
    tenant: Tenant, upstream: Upstream, admin: User
) -> None:
    text = SUMMARY % "model: m, base_url: 'https://models.example'"
    document = document_of(tenant)

    assert "config.url_not_allowed" not in codes(document, text, admin)
    upstream.enabled = False
    upstream.save()
    assert "config.url_not_allowed" in codes(document, text, admin)


@pytest.mark.parametrize(
    ("model", "is_priced"),
    [
        ("claude-sonnet-5", True), ("claude-sonnet-5-20250929", True),
        ("Claude-Sonnet-5", True), ("nobodys-model", False),
    ],
)  # fmt: skip
def test_a_model_has_a_price_as_the_card_finds_it(
    tenant: Tenant, admin: User, *, model: str, is_priced: bool
) -> None:
    found = codes(document_of(tenant), f"force_model: {model}\n", admin)

    assert ("config.model_unpriced" not in found) is is_priced


def test_a_deployment_without_a_compaction_model_says_that_the_call_is_never_made(
    tenant: Tenant, admin: User
) -> None:
    text = SUMMARY % "source: config"

    assert "config.no_compaction_model" in codes(document_of(tenant), text, admin)


def test_masking_the_cached_prefix_is_advised_against_once_a_provider_caches(
    tenant: Tenant, upstream: Upstream, admin: User
) -> None:
    text, document = "pipeline: [mask]\n", document_of(tenant)
    before = codes(document, text, admin)
    choose_upstream(tenant, "anthropic", "main", None)

    assert codes(document, text, admin) - before == {"advice.mask_on_caching_backend"}
    assert "advice.mask_on_caching_backend" not in codes(document, text + "cache: {mode: off}\n",
                                                         admin)  # fmt: skip
