"""Presets in the browser: clone, edit, promote, roll back, archive, uses (04 §3.2 and 5.10)."""

from __future__ import annotations

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from controlplane.accounts.actions import create_tenant
from controlplane.accounts.models import Organisation, Tenant, User
from controlplane.configs.actions import promote, save_version
from controlplane.configs.documents import document_of
from controlplane.configs.drafts import draft_of, keep_draft
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


# ---- begin, describe, find, compare, offer ----------------------------------------------------


def new(client: Client, organisation: Organisation, **sent: object) -> str:
    body = {"organisation": organisation.uid, "name": "ours", **sent}
    answer = client.post("/presets/new", body, follow=True)
    return answer.content.decode()


@pytest.mark.parametrize(
    ("sent", "text"),
    [
        ({}, "pipeline: []\n"),
        ({"start": "text", "source": "# mine\r\npipeline: [mask]\r\n"},
         "# mine\npipeline: [mask]\n"),
        ({"file": SimpleUploadedFile("a.yaml", b"# a file\npipeline: [mask]\n")},
         "# a file\npipeline: [mask]\n"),
    ],
    ids=["empty", "text", "file"],
)  # fmt: skip
def test_a_preset_begins_empty_with_a_text_or_with_a_file(
    client: Client, organisation: Organisation, tenant: Tenant, sent: dict[str, object], text: str
) -> None:
    assert "ours is created" in new(client, organisation, **sent)
    promoted = Preset.objects.get(name="ours").document.promoted
    assert promoted is not None
    assert promoted.source == text


def test_a_preset_begins_with_what_a_tenant_runs(
    client: Client, organisation: Organisation, tenant: Tenant, admin: User
) -> None:
    own = "pipeline: [mask]\ncomponents: {mask: {keep_recent: 7}}\n"
    save_version(document_of(tenant), own, "seven", admin)

    assert "ours is created" in new(client, organisation, start=tenant.uid)
    before = tenant.revisions.count()
    save_version(document_of(tenant), "preset: ours\n", "the same by name", admin)

    assert tenant.revisions.count() == before  # nothing that runs is different
    revision = tenant.revisions.first()
    assert revision is not None
    assert revision.effective["components"]["mask"]["keep_recent"] == 7


def test_a_text_with_errors_makes_no_preset_and_each_is_named(
    client: Client, organisation: Organisation, tenant: Tenant
) -> None:
    page = new(client, organisation, start="text", source="pipeline: [msk]\n")

    assert "There is no component <code>msk</code>" in page or "There is no component msk" in page
    assert not Preset.objects.exists()


def test_a_file_that_is_no_text_makes_no_preset(
    client: Client, organisation: Organisation, tenant: Tenant
) -> None:
    file = SimpleUploadedFile("a.yaml", b"pipeline: [mask]  # caf\xe9\n")

    page = new(client, organisation, file=file)

    assert "config.encoding" in page
    assert "0xe9, which is not UTF-8" in page
    assert not Preset.objects.exists()


def test_a_taken_name_is_refused_on_the_form(
    client: Client, organisation: Organisation, tenant: Tenant
) -> None:
    assert "house is a packaged preset" in new(client, organisation, name="house")


def test_a_preset_is_described_and_found_by_its_label(client: Client, lean: Preset) -> None:
    sent = {"title": "Lean", "description": "For the lab", "labels": "lab, night"}
    client.post(f"/presets/{lean.uid}/describe", sent)

    found = client.get("/presets?q=night").content.decode()
    assert "For the lab" in found
    assert "Packaged with the product" not in found
    assert "No preset is found" in client.get("/presets?q=nothing-like-it").content.decode()


def test_two_presets_are_compared_by_what_they_would_run(client: Client, lean: Preset) -> None:
    page = client.get(f"/presets/compare?left=cache&right={lean.uid}").content.decode()

    assert "Adds <code>format</code>" in page
    assert "Removes <code>cachesplit</code>" in page
    assert client.get("/presets/compare?left=cache@9").status_code == 404
    assert client.get("/presets/compare?left=pre_unknown").status_code == 404


def test_a_clone_shows_what_changed_in_its_base_since(
    client: Client, lean: Preset, admin: User
) -> None:
    client.post(f"/presets/{lean.uid}/clone", {"name": "ours"})
    promote(save_version(lean.document, "pipeline: []\n", "off", admin), "off", admin)
    clone = Preset.objects.get(name="ours")

    page = client.get(f"/presets/{clone.uid}").content.decode()
    address = f"/presets/compare?left={lean.uid}@1&amp;right={lean.uid}"

    assert address in page
    shown = client.get(address.replace("&amp;", "&")).content.decode()
    assert "Removes <code>format</code>" in shown


def test_those_that_pinned_an_older_version_are_offered_a_draft_and_keep_what_runs(
    client: Client, lean: Preset, tenant: Tenant, organisation: Organisation, admin: User
) -> None:
    busy = create_tenant(organisation, slug="busy", by=None)
    text = "# pinned for the audit\npreset: lean@1  # until May\n"
    for one in (tenant, busy):
        save_version(document_of(one), text, "pinned", admin)
    keep_draft(document_of(busy), admin, "# mine\n", base=1)
    promote(save_version(lean.document, "pipeline: []\n", "off", admin), "off", admin)
    before = tenant.revisions.count()

    page = client.post(f"/presets/{lean.uid}/offer", follow=True).content.decode()

    assert "A draft waits in acme/orchid. Nothing live has changed." in page
    assert "No draft in acme/busy: you have unsaved text there." in page
    draft = draft_of(document_of(tenant), admin)
    assert draft is not None
    assert draft.source == text.replace("lean@1", "lean@2")
    assert tenant.revisions.count() == before


@pytest.mark.parametrize("deed", ["describe", "offer"])
def test_a_viewer_neither_describes_nor_offers(
    browser: Browser, viewer: User, lean: Preset, deed: str
) -> None:
    client = browser(viewer)

    assert client.post(f"/presets/{lean.uid}/{deed}").status_code == 403
    assert client.get("/presets/new").status_code == 403
