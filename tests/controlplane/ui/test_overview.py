"""The Overview: real figures of the running node, of what the person may see (04 section 5.1)."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from django.test import Client

from controlplane.accounts.actions import create_tenant
from controlplane.accounts.models import Organisation, Tenant, User
from tests.controlplane.ui.conftest import Browser
from tests.fakes.node import NOTHING, FakeNode, busy

Register = Callable[[FakeNode], None]


def text_of(client: Client, path: str = "/", *, htmx: bool = False) -> str:
    """The page with its spaces collapsed."""
    headers = {"hx-request": "true"} if htmx else {}
    answer = client.get(path, headers=headers)
    assert answer.status_code == 200
    return re.sub(r"\s+", " ", answer.content.decode())


def test_without_a_node_the_page_says_so_and_shows_no_number(browser: Browser, admin: User) -> None:
    page = text_of(browser(admin))

    assert "No node answers in this process" in page
    assert "again" not in re.findall(r'id="figures"[^>]*', page)[0]
    assert not re.search(r'class="figure[^"]*" id="[^"]*">\d', page)


def test_without_traffic_it_shows_the_lines_to_paste(
    browser: Browser, admin: User, tenant: Tenant, node: Register
) -> None:
    node(FakeNode(NOTHING))

    page = text_of(browser(admin))

    assert "No traffic yet" in page
    assert "export ANTHROPIC_BASE_URL=http://testserver/anthropic" in page
    assert 'href="/connect/orchid"' in page


def test_whoever_may_not_issue_a_key_is_not_sent_to_do_it(
    browser: Browser, viewer: User, tenant: Tenant, node: Register
) -> None:
    node(FakeNode(NOTHING))

    assert "An administrator can issue another." in text_of(browser(viewer))


def test_a_manager_sees_the_figures_of_the_whole_node(
    browser: Browser, manager: User, tenant: Tenant, node: Register
) -> None:
    node(FakeNode(busy()))

    page = text_of(browser(manager))

    assert 'id="requests">18,402<' in page
    assert "Nothing lost" in page
    assert "$611.28" in page
    assert "below_min_tokens" in page


def test_everybody_else_sees_the_sum_of_their_own_tenants(
    browser: Browser, admin: User, organisation: Organisation, other_tenant: Tenant, node: Register
) -> None:
    ours = [create_tenant(organisation, slug=slug, by=None) for slug in ("orchid", "lilac")]
    by_uid = {tenant.uid: busy(all_requests=100) for tenant in ours}
    node(FakeNode(busy(all_requests=90_000), **by_uid, **{other_tenant.uid: busy()}))

    assert 'id="requests">200<' in text_of(browser(admin))


def test_one_tenant_is_chosen_by_the_address(
    browser: Browser, manager: User, tenant: Tenant, node: Register
) -> None:
    node(FakeNode(busy(), **{tenant.uid: busy(all_requests=7)}))

    page = text_of(browser(manager), "/?tenant=orchid")

    assert 'id="requests">7<' in page
    assert 'hx-get="/?tenant=orchid"' in page


def test_the_tenant_of_another_organisation_is_not_there(
    browser: Browser, admin: User, other_tenant: Tenant, node: Register
) -> None:
    node(FakeNode(busy(), **{other_tenant.uid: busy()}))

    for wanted in (other_tenant.slug, other_tenant.uid):
        assert browser(admin).get(f"/?tenant={wanted}").status_code == 404


def test_a_loss_is_an_alert_and_names_the_number(
    browser: Browser, manager: User, node: Register
) -> None:
    node(FakeNode(busy(expand_unresolved_missing=2)))

    page = text_of(browser(manager))

    assert page.count('role="alert"') == 1
    assert "2 originals lost" in page


def test_a_poll_answers_with_leaves_and_not_with_the_page(
    browser: Browser, manager: User, node: Register
) -> None:
    node(FakeNode(busy()))

    answer = text_of(browser(manager), "/?safety=calm&figures=shown", htmx=True)

    assert "<html" not in answer
    assert '<span class="figure" id="requests" hx-swap-oob="true">18,402</span>' in answer
    assert '<tbody id="components" hx-swap-oob="true">' in answer
    assert 'id="safety"' not in answer


def test_a_poll_brings_the_strip_when_its_state_changed(
    browser: Browser, manager: User, node: Register
) -> None:
    node(FakeNode(busy(expand_unresolved_missing=1)))

    answer = text_of(browser(manager), "/?safety=calm&figures=shown", htmx=True)

    assert 'id="safety" hx-swap-oob="true"' in answer
    assert 'role="alert"' in answer


def test_the_first_request_brings_the_figures_to_an_empty_page(
    browser: Browser, manager: User, node: Register
) -> None:
    node(FakeNode(busy()))

    answer = text_of(browser(manager), "/?safety=unknown", htmx=True)

    assert '<div id="figures-body" hx-swap-oob="true">' in answer
    assert "The first request arrived" in answer
    assert len(set(re.findall(r' id="([^"]+)"', answer))) == answer.count(' id="')


def test_every_leaf_that_a_poll_sends_is_on_the_page(
    browser: Browser, manager: User, node: Register
) -> None:
    node(FakeNode(busy()))
    client = browser(manager)
    page = set(re.findall(r' id="([^"]+)"', text_of(client)))

    leaves = re.findall(
        r' id="([^"]+)"[^>]* hx-swap-oob',
        text_of(client, "/?safety=calm&figures=shown", htmx=True),
    )

    assert leaves
    assert set(leaves) <= page


@pytest.mark.parametrize("count", [1, 30])
def test_the_number_of_queries_does_not_grow_with_the_tenants(
    browser: Browser,
    admin: User,
    organisation: Organisation,
    node: Register,
    django_assert_num_queries: Callable[[int], object],
    count: int,
) -> None:
    for number in range(count):
        create_tenant(organisation, slug=f"tenant-{number}", by=None)
    node(FakeNode(busy()))
    client = browser(admin)
    client.get("/login")  # the first request of a machine also writes it down

    with django_assert_num_queries(15):  # type: ignore[attr-defined]
        client.get("/")


def test_a_poll_after_the_session_has_ended_leads_the_page_to_the_sign_in(
    client: Client, db: None
) -> None:
    answer = client.get("/?safety=calm", headers={"hx-request": "true"})

    assert answer["hx-redirect"] == "/login?next=/"
