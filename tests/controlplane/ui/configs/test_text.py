"""The text of a document in the browser, as it works without script (04 §2.9 and 5.9)."""

from __future__ import annotations

import re
from html import unescape

import pytest
from django.test import Client

from controlplane.accounts.models import Tenant, User
from controlplane.configs.actions import save_version
from controlplane.configs.documents import document_of
from controlplane.configs.drafts import draft_of
from controlplane.ui.configs.forms import MAX_SOURCE
from tests.controlplane.ui.answering import answered
from tests.controlplane.ui.conftest import Browser

RIGHT = "# ours\npipeline:\n  - mask   # the newest stay\n"
SWEEP = """\
# the sweep, as it was written before
pipeline:
  - mask
components:
  extract_llm:
    per_output: false   # only the sweep
    min_tokens: 4000
  extract_llm_sweep:
    # a cheaper judge
    model: {source: config}
    min_inventory: 10
"""


@pytest.fixture
def client(browser: Browser, admin: User) -> Client:
    return browser(admin)


def saved(client: Client, text: str, message: str = "mask alone", based_on: int = 0) -> object:
    body = {"source": text, "message": message, "based_on": based_on}
    return client.post("/config/orchid", body)


def shown_text(page: str) -> str:
    """What the textarea holds."""
    found = re.search(r"<textarea[^>]*id=\"source\"[^>]*>\n(.*?)</textarea>", page, re.DOTALL)
    return unescape(found[1]) if found else ""


def fixes(page: str) -> list[str]:
    return [unescape(name) for name in re.findall(r'name="fix" value="([^"]*)"', page)]


def test_the_list_names_the_documents_that_one_may_see(
    client: Client, tenant: Tenant, other_tenant: Tenant
) -> None:
    page = client.get("/config").content.decode()

    assert "/config/orchid" in page
    assert "/config/server_default" in page
    assert "Acme, default" in page
    assert "Globex" not in page


def test_the_list_asks_as_many_questions_for_many_documents_as_for_one(
    client: Client, tenant: Tenant, django_assert_max_num_queries: object
) -> None:
    client.get("/config")

    with django_assert_max_num_queries(14):  # type: ignore[operator]
        client.get("/config")


def test_a_tenant_without_a_text_shows_the_one_that_it_follows(
    client: Client, tenant: Tenant
) -> None:
    page = client.get("/config/orchid").content.decode()

    assert "Follows the server default, version 1." in page
    assert "Customise" in page
    assert "What every tenant runs" in page


def test_a_valid_text_becomes_the_next_version(client: Client, tenant: Tenant) -> None:
    answer = saved(client, RIGHT.replace("\n", "\r\n"))

    assert answer.status_code == 302  # type: ignore[attr-defined]
    head = document_of(tenant).head
    assert head
    assert head.source == RIGHT
    page = client.get("/config/orchid").content.decode()
    assert "version 1 is in force" in page
    assert shown_text(page) == RIGHT
    answered(tenant, status="ack")
    assert "version 1 is live" in client.get("/config/orchid").content.decode()


@pytest.mark.parametrize("page", ["", "/versions"])
def test_a_version_that_a_node_refuses_is_not_called_live(
    client: Client, tenant: Tenant, page: str
) -> None:
    saved(client, RIGHT)
    answered(tenant, status="nack")

    shown = client.get(f"/config/orchid{page}").content.decode()

    assert "refused by the node" in shown
    assert not re.search(r"\blive\b(?!-)", re.sub(r"<script.*?</script>|<[^>]+>", " ", shown))


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ("/components/mask/keep_recent", "line 4"),
        ("/pipeline/0", "line 1"),
        ("/components/mask/min_tokens", "server_default@v1:line"),
        ("/nowhere/at/all", "/nowhere/at/all"),
    ],
)
def test_a_refusal_by_a_node_points_at_the_line_that_wrote_the_value(
    client: Client, tenant: Tenant, path: str, place: str
) -> None:
    saved(client, "pipeline: [mask]\ncomponents:\n  mask:\n    keep_recent: 4\n")
    problem = {"code": "config.above_max", "severity": "error", "path": path, "message": "No."}
    answered(tenant, status="nack", errors=[problem])

    shown = client.get("/config/orchid").content.decode()

    assert f'<span class="tab">{place}' in shown


def test_a_wrong_text_comes_back_with_each_problem_at_its_place(
    client: Client, tenant: Tenant
) -> None:
    answer = saved(client, "# 😀\npipeline: [msk]\n")
    page = answer.content.decode()  # type: ignore[attr-defined]

    assert answer.status_code == 422  # type: ignore[attr-defined]
    assert document_of(tenant).head is None
    assert "line 2:12" in page
    assert 'data-from="16" data-to="19"' in page
    assert shown_text(page) == "# 😀\npipeline: [msk]\n"
    assert 'value="mask alone"' in page


