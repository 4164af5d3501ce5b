"""Components: what each did here and why it declined, of what the person may see (04 §5.2)."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from django.test import Client

from controlplane.accounts.models import Tenant, User
from controlplane.configs.actions import save_version
from controlplane.configs.documents import document_of
from controlplane.telemetry.models import ComponentBucket, NodeStream, SignalBucket
from controlplane.telemetry.queries.windows import now_ms
from tests.controlplane.ui.conftest import Browser

pytestmark = pytest.mark.django_db(databases=["default", "telemetry"])
RESOLUTIONS = (10, 60, 3600, 86_400)


@pytest.fixture(autouse=True)
def reporting(db: None) -> None:
    """A node that has reported for an hour and does so now."""
    now = now_ms()
    NodeStream.objects.create(
        node_id="node-a", boot_id="boot-1", first_at=now - 3_000_000, last_at=now
    )


def raised(tenant: Tenant, gate: str, n: int, *, component: str = "mask", ago_s: int = 30) -> None:
    """One run of the component, which that gate stopped n times."""
    at = now_ms() - ago_s * 1000
    for resolution in RESOLUTIONS:
        start = at - at % (resolution * 1000)
        bucket: dict[str, Any] = {
            "resolution_s": resolution,
            "bucket_at": start,
            "tenant_uid": tenant.uid,
        }
        signal, _ = SignalBucket.objects.get_or_create(
            **bucket, component=component, signal=gate, kind="gate"
        )
        signal.n += n
        signal.requests += 1
        signal.save()
        ran, _ = ComponentBucket.objects.get_or_create(**bucket, component=component)
        ran.runs += 1
        ran.save()


def text_of(client: Client, path: str) -> str:
    answer = client.get(path)
    assert answer.status_code == 200
    return re.sub(r"\s+", " ", answer.content.decode())


def leaf(page: str, name: str) -> str:
    found = re.search(rf'id="{name}"[^>]*>(.*?)</(?:td|span)>', page)
    assert found, name
    return re.sub(r"<[^>]+>|&nbsp;", " ", found[1]).strip()


def test_the_gates_are_counted_in_candidates_and_requests_with_their_meaning(
    browser: Browser, admin: User, tenant: Tenant
) -> None:
    raised(tenant, "cached_prefix", 7)
    raised(tenant, "cached_prefix", 5)
    raised(tenant, "below_min_tokens", 4)

    page = text_of(browser(admin), "/components/mask")

    assert (leaf(page, "gate-cached_prefix"), leaf(page, "gate-cached_prefix-requests")) == (
        "12",
        "2",
    )
    assert leaf(page, "gate-below_min_tokens") == "4"
    assert leaf(page, "gate-non_text_blocks") == "0"
    assert "Inside the provider&#x27;s cached prefix" in page
    assert "turned away 75.0" in page


def test_the_chart_is_its_table_and_the_table_holds_the_declines(
    browser: Browser, admin: User, tenant: Tenant
) -> None:
    raised(tenant, "cached_prefix", 7, ago_s=300)
    page = text_of(browser(admin), "/components/mask?window=900")
    figure = page.partition('id="declines-candidates"')[2].partition("</figure>")[0]

    heads = re.findall(r'data-key="([^"]+)"', figure)
    rows = re.findall(r'<tr data-at="(\d+)">(.*?)</tr>', figure)
    columns = [re.findall(r'<td class="num">([^<]*)</td>', cells) for _, cells in rows]

    assert heads[0] == "cached_prefix"
    assert sum(int(cells[0]) for cells in columns) == 7
    assert {int(b) - int(a) for (a, _), (b, _) in pairwise(rows)} == {10}


def test_time_in_which_nobody_reported_is_a_gap_and_not_a_zero(
    browser: Browser, admin: User, tenant: Tenant
) -> None:
    NodeStream.objects.all().delete()
    now = now_ms()
    NodeStream.objects.create(
        node_id="node-a", boot_id="boot-2", first_at=now - 300_000, last_at=now
    )
    raised(tenant, "cached_prefix", 7)

    page = text_of(browser(admin), "/components/mask?window=900")

    figure = page.partition('id="declines-candidates"')[2].partition("</figure>")[0]
    cells = re.findall(r'<tr data-at="\d+"><th.*?</th><td class="num">([^<]*)</td>', figure)
    assert cells[0] == "no data"
    assert cells[-3] != "no data"
    assert "started" in page


def test_nobody_sees_the_declines_of_another_organisation(
    browser: Browser, admin: User, tenant: Tenant, other_tenant: Tenant
) -> None:
    raised(tenant, "cached_prefix", 7)
    raised(other_tenant, "cached_prefix", 990)

    assert leaf(text_of(browser(admin), "/components/mask"), "gate-cached_prefix") == "7"
    assert browser(admin).get(f"/components/mask?tenant={other_tenant.uid}").status_code == 404


def test_a_manager_sees_all_of_them_and_may_narrow_it(
    browser: Browser, manager: User, tenant: Tenant, other_tenant: Tenant
) -> None:
    raised(tenant, "cached_prefix", 7)
    raised(other_tenant, "cached_prefix", 990)
    client = browser(manager)

    assert leaf(text_of(client, "/components/mask"), "gate-cached_prefix") == "997"
    one = text_of(client, f"/components/mask?tenant={tenant.uid}")
    assert leaf(one, "gate-cached_prefix") == "7"


def test_the_keys_in_force_are_those_of_the_tenant_on_screen(
    browser: Browser, admin: User, tenant: Tenant
) -> None:
    text = "pipeline:\n  - mask\ncomponents:\n  mask:\n    keep_recent: 17\n"
    save_version(document_of(tenant), text, message="keep more", by=admin)

    page = text_of(browser(admin), "/components/mask?tenant=orchid")

    keys = page.partition('id="h-keys"')[2]
    assert re.search(r"<code>keep_recent</code></th><td[^>]*><code>17</code>", keys)
    assert "tenant, line 5" in keys


@pytest.mark.parametrize(
    ("component", "words"),
    [
        pytest.param("mask", "No traffic in this window.", id="deployed and idle"),
        pytest.param("toon", "This component is in no active pipeline.", id="not deployed"),
    ],
)
def test_an_empty_page_says_why_it_is_empty(
    browser: Browser, admin: User, tenant: Tenant, component: str, words: str
) -> None:
    assert words in text_of(browser(admin), f"/components/{component}")


def test_without_any_report_figures_are_a_word_and_never_zero(
    browser: Browser, admin: User, tenant: Tenant
) -> None:
    NodeStream.objects.all().delete()

    page = text_of(browser(admin), "/components/mask")

    assert leaf(page, "c-runs") == "no data"
    assert leaf(page, "gate-cached_prefix") == "no data"


def test_a_gate_that_this_build_does_not_know_is_shown_raw_and_escaped(
    browser: Browser, admin: User, tenant: Tenant
) -> None:
    raised(tenant, "<b>new</b>", 3)

    page = text_of(browser(admin), "/components/mask")

    assert "&lt;b&gt;new&lt;/b&gt;" in page
    assert "no description" in page
    assert "<b>new</b>" not in page


def test_an_unknown_component_is_not_found(browser: Browser, admin: User, tenant: Tenant) -> None:
    assert browser(admin).get("/components/nothing").status_code == 404


def test_the_list_tells_what_each_is_doing_here(
    browser: Browser, admin: User, tenant: Tenant
) -> None:
    raised(tenant, "cached_prefix", 7)

    page = text_of(browser(admin), "/components")

    mask = page.partition("<code>mask</code>")[2].partition("</tr>")[0]
    assert "inert here" in mask
    assert "in 1 of 1 pipelines" in mask
    assert "100.0" in mask
    assert "not in this build" in page.partition('id="h-others"')[2]


@pytest.mark.parametrize("path", ["/components", "/components/mask"])
@pytest.mark.parametrize("count", [1, 40])
def test_the_number_of_queries_does_not_grow_with_the_traffic(
    browser: Browser,
    admin: User,
    tenant: Tenant,
    django_assert_max_num_queries: Callable[..., object],
    path: str,
    count: int,
) -> None:
    for n in range(count):
        raised(tenant, "cached_prefix", 1, ago_s=10 * n, component="mask")
    client = browser(admin)
    client.get("/login")

    with django_assert_max_num_queries(24):  # type: ignore[attr-defined]
        client.get(path)
    with django_assert_max_num_queries(24, using="telemetry"):  # type: ignore[attr-defined]
        client.get(path)
