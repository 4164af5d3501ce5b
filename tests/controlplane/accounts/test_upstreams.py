"""The allow-list of providers: terms, changes, what nodes see (04 §1.2)."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import pytest
from django.core.exceptions import ValidationError
from django.db import connection

from controlplane.accounts.actions import choose_upstream
from controlplane.accounts.models import Tenant, Upstream, User
from controlplane.accounts.queries import upstreams, upstreams_by_dialect
from controlplane.accounts.upstreams import (
    UpstreamTerms,
    change_upstream,
    create_upstream,
    move_upstream,
    terms_of,
)
from controlplane.audit.models import AuditEvent
from controlplane.fleet import queries
from dataplane.core import resource

URL = "https://api.example"


def nowhere(_host: str) -> list[str]:
    return []


def create(**terms: object) -> Upstream:
    return create_upstream(
        name="lab", dialect="openai", base_url=URL, by=None, resolve=nowhere,
        terms=UpstreamTerms(**terms),  # type: ignore[arg-type]
    )  # fmt: skip


def change(upstream: Upstream, base_url: str = URL, **terms: object) -> Upstream:
    changed = replace(terms_of(upstream), **terms)  # type: ignore[arg-type]
    return change_upstream(upstream, changed, base_url=base_url, by=None, resolve=nowhere)


def published() -> list[resource.Upstream]:
    found = queries.published(resource.NODE, "default")
    assert found is not None
    return msgspec.json.decode(found.body, type=resource.NodeBody).upstreams


def test_the_terms_of_an_upstream_reach_the_nodes(tenant: Tenant) -> None:
    create(
        allow_server_state=True, wan_compression=True, header_timeout_s=30,
        proxy_url="https://proxy.example/",
    )  # fmt: skip

    assert published() == [
        resource.Upstream(
            name="lab", dialect="openai", base_url=URL, allow_server_state=True,
            wan_compression=True, header_timeout_s=30, proxy_url="https://proxy.example",
        )
    ]  # fmt: skip


def test_a_change_is_checked_like_a_new_one_and_the_trail_has_both_sides(tenant: Tenant) -> None:
    upstream = create()

    change(upstream, "https://other.example", wan_compression=True)

    event = AuditEvent.objects.filter(action="upstream.change").first()
    assert event is not None
    assert event.before is not None
    assert event.after is not None
    assert (event.before["base_url"], event.before["wan_compression"]) == (URL, False)
    assert event.after["base_url"] == "https://other.example"
    with pytest.raises(ValidationError):
        change(upstream, "https://127.0.0.1")


@pytest.mark.parametrize("terms", [{"proxy_url": "http://10.0.0.1"}, {"key_header": "a: b"}])
def test_terms_that_break_a_rule_are_refused(tenant: Tenant, terms: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        create(**terms)
    assert not Upstream.objects.filter(name="lab").exists()


def test_a_disabled_upstream_is_offered_to_nobody(tenant: Tenant, admin: User) -> None:
    upstream = create()
    change(upstream, enabled=False)

    assert published() == []
    assert upstreams_by_dialect() == {}
    assert list(upstreams()) == [upstream]
    with pytest.raises(ValidationError):
        choose_upstream(tenant, "openai", "lab", admin)


def test_an_upstream_in_use_cannot_be_disabled(tenant: Tenant) -> None:
    upstream = create()
    choose_upstream(tenant, "openai", "lab", None)

    with pytest.raises(ValidationError):
        change(upstream, enabled=False)


def test_a_body_of_an_earlier_release_still_decodes() -> None:
    body = b'{"base_url":"https://a","dialect":"openai","name":"lab"}'

    assert (
        msgspec.json.encode(msgspec.json.decode(body, type=resource.Upstream), order="sorted")
        == body
    )


@pytest.mark.django_db(transaction=True)
def test_a_name_is_looked_up_while_nobody_waits_for_a_lock() -> None:
    was_locked = []

    def slowly(_host: str) -> list[str]:
        was_locked.append(connection.in_atomic_block)
        return []

    made = create_upstream(name="lab", dialect="openai", base_url=URL, by=None, resolve=slowly)
    move_upstream(made, base_url="https://other.example", by=None, resolve=slowly)
    change_upstream(made, UpstreamTerms(proxy_url=URL), base_url=URL, by=None, resolve=slowly)

    assert was_locked == [False] * 4