def test_text_is_shown_as_text(client: Client, tenant: Tenant) -> None:
    answer = saved(client, "pipeline: [</textarea><script>alert(1)</script>]\n")

    assert "<script>alert" not in answer.content.decode()  # type: ignore[attr-defined]


def test_a_text_that_starts_with_an_empty_line_keeps_it(client: Client, tenant: Tenant) -> None:
    answer = saved(client, "\npipeline: [msk]\n")

    page = answer.content.decode()  # type: ignore[attr-defined]
    assert shown_text(page) == "\npipeline: [msk]\n"


def test_a_message_is_asked_for(client: Client, tenant: Tenant) -> None:
    answer = saved(client, RIGHT, message="")

    assert answer.status_code == 422  # type: ignore[attr-defined]
    assert "Say in a few words" in answer.content.decode()  # type: ignore[attr-defined]


def test_the_sweep_block_of_old_shows_its_two_errors(client: Client, tenant: Tenant) -> None:
    page = client.post("/config/orchid/check", {"source": SWEEP}).content.decode()

    assert 'data-errors="2"' in page
    assert "config.removed_key" in page
    assert "config.refused_key" in page


def test_applying_each_fix_leaves_a_valid_text_with_every_comment(
    client: Client, tenant: Tenant
) -> None:
    text = SWEEP
    while wanted := [
        name
        for name in fixes(client.post("/config/orchid/check", {"source": text}).content.decode())
        if name.startswith(("config.removed_key", "config.refused_key"))
    ]:
        body = {"source": text, "fix": wanted[0]}
        text = shown_text(client.post("/config/orchid/fix", body).content.decode())

    for comment in ("# the sweep, as it was", "# only the sweep", "# a cheaper judge"):
        assert comment in text
    assert "min_inventory: 10" in text
    page = client.post("/config/orchid/check", {"source": text}).content.decode()
    assert 'data-errors="0"' in page
    assert document_of(tenant).head is None


def test_a_fix_for_a_problem_that_is_gone_changes_nothing(client: Client, tenant: Tenant) -> None:
    body = {"source": RIGHT, "fix": "config.removed_key /components/extract_llm/per_output"}
    page = client.post("/config/orchid/fix", body).content.decode()

    assert shown_text(page) == RIGHT
    assert "no such problem any more" in page


def test_what_is_typed_is_kept_as_a_draft_and_shown_again(
    client: Client, tenant: Tenant, admin: User
) -> None:
    saved(client, RIGHT)
    client.post("/config/orchid/check", {"source": RIGHT + "# more\n", "based_on": 1})

    page = client.get("/config/orchid").content.decode()
    assert shown_text(page) == RIGHT + "# more\n"
    assert "Your draft is kept" in page

    client.post("/config/orchid/discard")
    assert shown_text(client.get("/config/orchid").content.decode()) == RIGHT


def test_a_text_with_a_credential_is_never_kept(
    client: Client, tenant: Tenant, admin: User
) -> None:
    source = "force_model: sk-abcdefghijklmnopqrstuvwxyz0123\n"
    page = client.post("/config/orchid/check", {"source": source}).content.decode()

    assert "config.inline_secret" in page
    assert "Your draft is kept" not in page
    assert draft_of(document_of(tenant), admin) is None


def test_a_save_that_comes_too_late_shows_three_texts_and_brings_them_together(
    client: Client, tenant: Tenant, admin: User
) -> None:
    base = "pipeline:\n  - mask\nmode: sync\n"
    save_version(document_of(tenant), base, "first", admin)
    save_version(document_of(tenant), base + "# theirs\n", "theirs", admin)
    mine = base.replace("- mask", "- format") + "# mine\n"

    late = saved(client, mine, based_on=1)
    page = late.content.decode()  # type: ignore[attr-defined]

    assert late.status_code == 409  # type: ignore[attr-defined]
    assert "version 2 was saved meanwhile" in page
    number = re.findall(r'name="hunk\.(\d+)" value="both"', page)[0]
    body = {"source": mine, "based_on": 1, "theirs": 2, f"hunk.{number}": "both"}
    together = client.post("/config/orchid/merge", body).content.decode()
    assert 'name="based_on" value="2"' in together
    text = shown_text(together)
    assert "- format" in text
    assert text.endswith("# theirs\n# mine\n")
    assert saved(client, text, based_on=2).status_code == 302  # type: ignore[attr-defined]


def test_a_merge_made_against_an_older_version_is_asked_anew(
    client: Client, tenant: Tenant, admin: User
) -> None:
    for number in range(3):
        save_version(document_of(tenant), f"mode: sync # {number}\n", "again", admin)

    body = {"source": "mode: observe\n", "based_on": 1, "theirs": 2}
    assert client.post("/config/orchid/merge", body).status_code == 409


