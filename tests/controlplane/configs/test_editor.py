"""What an editor page needs: reports, the effective view, the form, comparisons, merges.

Source: 04-controlplane-and-dashboard.md 2.4, 2.10, 3.4, 3.5, 5.9.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.accounts.models import Tenant, User
from controlplane.configs import form_fields
from controlplane.configs.actions import follow_default, save_version
from controlplane.configs.comparing import compare, revision_side, text_side, version_side
from controlplane.configs.documents import document_of
from controlplane.configs.drafts import draft_of, drop_draft, keep_draft, others_drafting
from controlplane.configs.effective_rows import effective_rows, effective_view
from controlplane.configs.effective_text import as_yaml
from controlplane.configs.form_fields import Field, form_of
from controlplane.configs.merging import merge
from controlplane.configs.models import EffectiveRevision
from controlplane.configs.queries import lost_race, starting_text
from controlplane.configs.reports import all_fixed, fixed, report
from dataplane.core.config.problems import ConfigError, Edit
from dataplane.core.config.tree import steps_of

OWN = """\
# why we keep more
pipeline: [format, mask]   # the order matters
components:
  mask:
    keep_recent: 7  # measured
"""


# ---- reports ----------------------------------------------------------------------------------


def test_a_report_holds_every_problem_by_severity_with_utf16_columns(tenant: Tenant) -> None:
    text = 'components: {mask: {"\U0001f600": 1, keep_recent: no}}\npipeline: [mask, mask]\n'

    found = report(document_of(tenant), text, None)

    places = [(one["code"], one["column"], one["column_utf16"]) for one in found.errors]
    assert places == [
        ("config.unknown_key", 21, 21),
        ("config.wrong_type", 42, 43),
        ("config.duplicate_component", 18, 18),
    ]  # fmt: skip
    assert (found.ok, found.canonical_hash, found.effective_hash) == (False, None, None)
    assert found.detail.startswith("3 errors")


def test_a_fix_of_a_report_keeps_the_comments(tenant: Tenant) -> None:
    text = "pipeline: [mask]  # one\ncomponents:\n  mask: {keep_recnt: 4}  # two\n"
    (error,) = report(document_of(tenant), text, None).errors

    edits = [Edit(**edit) for edit in error["replacement"]["edits"]]
    after, found = fixed(document_of(tenant), text, edits, None)

    assert after == text.replace("keep_recnt", "keep_recent")
    assert found.ok
    assert all_fixed(document_of(tenant), text, None)[0] == after


# ---- drafts -----------------------------------------------------------------------------------


def test_a_draft_may_be_wrong_and_is_its_authors_own(
    tenant: Tenant, admin: User, manager: User
) -> None:
    document = document_of(tenant)
    keep_draft(document, admin, "pipeline: [nonsense", base=0)
    keep_draft(document, admin, "pipeline: [nonsense,", base=0)

    kept = draft_of(document, admin)
    assert kept is not None
    assert kept.source == "pipeline: [nonsense,"
    assert draft_of(document, manager) is None
    assert others_drafting(document, manager) == [admin]
    drop_draft(document, admin)
    assert draft_of(document, admin) is None


def test_a_draft_with_a_credential_is_not_kept(tenant: Tenant, admin: User) -> None:
    credential = "sk-ant-api03-" + "a1B2" * 12
    with pytest.raises(ConfigError):
        keep_draft(document_of(tenant), admin, f"force_model: {credential}\n", base=0)
    assert draft_of(document_of(tenant), admin) is None


# ---- the effective view -----------------------------------------------------------------------


def test_the_effective_view_shows_each_key_with_its_origin_and_what_it_overrides(
    tenant: Tenant, admin: User
) -> None:
    save_version(document_of(tenant), OWN, "keep seven", admin)

    view = effective_view(tenant)
    rows = {row.path: row for row in view.rows}
    row = rows["/components/mask/keep_recent"]

    assert (row.component, row.name, row.value) == ("mask", "keep_recent", 7)
    assert (row.origin.text, row.origin.line) == ("tenant:acme/orchid@v1:line 5", 5)
    assert row.overridden[0].value == 3
    assert row.overridden[0].origin.layer == "server_default"
    assert row.unit
    assert row.meaning
    assert not row.is_default
    assert rows["/components/collapse/max_tokens"].is_ignored
    assert view.pipeline == ("format", "mask")
    assert view.rows[0].path == "/pipeline"
    assert view.following == ""


def test_a_tenant_without_a_text_is_shown_what_it_follows(tenant: Tenant) -> None:
    assert effective_view(tenant).following == "server default"


def test_the_effective_yaml_is_a_document_that_means_the_same(tenant: Tenant, admin: User) -> None:
    save_version(document_of(tenant), OWN, "keep seven", admin)
    revision = EffectiveRevision.objects.filter(tenant=tenant).first()
    assert revision is not None

    text = as_yaml(revision.effective, revision.origins)

    assert "keep_recent: 7  # tenant:acme/orchid@v1:line 5" in text
    assert report(document_of(tenant), text, None).effective_hash == revision.effective_hash


# ---- the form ---------------------------------------------------------------------------------


def fields_of(source: str, tenant: Tenant) -> dict[str, Field]:
    from controlplane.configs.checking import checked_as

    checked = checked_as(document_of(tenant), source, None)
    groups = form_of(source, checked.effective)
    return {field.path: field for group in groups for field in group.fields}


def test_a_field_shows_what_is_written_beside_its_default(tenant: Tenant) -> None:
    fields = fields_of(OWN, tenant)
    keep, minimum = (fields[f"/components/mask/{name}"] for name in ("keep_recent", "min_tokens"))

    assert (keep.control, keep.written, keep.effective, keep.default) == ("number", 7, 7, 3)
    assert (minimum.written, minimum.effective, minimum.unit) == (None, 100, "tokens")
    assert fields["/mode"].choices == ("sync", "observe")
    assert fields["/components/toolfilter/remove"].control == "list"
    assert fields["/store/enabled"].control == "toggle"


def test_the_form_of_a_broken_text_still_shows_what_can_be_read(tenant: Tenant) -> None:
    groups = form_of("pipeline: [mask]\ncomponents: {mask: {keep_recent: -1}}\n", None)

    assert groups[1].component == "mask"
    assert groups[1].place == 1


def test_the_form_changes_one_key_and_no_other_byte() -> None:
    after = form_fields.edited(OWN, {"/components/mask/keep_recent": 9})

    assert after == OWN.replace("keep_recent: 7", "keep_recent: 9")


def test_clearing_a_control_deletes_the_key_and_the_pipeline_is_a_list() -> None:
    after = form_fields.edited(OWN, {"/components/mask/keep_recent": None}, ["mask"])

    assert "keep_recent" not in after
    assert "# measured" in after
    assert "pipeline: [mask]   # the order matters" in after


@pytest.mark.parametrize(
    ("path", "text", "value"),
    [
        ("/components/mask/keep_recent", "9", 9),
        ("/components/mask/keep_recent", "many", "many"),
        ("/components/mask/cold_cache", "true", True),
        ("/mode", "observe", "observe"),
        ("/force_model", "123", "123"),
        ("/components/toolfilter/remove", "Read\n\n Write ", ["Read", "Write"]),
        ("/mode", "", None),
    ],
)
def test_a_posted_text_becomes_a_value_of_its_keys_kind(path: str, text: str, value: Any) -> None:
    assert form_fields.posted({path: text, "/nonsense": "1", "csrf": "x"}) == {path: value}


# ---- comparisons ------------------------------------------------------------------------------


def test_a_comparison_has_rows_changes_and_sentences(tenant: Tenant, admin: User) -> None:
    document = document_of(tenant)
    first = save_version(document, OWN, "keep seven", admin)
    second = text_side(document, OWN.replace("7", "9").replace(", mask]", "]"), "draft")

    found = compare(version_side(first), second)

    assert found.left == "version 1"
    assert [row.kind for row in found.rows].count("changed") == 2
    assert found.written is not None
    assert {change.op for change in found.written} == {"remove", "change"}
    assert any("Removes `mask`" in sentence for sentence in found.summary.sentences)
    assert any(line.startswith("-pipeline: [format, mask]") for line in found.unified)


def test_a_comparison_with_a_broken_text_shows_the_lines_alone(tenant: Tenant) -> None:
    document = document_of(tenant)

    found = compare(text_side(document, "pipeline: []\n", "a"), text_side(document, "{", "b"))

    assert found.written is None
    assert found.running is None
    assert [row.kind for row in found.rows] == ["changed"]


def test_two_revisions_compare_by_what_ran(tenant: Tenant, admin: User) -> None:
    save_version(document_of(tenant), OWN, "keep seven", admin)
    follow_default(document_of(tenant), "back", admin)
    sides = [revision_side(one) for one in EffectiveRevision.objects.filter(tenant=tenant)]

    found = compare(sides[1], sides[0])

    assert found.running is not None
    changed = {change.path: change for change in found.running}
    assert changed["/components/mask/keep_recent"].origin_before.startswith("tenant:")
    assert "/pipeline/1" in changed


# ---- merges -----------------------------------------------------------------------------------


def test_changes_in_different_places_merge_and_colliding_ones_are_asked() -> None:
    base = "a\nb\nc\nd\n"

    assert merge(base, "a\nB\nc\nd\n", "a\nb\nc\nD\n").text == "a\nB\nc\nD\n"
    found = merge(base, "a\nthey\nc\nd\n", "a\nme\nc\nd\n")
    assert found.conflicts == 1
    assert [hunk.outcome for hunk in found.hunks] == ["same", "conflict", "same"]
    assert (found.hunks[1].theirs, found.hunks[1].mine) == (("they\n",), ("me\n",))
    assert found.text == "a\nme\nc\nd\n"


TEXTS = st.lists(st.sampled_from(["a\n", "b\n", "c\n", "d"]), max_size=8).map("".join)


@given(base=TEXTS, mine=TEXTS, theirs=TEXTS)
def test_a_merge_loses_no_line_of_either_side(base: str, mine: str, theirs: str) -> None:
    found = merge(base, theirs, mine)

    for name, text in (("base", base), ("theirs", theirs), ("mine", mine)):
        assert "".join(line for hunk in found.hunks for line in getattr(hunk, name)) == text


@given(base=TEXTS, mine=TEXTS)
def test_a_side_that_changed_nothing_gives_way(base: str, mine: str) -> None:
    assert merge(base, base, mine).text == mine
    assert merge(base, mine, base).text == mine


def test_a_lost_race_merges_on_the_version_that_both_started_from(
    tenant: Tenant, admin: User
) -> None:
    document = document_of(tenant)
    save_version(document, OWN, "keep seven", admin)
    save_version(document, "mode: observe\n" + OWN, "observe", admin, based_on=1)

    found = lost_race(document, 1, OWN.replace("7", "9"))

    assert found.conflicts == 0
    assert "keep_recent: 9" in found.text
    assert "mode: observe" in found.text


def test_customising_starts_with_a_text_that_changes_nothing(tenant: Tenant, admin: User) -> None:
    before = effective_view(tenant).effective_hash
    save_version(document_of(tenant), starting_text(tenant), "customise", admin)

    assert effective_view(tenant).effective_hash == before


def test_every_row_of_the_effective_view_names_a_key(tenant: Tenant) -> None:
    for row in effective_view(tenant).rows:
        assert row.name == ".".join(steps_of(row.path)[2 if row.component else 0 :])


def test_rows_of_an_unsaved_text_are_those_that_saving_would_give(
    tenant: Tenant, admin: User
) -> None:
    from controlplane.configs.checking import checked_as

    effective = checked_as(document_of(tenant), OWN, admin).effective
    assert effective is not None
    unsaved = {row.path: row.value for row in effective_rows(effective)}
    save_version(document_of(tenant), OWN, "keep seven", admin)

    assert {row.path: row.value for row in effective_view(tenant).rows} == unsaved
