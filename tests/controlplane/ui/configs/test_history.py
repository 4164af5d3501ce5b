"""Versions, comparisons, following and customising (04 §3.4, 3.5 and 5.9)."""

from __future__ import annotations

import re

import pytest
from django.test import Client

from controlplane.accounts.models import Tenant, User
from controlplane.configs.actions import save_version
from controlplane.configs.documents import document_of
from controlplane.configs.queries import current_revision
from tests.controlplane.ui.conftest import Browser

FIRST = "# ours\npipeline:\n  - mask\n"
SECOND = "# ours\npipeline:\n  - mask\n  - dedup\n"


@pytest.fixture
def client(browser: Browser, admin: User) -> Client:
    return browser(admin)


@pytest.fixture
def two_versions(tenant: Tenant, admin: User) -> Tenant:
    save_version(document_of(tenant), FIRST, "mask alone", admin)
    save_version(document_of(tenant), SECOND, "and dedup", admin)
    return tenant


def test_restoring_saves_the_old_text_as_the_next_version(
    client: Client, two_versions: Tenant
) -> None:
    page = client.get("/config/orchid/versions/1").content.decode()
    assert "Restore version 1: mask alone" in page

    client.post("/config/orchid/versions/1/restore", {"message": "back", "based_on": 2})

    head = document_of(two_versions).head
    assert head
    assert (head.number, head.source, head.message) == (3, FIRST, "back")


def test_restoring_over_a_version_that_one_has_not_seen_changes_nothing(
    client: Client, two_versions: Tenant
) -> None:
    answer = client.post("/config/orchid/versions/1/restore", {"based_on": 1}, follow=True)

    assert "version 2 was saved meanwhile" in answer.content.decode()
    head = document_of(two_versions).head
    assert head
    assert head.number == 2


def test_a_comparison_says_what_changed_and_marks_the_lines(
    client: Client, two_versions: Tenant
) -> None:
    page = client.get("/config/orchid/diff").content.decode()

    assert "Adds <code>dedup</code> after <code>mask</code>" in page
    assert "removes content" in page
    assert '<li class="add">' in page


def test_a_draft_can_be_compared_before_it_is_saved(client: Client, two_versions: Tenant) -> None:
    client.post("/config/orchid/check", {"source": FIRST, "based_on": 2})

    page = client.get("/config/orchid/diff?left=2&right=draft").content.decode()

    assert "Removes <code>dedup</code>" in page


def test_a_version_that_does_not_exist_is_not_found(client: Client, two_versions: Tenant) -> None:
    for path in ("versions/9", "diff?left=9", "diff?right=x"):
        assert client.get(f"/config/orchid/{path}").status_code == 404


def test_customising_changes_nothing_that_runs(client: Client, tenant: Tenant) -> None:
    before = current_revision(tenant)

    client.post("/config/orchid/customise")

    after = current_revision(tenant)
    head = document_of(tenant).head
    assert head
    assert head.number == 1
    assert before
    assert after
    assert before.effective["pipeline"] == after.effective["pipeline"]
    assert before.effective["components"] == after.effective["components"]


def test_following_again_is_asked_and_keeps_the_history(
    client: Client, two_versions: Tenant
) -> None:
    asked = client.get("/config/orchid/follow").content.decode()
    assert "What changes" in asked

    client.post("/config/orchid/follow", {"message": "back to all", "based_on": 2})

    page = client.get("/config/orchid").content.decode()
    assert "Follows the server default" in page
    assert "/config/orchid/versions/2" in client.get("/config/orchid/versions").content.decode()
    client.post("/config/orchid/customise")
    head = document_of(two_versions).head
    assert head
    assert head.number == 4


def test_following_over_a_version_that_one_has_not_seen_changes_nothing(
    client: Client, two_versions: Tenant
) -> None:
    client.post("/config/orchid/follow", {"based_on": 1})

    head = document_of(two_versions).head
    assert head
    assert not head.is_tombstone


def test_the_server_default_follows_nothing(
    browser: Browser, manager: User, tenant: Tenant
) -> None:
    assert browser(manager).get("/config/server_default/follow").status_code == 403


def test_the_effective_view_says_where_each_value_comes_from(
    client: Client, tenant: Tenant, admin: User
) -> None:
    text = "pipeline: [mask]\ncomponents:\n  mask:\n    keep_recent: 5\n"
    save_version(document_of(tenant), text, "keep more", admin)

    page = client.get("/config/orchid/effective").content.decode()
    assert "tenant, line 4" in page
    assert "<s><code>3</code></s>" in page
    assert "server default, line" in page

    own = client.get("/config/orchid/effective?show=own").content.decode()
    assert "keep_recent" in own
    assert "server default, line 24" not in own
    nothing = client.get("/config/orchid/effective?q=no+such+key").content.decode()
    assert "No key passes the filter" in nothing


@pytest.mark.parametrize(
    ("form", "expected"),
    [("yaml", "keep_recent: 5  # tenant:acme/orchid@v1:line 4"), ("json", "{")],
)
def test_the_effective_document_can_be_taken_away(
    client: Client, tenant: Tenant, admin: User, form: str, expected: str
) -> None:
    text = "pipeline: [mask]\ncomponents:\n  mask:\n    keep_recent: 5\n"
    save_version(document_of(tenant), text, "keep more", admin)

    answer = client.get(f"/config/orchid/effective.{form}")

    assert expected in answer.content.decode()
    assert "attachment" in answer["content-disposition"]


@pytest.mark.usefixtures("forced")
def test_case_k_19_the_effective_view_names_the_environment_that_wins(
    client: Client, tenant: Tenant, admin: User
) -> None:
    save_version(document_of(tenant), "pipeline: [mask]\nforce_model: m8\n", "m8", admin)

    for show in ("", "?show=own"):
        page = client.get(f"/config/orchid/effective{show}").content.decode()
        row = re.findall(r"<tr>.*?force_model.*?</tr>", page, re.DOTALL)[0]
        assert "<code>m9</code>" in row
        assert "HEADRACE_FORCE_MODEL, environment of the node" in row
        assert "<s><code>m8</code></s>" in row
        assert "tenant, line 2" in row
    assert "<code>HEADRACE_DERIVE=v2</code>" in page
    text = client.get("/config/orchid/effective.yaml").content.decode()
    assert text.startswith("# HEADRACE_FORCE_MODEL=m9 in the environment of the node is above")


@pytest.mark.usefixtures("forced")
def test_case_k_19_a_save_names_what_overrides_it(client: Client, tenant: Tenant) -> None:
    body = {"source": "force_model: m8\n", "message": "a model", "based_on": 0}
    page = client.post("/config/orchid", body, follow=True).content.decode()

    said = "force_model has no effect here: HEADRACE_FORCE_MODEL of the node counts instead."
    assert f"{said} The node was started with" in page
    assert "config.overridden_by_environment" in page
    client.post("/config/orchid", {**body, "source": "mode: sync\n", "based_on": 1})
    client.get("/config/orchid")
    back = client.post("/config/orchid/versions/1/restore", {"based_on": 2}, follow=True)
    assert f"{said} The node was started with" in back.content.decode()