def test_a_viewer_reads_every_view_and_changes_nothing(
    browser: Browser, viewer: User, admin: User, tenant: Tenant
) -> None:
    save_version(document_of(tenant), RIGHT, "first", admin)
    client = browser(viewer)

    for tab in ("", "/form", "/effective", "/versions", "/versions/1", "/diff"):
        page = client.get(f"/config/orchid{tab}")
        assert page.status_code == 200, tab
        assert "Save version" not in page.content.decode(), tab
    for deed in ("", "/fix", "/discard", "/merge", "/customise", "/follow", "/form"):
        assert client.post(f"/config/orchid{deed}", {"source": RIGHT}).status_code == 403, deed
    assert client.post("/config/orchid/versions/1/restore").status_code == 403
    assert client.get("/config/orchid/follow").status_code == 403
    client.post("/config/orchid/check", {"source": RIGHT + "#\n"})
    assert draft_of(document_of(tenant), viewer) is None


def test_a_document_of_another_organisation_is_not_there(
    client: Client, tenant: Tenant, other_tenant: Tenant
) -> None:
    foreign = document_of(other_tenant)

    for handle in (foreign.uid, other_tenant.uid):
        for tab in ("", "/form", "/effective", "/versions", "/diff", "/follow"):
            assert client.get(f"/config/{handle}{tab}").status_code == 404
        assert client.post(f"/config/{handle}", {"source": RIGHT}).status_code == 404


def test_the_server_default_is_read_by_an_admin_and_written_by_a_manager(
    browser: Browser, admin: User, manager: User, tenant: Tenant
) -> None:
    assert browser(admin).get("/config/server_default").status_code == 200
    body = {"source": RIGHT, "message": "for all", "based_on": 1}
    assert browser(admin).post("/config/server_default", body).status_code == 403
    assert browser(manager).post("/config/server_default", body).status_code == 302


def test_nobody_who_has_not_signed_in_sees_anything(tenant: Tenant) -> None:
    for path in ("/config", "/config/orchid", "/presets", "/docs/errors"):
        assert Client().get(path).status_code == 302


def test_a_draft_begun_on_an_older_version_meets_the_newer_one_when_it_is_saved(
    client: Client, tenant: Tenant, admin: User
) -> None:
    """08 §K-07: the page that shows the draft again must not pass it off as the newest text."""
    document = document_of(tenant)
    save_version(document, RIGHT, "first", admin)
    client.post("/config/orchid/check", {"source": RIGHT + "# mine\n", "based_on": 1})
    save_version(document_of(tenant), RIGHT + "mode: sync\n", "theirs", admin)

    page = client.get("/config/orchid").content.decode()
    based_on = int(re.findall(r'name="based_on" value="(\d+)"', page)[0])
    client.post("/config/orchid/check", {"source": RIGHT + "# mine\n", "based_on": based_on})

    assert "Version 2 was saved after this draft was begun" in page
    assert saved(client, shown_text(page), based_on=based_on).status_code == 409  # type: ignore[attr-defined]
    assert "was saved after this draft" in client.get("/config/orchid").content.decode()


def test_saving_the_same_text_again_says_that_nothing_was_saved(
    client: Client, tenant: Tenant
) -> None:
    saved(client, RIGHT)
    client.get("/config/orchid")
    saved(client, RIGHT, based_on=1)

    page = client.get("/config/orchid").content.decode()
    assert "Nothing was saved: this is the text of version 1 already." in page
    assert "saved and published" not in page


def test_a_fix_that_is_not_made_is_not_told_as_done(client: Client, tenant: Tenant) -> None:
    gone = {"source": RIGHT, "fix": "config.removed_key /components/extract_llm/per_output"}
    made = {"source": "mod: sync\n", "fix": "config.unknown_key /mod"}

    assert 'class="banner watch said"' in client.post("/config/orchid/fix", gone).content.decode()
    assert 'class="banner ok said"' in client.post("/config/orchid/fix", made).content.decode()


def test_a_fix_says_what_it_writes_as_the_document_would(client: Client, tenant: Tenant) -> None:
    body = {"source": "pipeline: mask, format\n", "based_on": 0}

    page = client.post("/config/orchid/check", body).content.decode()

    assert "Apply fix: set pipeline to [mask, format]" in page


def test_line_ends_of_a_browser_do_not_count_towards_the_limit(
    client: Client, tenant: Tenant
) -> None:
    text = RIGHT + "#\n" * ((MAX_SOURCE - len(RIGHT)) // 2)

    assert saved(client, text.replace("\n", "\r\n")).status_code == 302  # type: ignore[attr-defined]
    over = saved(client, text + "#\n" * 2, based_on=1)
    assert over.status_code == 422  # type: ignore[attr-defined]
    assert "longer than 256 KiB" in over.content.decode()  # type: ignore[attr-defined]


def test_a_default_says_how_many_tenants_its_next_version_reaches(
    browser: Browser, manager: User, tenant: Tenant, other_tenant: Tenant
) -> None:
    page = browser(manager).get("/config/server_default").content.decode()

    assert "works on the next request of 2\N{NO-BREAK SPACE}tenants." in page
    own = save_version(document_of(tenant), RIGHT, "own", manager)
    page = browser(manager).get(f"/config/{own.document.uid}").content.decode()
    assert "works on the next request." in page
