"""The form of a document: edits that change one key and nothing else (04 §2.10)."""

from __future__ import annotations

import re

import pytest
from django.test import Client

from controlplane.accounts.models import Organisation, Tenant, User
from controlplane.configs.actions import save_version
from controlplane.configs.documents import document_of
from controlplane.configs.models import ConfigDocument, Preset
from controlplane.configs.presets import Beginning, create_preset
from controlplane.ui.configs.controls import in_order
from tests.controlplane.ui.conftest import Browser

TEXT = """\
# ours
pipeline:
  - mask        # first
  - cachesplit  # last
components:
  mask:
    keep_recent: 5   # they look back
    min_tokens: 200
"""


@pytest.fixture
def client(browser: Browser, admin: User, tenant: Tenant) -> Client:
    save_version(document_of(tenant), TEXT, "first", admin)
    return browser(admin)


def fields(page: str) -> dict[str, str]:
    """What a browser would send back unchanged: inputs, chosen options, ticked boxes, areas."""
    found = {}
    for tag in re.findall(r"<input [^>]*>", page):
        name = re.search(r'name="([^"]*)"', tag)
        value = re.search(r'value="([^"]*)"', tag)
        is_off = 'type="checkbox"' in tag and "checked" not in tag
        if name and not is_off and name[1] != "csrfmiddlewaretoken":
            found[name[1]] = value[1] if value else "on"
    for name, body in re.findall(r'<select [^>]*name="([^"]*)"[^>]*>(.*?)</select>', page, re.S):
        chosen = re.search(r"<option selected>([^<]*)", body)
        found[name] = chosen[1] if chosen else ""
    areas = re.findall(r'<textarea [^>]*name="([^"]*)"[^>]*>\n(.*?)</textarea>', page, re.S)
    return found | dict(areas)


def sent(client: Client, **changes: str) -> str:
    """The newest text after the form was sent with these changes; a key `a__b` is `/a/b`."""
    form = fields(client.get("/config/orchid/form").content.decode())
    form |= {name.replace("__", "/"): value for name, value in changes.items()}
    left = {name: value for name, value in form.items() if value != "-"}
    client.post("/config/orchid/form", {**left, "message": "by the form"})
    head = document_of(Tenant.objects.get(slug="orchid")).head
    assert head
    return head.source


def test_a_form_that_was_not_touched_changes_no_byte(client: Client) -> None:
    assert sent(client) == TEXT


def test_a_key_is_changed_where_it_stands(client: Client) -> None:
    text = sent(client, **{"__components__mask__keep_recent": "7"})

    assert text == TEXT.replace("keep_recent: 5 ", "keep_recent: 7 ")


def test_clearing_a_control_deletes_the_key_and_keeps_its_comment(client: Client) -> None:
    text = sent(client, **{"__components__mask__keep_recent": ""})

    assert "keep_recent" not in text
    assert "# they look back" in text
    assert "min_tokens: 200" in text


def test_ticking_a_component_puts_it_behind_its_like(client: Client) -> None:
    text = sent(client, **{"use.dedup": "on"})

    assert text.splitlines()[2:5] == [
        "  - mask        # first",
        "  - dedup",
        "  - cachesplit  # last",
    ]


def test_taking_the_tick_away_leaves_the_block(client: Client) -> None:
    text = sent(client, **{"use.mask": "-"})

    assert "- mask" not in text
    assert "keep_recent: 5" in text


def test_a_number_moves_a_component(client: Client) -> None:
    text = sent(client, **{"place.cachesplit": "1"})

    assert text.index("- cachesplit") < text.index("- mask")


def test_a_value_out_of_bounds_is_refused_under_its_control(client: Client) -> None:
    form = fields(client.get("/config/orchid/form").content.decode())
    form["/components/mask/min_tokens"] = "0"

    answer = client.post("/config/orchid/form", {**form, "message": "too small"})
    page = answer.content.decode()

    assert answer.status_code == 422
    assert re.search(r'name="/components/mask/min_tokens"[^>]*value="0"[^>]*aria-invalid', page)


