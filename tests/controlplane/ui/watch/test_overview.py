"""The Overview: what was reported of the window, of what the person may see (04 §5.1)."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from django.test import Client

from controlplane.accounts.actions import create_tenant
from controlplane.accounts.models import Organisation, Tenant, User
from controlplane.telemetry.models import NodeStream, TrafficBucket
from controlplane.telemetry.queries.windows import now_ms
from controlplane.telemetry.resolutions import HOUR_S
from tests.controlplane.alarms.conftest import opened
from tests.controlplane.ui.conftest import Browser
from tests.controlplane.ui.watched import BUSY, a_run, a_stream, traffic
from tests.fakes.node import NOTHING, FakeNode

Register = Callable[[FakeNode], None]
pytestmark = pytest.mark.django_db(databases=["default", "telemetry"])


def text_of(client: Client, path: str = "/", *, htmx: bool = False) -> str:
    """The page with its spaces collapsed."""
    headers = {"hx-request": "true"} if htmx else {}
    answer = client.get(path, headers=headers)
    assert answer.status_code == 200
    return re.sub(r"\s+", " ", answer.content.decode())


def test_without_a_node_the_page_says_so_and_shows_no_number(browser: Browser, admin: User) -> None:
    page = text_of(browser(admin))

    assert "No node answers in this process" in page
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


def test_a_manager_sees_what_all_nodes_reported_although_this_process_has_just_begun(
    browser: Browser, manager: User, tenant: Tenant, node: Register
) -> None:
    traffic(tenant.uid, **BUSY)
    a_run(tenant.uid, runs=16_204, acted=9_120, duration_us=51_852_800)
    node(FakeNode(NOTHING))

    page = text_of(browser(manager))

    assert 'id="requests">18,402<' in page
    assert 'id="sessions">612<' in page
    assert "Nothing lost" in page
    assert "Counted over the last 1 h; 1 of 1 node report." in page
    for money in ("$696.67", "$611.28", "+$85.39"):  # baseline, billed, net
        assert money in page
    assert "below_min_tokens" in page
    assert 'class="v">40.5<' in page  # gross of what it was allowed to touch


def test_what_a_new_process_holds_is_not_known_before_its_first_request(
    browser: Browser, manager: User, tenant: Tenant, node: Register
) -> None:
    """It reports no figure of its store until then; the one that answers is not asked."""
    traffic(tenant.uid, **BUSY)
    node(FakeNode(NOTHING | {"stash_live": 7, "stash_capacity": 9, "all_requests": 1}))
    a_stream("node-a", gauges={"inflight": 0})

    assert 'id="held">no data<' in text_of(browser(manager))
    a_stream("node-a", gauges={"stash_live": 135, "stash_capacity": 100_000})
    assert 'id="held">135<' in text_of(browser(manager))


def test_figures_are_those_of_the_window_that_is_chosen(
    browser: Browser, manager: User, tenant: Tenant, node: Register
) -> None:
    traffic(tenant.uid, requests=7, shaped=7)
    for bucket in TrafficBucket.objects.filter(resolution_s__lte=HOUR_S):
        bucket.pk, bucket.bucket_at, bucket.requests = None, bucket.bucket_at - HOUR_S * 1000, 100
        bucket.save()
    NodeStream.objects.update(first_at=1)
    node(FakeNode(NOTHING))

    assert 'id="requests">7<' in text_of(browser(manager), "/?window=900")
    assert 'id="requests">107<' in text_of(browser(manager), "/?window=21600")


def test_pings_are_no_part_of_what_the_same_traffic_would_have_cost(
    browser: Browser, manager: User, tenant: Tenant, node: Register
) -> None:
    kept = {"pings_usd": "0.50", "rescued_usd": "2.00", "keepalive_pings": 3}
    money = {"cost_usd": "10.50", "saved_usd": "1.00", "priced": 9, "fresh_input": 9}
    traffic(tenant.uid, requests=9, shaped=9, **money, **kept)
    node(FakeNode(NOTHING))

    page = text_of(browser(manager))

    assert "$13.00" in page  # what was billed less the pings, and what was spared
    assert "+$2.50" in page
    assert "3 pings" in page


def test_without_a_price_for_anything_money_is_unknown_and_never_nothing(
    browser: Browser, manager: User, tenant: Tenant, node: Register
) -> None:
    traffic(tenant.uid, requests=3, shaped=3, unpriced=3, fresh_input=90)
    node(FakeNode(NOTHING))

    money = text_of(browser(manager)).split('id="money"')[1].split("</dl>")[0]

    assert money.count("unknown") == 3
    assert money.count("$0.00") == 1  # of models of our own, of which none was asked


def test_a_node_that_fell_silent_rules_no_loss_out(
    browser: Browser, manager: User, tenant: Tenant, node: Register
) -> None:
    traffic(tenant.uid, **BUSY)
    a_stream("node-d", last_at=now_ms() - 600_000)
    node(FakeNode(NOTHING))

    page = text_of(browser(manager))

    assert "Loss is unknown" in page
    assert "Nothing lost" not in page
    assert "1 of 2 nodes report" in page


def test_an_earlier_loss_that_is_not_resolved_lets_nothing_look_calm(
    browser: Browser, manager: User, tenant: Tenant, other_tenant: Tenant, node: Register
) -> None:
    traffic(tenant.uid, **BUSY)
    traffic(other_tenant.uid, **BUSY)
    node(FakeNode(NOTHING))
    opened(tenant.uid)

    assert "An earlier loss is open" in text_of(browser(manager))
    assert "Nothing lost" in text_of(browser(manager), f"/?tenant={other_tenant.uid}")


def test_a_quiet_window_of_a_deployment_with_traffic_shows_zeros_and_no_first_steps(
    browser: Browser, manager: User, tenant: Tenant, node: Register
) -> None:
    traffic(tenant.uid, requests=3)
    TrafficBucket.objects.filter(resolution_s__lt=86_400).delete()
    node(FakeNode(NOTHING))

    page = text_of(browser(manager), "/?window=300")

    assert 'id="requests">0<' in page
    assert "Nothing observed yet" in page
    assert "export ANTHROPIC_BASE_URL" not in page


def test_everybody_else_sees_the_sum_of_their_own_tenants(
    browser: Browser, admin: User, organisation: Organisation, other_tenant: Tenant, node: Register
) -> None:
    for slug in ("orchid", "lilac"):
        traffic(create_tenant(organisation, slug=slug, by=None).uid, requests=100)
    traffic(other_tenant.uid, requests=90_000)
    node(FakeNode(NOTHING))

    assert 'id="requests">200<' in text_of(browser(admin))


def test_one_tenant_is_chosen_by_the_address(
    browser: Browser, manager: User, tenant: Tenant, organisation: Organisation, node: Register
) -> None:
    traffic(tenant.uid, requests=7)
    traffic(create_tenant(organisation, slug="lilac", by=None).uid, requests=90)
    node(FakeNode(NOTHING))

    page = text_of(browser(manager), "/?tenant=orchid")

    assert 'id="requests">7<' in page
    assert 'hx-get="/?tenant=orchid"' in page


def test_the_tenant_of_another_organisation_is_not_there(
    browser: Browser, admin: User, other_tenant: Tenant, node: Register
) -> None:
    node(FakeNode(NOTHING))

    for wanted in (other_tenant.slug, other_tenant.uid):
        assert browser(admin).get(f"/?tenant={wanted}").status_code == 404


def test_a_loss_is_an_alert_and_names_the_number(
    browser: Browser, manager: User, tenant: Tenant, node: Register
) -> None:
    traffic(tenant.uid, **BUSY, expand_missing=2)
    node(FakeNode(NOTHING))

    page = text_of(browser(manager))

    assert page.count('role="alert"') == 1
    assert "2 originals lost" in page


def test_a_poll_answers_with_leaves_and_not_with_the_page(
    browser: Browser, manager: User, tenant: Tenant, node: Register
) -> None:
    traffic(tenant.uid, **BUSY)
    node(FakeNode(NOTHING))

    answer = text_of(browser(manager), "/?safety=calm&figures=shown", htmx=True)

    assert "<html" not in answer
    assert '<span class="figure" id="requests" hx-swap-oob="true">18,402</span>' in answer
    assert '<tbody id="components" hx-swap-oob="true">' in answer
    assert 'id="safety"' not in answer


def test_a_poll_brings_the_strip_when_its_state_changed(
    browser: Browser, manager: User, tenant: Tenant, node: Register
) -> None:
    traffic(tenant.uid, **BUSY, expand_missing=1)
    node(FakeNode(NOTHING))

    answer = text_of(browser(manager), "/?safety=calm&figures=shown", htmx=True)

    assert 'id="safety" hx-swap-oob="true"' in answer
    assert 'role="alert"' in answer


def test_the_first_request_brings_the_figures_to_an_empty_page(
    browser: Browser, manager: User, tenant: Tenant, node: Register
) -> None:
    traffic(tenant.uid, **BUSY)
    node(FakeNode(NOTHING))

    answer = text_of(browser(manager), "/?safety=unknown", htmx=True)

    assert '<div id="figures-body" hx-swap-oob="true">' in answer
    assert "The first request arrived" in answer
    assert len(set(re.findall(r' id="([^"]+)"', answer))) == answer.count(' id="')


def test_every_leaf_that_a_poll_sends_is_on_the_page(
    browser: Browser, manager: User, tenant: Tenant, node: Register
) -> None:
    traffic(tenant.uid, **BUSY)
    node(FakeNode(NOTHING))
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
    node(FakeNode(NOTHING))
    client = browser(admin)
    client.get("/login")  # the first request of a machine also writes it down

    with django_assert_num_queries(19):  # type: ignore[attr-defined]
        client.get("/")


def test_a_poll_after_the_session_has_ended_leads_the_page_to_the_sign_in(
    client: Client, db: None
) -> None:
    answer = client.get("/?safety=calm", headers={"hx-request": "true"})

    assert answer["hx-redirect"] == "/login?next=/"
