"""Rules across keys, references and advice: 04 §2.5."""

from __future__ import annotations

import pytest

from dataplane.core.components import components
from dataplane.core.config.layers import Context, Layer
from dataplane.core.config.presets import BUILT_IN
from dataplane.core.config.problems import DocumentRef
from tests.dataplane.core.config.checking import CONTEXT, checked, codes, only, places

SERVER = DocumentRef("server_default", "", 7)
TENANT = DocumentRef("tenant", "acme/ci", 12)


def above(server: str) -> Context:
    return Context(components(), BUILT_IN, (Layer(SERVER, server),), TENANT)


def test_full_markers_without_a_store_are_refused_once_per_component() -> None:
    """00 §2 (row 19)."""
    text = (
        "pipeline: [dedup, mask, collapse, format]\n"
        "store: {enabled: false}\n"
        "components:\n"
        "  mask: {marker_mode: full}\n"
        "  collapse: {marker_mode: off}\n"
    )

    assert [place for place in places(text) if "store" in place] == [
        "config.store_disabled_marker_full 1:12 /pipeline/0",
        "config.store_disabled_marker_full 4:23 /components/mask/marker_mode",
    ]


def test_the_fix_for_markers_without_a_store_turns_the_markers_off() -> None:
    problem = only("pipeline: [mask]\nstore: {enabled: false}\n")

    assert problem.component == "mask"
    assert problem.reason == (
        "marker_mode is full by default: a marker would point at an original that nobody kept."
    )
    (edit,) = problem.replacement.edits
    assert (edit.op, edit.path, edit.value) == ("set", "/components/mask/marker_mode", "off")


def test_an_entry_behind_a_wrong_one_keeps_its_place() -> None:
    assert places("pipeline: [msk, 1, mask, mask]\nstore: {enabled: false}\n") == [
        "config.unknown_component 1:12 /pipeline/0",
        "config.wrong_type 1:17 /pipeline/1",
        "config.store_disabled_marker_full 1:20 /pipeline/2",
        "config.duplicate_component 1:26 /pipeline/3",
    ]


def test_a_wrong_marker_mode_is_not_also_reported_as_full() -> None:
    text = "pipeline: [mask]\nstore: {enabled: false}\ncomponents: {mask: {marker_mode: no}}\n"

    assert codes(text) == ["config.not_in_enum"]


def test_summary_markers_without_a_store_are_a_warning() -> None:
    problem = only(
        "pipeline: [mask]\nstore: {enabled: false}\ncomponents: {mask: {marker_mode: summary}}\n"
    )

    assert (problem.code, problem.severity, problem.line, problem.column) == (
        "config.store_disabled_marker_summary",
        "warning",
        3,
        34,
    )


def test_a_store_disabled_by_another_layer_is_seen_and_the_pipeline_of_that_layer_is_named() -> (
    None
):
    outcome = checked("store: {enabled: false}\n", above("pipeline: [mask]\n"))

    (problem,) = outcome.errors
    assert (problem.code, problem.path, problem.line) == (
        "config.store_disabled_marker_full",
        "/pipeline/0",
        None,
    )
    assert problem.document == SERVER


def test_a_block_of_a_component_outside_the_pipeline_is_a_warning() -> None:
    text = "pipeline: [mask]\ncomponents:\n  dedup: {min_tokens: 5}\n"

    assert places(text) == ["config.component_not_in_pipeline 3:3 /components/dedup"]


def test_a_pipeline_with_an_unknown_name_does_not_make_its_block_look_unused() -> None:
    assert codes("pipeline: [maks]\ncomponents: {mask: {}}\n") == ["config.unknown_component"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("pipeline: []\n", ["config.empty_pipeline 1:1 /pipeline"]),
        ("preset: off\n", ["config.empty_pipeline - /pipeline"]),
        (
            "preset: cache\npipeline: [mask]\n",
            ["config.pipeline_overrides_preset 2:1 /pipeline"],
        ),
        (
            "pipeline: [mask, format, cachesplit]\n",
            ["advice.order_lossless_first 1:18 /pipeline/1"],
        ),
        ("pipeline: [cachesplit, mask]\n", ["advice.cachesplit_not_last 1:12 /pipeline/0"]),
        (
            "pipeline: [mask]\ncache: {keepalive: true}\n",
            ["advice.keepalive_spends 2:20 /cache/keepalive"],
        ),
        (
            "pipeline: [mask]\nstore: {stash_ttl_seconds: 90000}\n",
            ["config.stash_ttl_above_ttl 2:28 /store/stash_ttl_seconds"],
        ),
        ("pipeline: [format, dedup, mask, collapse, cachesplit]\n", []),
    ],
)
def test_what_is_legal_but_odd_is_said(text: str, found: list[str]) -> None:
    outcome = checked(text)

    assert outcome.errors == ()
    assert places(text) == found
    assert len(outcome.warnings) + len(outcome.advice) == len(found)


def test_an_overridden_preset_lists_what_it_would_have_added() -> None:
    problem = only("preset: cache\npipeline: [mask]\n")

    assert (
        problem.reason
        == "From the preset would come: cachesplit. Not in this pipeline: cachesplit."
    )


@pytest.mark.parametrize(
    ("text", "advised"),
    [
        ("pipeline: [mask]\n", True),
        ("pipeline: [mask]\ncache: {mode: off}\n", False),
        ("pipeline: [mask]\ncomponents: {mask: {cold_cache: true}}\n", False),
        ("pipeline: [dedup]\n", False),
    ],
)
def test_mask_on_a_caching_upstream_is_advised_to_wait_for_a_cold_cache(
    text: str, *, advised: bool
) -> None:
    caching = Context(components(), caching_upstream=True)

    assert codes(text, caching) == ["advice.mask_on_caching_backend"] * advised
    assert codes(text, CONTEXT) == []


def test_a_copy_of_the_default_is_advised_to_follow_it() -> None:
    default = "pipeline: [mask]\nmode: sync\n"

    assert codes("mode: sync\npipeline:\n- mask\n", above(default)) == [
        "advice.identical_to_default"
    ]
    assert codes("pipeline: [mask]\n", above(default)) == []


def test_a_preset_that_is_not_there_is_named_with_its_neighbours() -> None:
    problem = only("pipeline: [mask]\npreset: cach\n")

    assert (problem.code, problem.line, problem.column) == ("config.preset_not_found", 2, 9)
    assert problem.suggestions[0].text == "cache"
    assert problem.reason == (
        "Presets you can use: house, housellm, codesmart, codesafe, off, cache, safe, balanced, "
        "aggressive, coding, mcp, agent, general, summarize, agentdiet."
    )


@pytest.mark.parametrize("version", ["2", "0", "x", "", "01", "9" * 5000])
def test_a_version_that_is_not_there_is_not_the_current_one(version: str) -> None:
    text = f"pipeline: [mask]\npreset: 'cache@{version}'\n"

    assert codes(text) == ["config.preset_version_not_found"]


def test_a_pinned_preset_is_found() -> None:
    outcome = checked("preset: cache@1\n")

    assert outcome.effective is not None
    assert outcome.effective.pipeline == ["cachesplit"]


def test_a_fault_in_a_lower_layer_is_an_error_without_a_position_here() -> None:
    outcome = checked("mode: sync\n", above("pipeline: [mask]\nmode: fast\n"))

    (problem,) = outcome.errors
    assert (problem.code, problem.path, problem.line) == ("config.not_in_enum", "/mode", None)
    assert problem.document == SERVER