def test_the_change_can_be_looked_at_as_text_first(client: Client) -> None:
    form = fields(client.get("/config/orchid/form").content.decode())
    form["/components/mask/keep_recent"] = "9"

    page = client.post("/config/orchid/form", {**form, "show": "text"}).content.decode()

    assert "keep_recent: 9" in page
    assert "Not saved yet" in page


def test_only_what_is_written_is_a_value_and_the_rest_is_a_placeholder(client: Client) -> None:
    page = client.get("/config/orchid/form").content.decode()

    assert re.search(r'name="/components/mask/keep_recent"[^>]*value="5" placeholder="3"', page)
    assert re.search(r'name="/components/mask/keep_head_chars"[^>]*value="" placeholder="96"', page)


def test_a_draft_with_errors_has_no_form_and_says_why(client: Client) -> None:
    client.post("/config/orchid/check", {"source": "pipeline: [msk]\n", "based_on": 1})

    page = client.get("/config/orchid/form").content.decode()

    assert "The form cannot be drawn" in page
    assert "config.unknown_component" in page


def test_a_late_form_shows_the_three_texts(client: Client, admin: User, tenant: Tenant) -> None:
    form = fields(client.get("/config/orchid/form").content.decode())
    save_version(document_of(tenant), TEXT + "mode: sync\n", "meanwhile", admin)
    form["/components/mask/keep_recent"] = "9"

    answer = client.post("/config/orchid/form", {**form, "message": "late"})

    assert answer.status_code == 409


def test_a_form_of_a_draft_begun_on_an_older_version_is_late_as_well(
    client: Client, admin: User, tenant: Tenant
) -> None:
    client.post("/config/orchid/check", {"source": TEXT + "# mine\n", "based_on": 1})
    save_version(document_of(tenant), TEXT + "mode: sync\n", "meanwhile", admin)
    form = fields(client.get("/config/orchid/form").content.decode())

    shown = client.post("/config/orchid/form", {**form, "show": "text"}).content.decode()
    answer = client.post("/config/orchid/form", {**form, "message": "late"})

    assert 'name="based_on" value="1"' in shown
    assert answer.status_code == 409


def test_a_form_without_a_message_is_not_saved_and_keeps_its_base(
    client: Client, admin: User, tenant: Tenant
) -> None:
    form = fields(client.get("/config/orchid/form").content.decode())
    save_version(document_of(tenant), TEXT + "mode: sync\n", "meanwhile", admin)

    answer = client.post("/config/orchid/form", {**form, "message": ""})
    page = answer.content.decode()

    assert answer.status_code == 422
    assert "Not saved. Say in a few words" in page
    assert 'class="banner watch said"' in page
    assert 'name="based_on" value="1"' in page


def test_what_a_preset_extends_is_changed_in_its_form(
    client: Client, admin: User, organisation: Organisation
) -> None:
    first = Beginning(source="extends: cache\n", message="first")
    made = create_preset(organisation, "lean", first, admin)
    address = f"/config/{made.document.uid}/form"
    form = fields(client.get(address).content.decode())

    client.post(address, {**form, "/extends": "safe", "message": "another"})

    head = document_of_preset(made).head
    assert head
    assert head.source == "extends: safe\n"


def document_of_preset(preset: Preset) -> ConfigDocument:
    return ConfigDocument.objects.get(pk=preset.document_id)


@pytest.mark.parametrize(
    ("kept", "new", "expected"),
    [
        pytest.param([], ["mask"], ["mask"], id="alone"),
        pytest.param(
            ["mask", "cachesplit"], ["format"], ["format", "mask", "cachesplit"], id="first"
        ),
        pytest.param(
            ["format"], ["cachesplit", "mask"], ["format", "mask", "cachesplit"], id="two"
        ),
    ],
)
def test_new_components_stand_where_their_kind_belongs(
    kept: list[str], new: list[str], expected: list[str]
) -> None:
    assert in_order(kept, new) == expected
