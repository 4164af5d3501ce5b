"""Presets in the browser: clone, edit, promote, roll back, archive, uses (04 3.2 and 5.10)."""

from __future__ import annotations

import pytest
from django.test import Client

from controlplane.accounts.models import Organisation, Tenant, User
from controlplane.configs.actions import save_version
from controlplane.configs.documents import document_of
from controlplane.configs.models import Preset
from controlplane.configs.presets import Beginning, create_preset
from dataplane.core.config.wording import WORDINGS
from tests.controlplane.ui.conftest import Browser

FIRST = "pipeline:\n  - format\n"


@pytest.fixture
def client(browser: Browser, admin: User) -> Client:
    return browser(admin)


@pytest.fixture
def lean(organisation: Organisation, tenant: Tenant, admin: User) -> Preset:
    first = Beginning(source=FIRST, message="format alone")
    return create_preset(organisation, "lean", first, admin)


def test_the_list_has_the_packaged_ones_with_their_pipelines(
    client: Client, tenant: Tenant
) -> None:
    page = client.get("/presets").content.decode()

    assert "/presets/house" in page
    assert "Packaged with the product" in page
    assert "cachesplit" in page


def test_a_clone_is_a_preset_of_the_organisation_that_can_be_edited(
    client: Client, tenant: Tenant
) -> None:
    answer = client.post("/presets/off/clone", {"name": "nothing"}, follow=True)
    page = answer.content.decode()

    assert "nothing is a copy of off" in page
    assert "Save version" in page
    made = Preset.objects.get(name="nothing")
    assert made.cloned_from == "off@1"
    assert "/presets/" + made.uid in client.get("/presets").content.decode()


@pytest.mark.parametrize("name", ["house", "Not A Name", ""])
def test_a_name_that_cannot_be_taken_is_refused_beside_the_box(
    client: Client, tenant: Tenant, name: str
) -> None:
    answer = client.post("/presets/off/clone", {"name": name})

    assert answer.status_code == 422
    assert 'id="clone-problem"' in answer.content.decode()


def test_a_saved_version_works_for_nobody_until_it_is_promoted(
    client: Client, lean: Preset, tenant: Tenant, admin: User
) -> None:
    save_version(document_of(tenant), "preset: lean\n", "use it", admin)
    body = {"source": FIRST + "  - dedup\n", "message": "and dedup", "based_on": 1}
    client.post(f"/config/{lean.document.uid}", body)
    assert "version 2 is not promoted" in client.get(f"/presets/{lean.uid}").content.decode()

    asked = client.get(f"/presets/{lean.uid}/versions/2/promotion").content.decode()
    assert "Adds <code>dedup</code>" in asked
    assert "Following, changed" in asked
    client.post(f"/presets/{lean.uid}/versions/2/promote", {"message": "it is good"})

    lean.document.refresh_from_db()
    assert lean.document.promoted
    assert lean.document.promoted.number == 2
    client.post(f"/presets/{lean.uid}/versions/1/promote", {"message": "it is not"})
    lean.document.refresh_from_db()
    assert lean.document.promoted.number == 1
    assert lean.document.head
    assert lean.document.head.number == 2


def test_uses_name_followers_and_those_that_pinned(
    client: Client, lean: Preset, tenant: Tenant, admin: User
) -> None:
    save_version(document_of(tenant), "preset: lean@1\n", "pin it", admin)

    page = client.get(f"/presets/{lean.uid}").content.decode()

    assert "0 following, 1 pinned" in page
    assert "acme/orchid" in page


def test_an_archived_preset_is_listed_on_demand_only(client: Client, lean: Preset) -> None:
    client.post(f"/presets/{lean.uid}/archive")

    assert lean.uid not in client.get("/presets").content.decode()
    assert lean.uid in client.get("/presets?archived").content.decode()
    client.post(f"/presets/{lean.uid}/archive", {"archived": "no"})
    assert lean.uid in client.get("/presets").content.decode()


def test_a_viewer_reads_and_changes_nothing(browser: Browser, viewer: User, lean: Preset) -> None:
    client = browser(viewer)

    assert client.get(f"/presets/{lean.uid}").status_code == 200
    assert client.post("/presets/off/clone", {"name": "mine"}).status_code == 403
    for deed in ("archive", "versions/1/promote"):
        assert client.post(f"/presets/{lean.uid}/{deed}").status_code == 403
    assert client.get(f"/presets/{lean.uid}/versions/1/promotion").status_code == 403
    body = {"source": FIRST, "message": "mine", "based_on": 1}
    assert client.post(f"/config/{lean.document.uid}", body).status_code == 403


def test_a_preset_of_another_organisation_is_not_there(
    client: Client, tenant: Tenant, other_tenant: Tenant
) -> None:
    first = Beginning(source=FIRST, message="theirs")
    theirs = create_preset(other_tenant.organisation, "theirs", first, None)

    assert client.get(f"/presets/{theirs.uid}").status_code == 404
    assert client.get(f"/config/{theirs.document.uid}").status_code == 404
    assert client.post(f"/presets/{theirs.uid}/archive").status_code == 404
    assert "theirs" not in client.get("/presets").content.decode()


@pytest.mark.parametrize("code", sorted(WORDINGS))
def test_every_code_is_explained(client: Client, tenant: Tenant, code: str) -> None:
    page = client.get(f"/docs/errors/{code}").content.decode()

    assert f"<h1><code>{code}</code></h1>" in page


def test_a_code_that_does_not_exist_is_not_found(client: Client, tenant: Tenant) -> None:
    assert client.get("/docs/errors/config.nothing").status_code == 404
