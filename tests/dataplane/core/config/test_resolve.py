"""Layers, presets, defaults and what a node gets: 04 §3.3."""

from __future__ import annotations

import dataclasses
from decimal import Decimal
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataplane.adapters.stores.originals import MEMORY_LIMITS, SQLITE_LIMITS, StoreLimits
from dataplane.core.components import components
from dataplane.core.config.check import check_document
from dataplane.core.config.document import STORE_SIZES, Cache
from dataplane.core.config.layers import Context, Layer
from dataplane.core.config.parse import parse
from dataplane.core.config.presets import BUILT_IN, Preset
from dataplane.core.config.problems import ConfigError, DocumentRef
from dataplane.core.config.resolve import Effective
from dataplane.core.config.tree import to_values
from dataplane.core.resource import Host
from tests.dataplane.core.config import raising, raising_together
from tests.dataplane.core.config.checking import CONTEXT, EVERYTHING, RUNNABLE, WIDE, checked, codes

CODESAFE = Preset(
    "acme-safe",
    5,
    "pipeline: [format, dedup, collapse, cachesplit]\ncomponents: {collapse: {max_tokens: 3000}}\n",
)
SERVER = DocumentRef("server_default", version=7)
ORGANISATION = DocumentRef("org_default", "acme", 3)
TENANT = DocumentRef("tenant", "acme/ci", 12)


def resolved(tenant: str, *, server: str = "", organisation: str = "") -> Effective:
    layers = (Layer(SERVER, server), Layer(ORGANISATION, organisation))
    context = Context(components(), (*BUILT_IN, CODESAFE), layers, TENANT)
    outcome = checked(tenant, context)
    assert outcome.effective is not None, outcome.problems
    return outcome.effective


def block(effective: Effective, name: str) -> Any:
    return effective.document["components"][name]


def test_01_vector_63_a_written_key_leaves_the_other_keys_of_the_preset_alone() -> None:
    effective = resolved("preset: acme-safe\ncomponents:\n  collapse: {head_lines: 5}\n")

    collapse = block(effective, "collapse")
    assert (collapse["head_lines"], collapse["max_tokens"], collapse["tail_lines"]) == (5, 3000, 20)
    origins = {name: str(effective.origins[f"/components/collapse/{name}"]) for name in collapse}
    assert origins["head_lines"] == "tenant:acme/ci@v12:line 3"
    assert origins["max_tokens"] == "preset:acme-safe@v5:line 2"
    assert origins["tail_lines"] == "default:schema1"


def test_naming_a_preset_drops_the_preset_and_the_pipeline_of_lower_layers() -> None:
    effective = resolved(
        "preset: acme-safe\n",
        server="preset: cache\n",
        organisation="pipeline: [mask]\ncomponents: {collapse: {max_tokens: 9, head_lines: 9}}\n",
    )

    assert effective.pipeline == ["format", "dedup", "collapse", "cachesplit"]
    assert block(effective, "collapse")["max_tokens"] == 3000
    assert block(effective, "collapse")["head_lines"] == 9
    assert str(effective.origins["/components/collapse/head_lines"]) == "org_default:acme@v3:line 2"


def test_a_layer_above_the_one_that_names_the_preset_wins_over_it() -> None:
    effective = resolved(
        "components: {collapse: {max_tokens: 50}}\n", organisation="preset: acme-safe\n"
    )

    assert effective.pipeline == ["format", "dedup", "collapse", "cachesplit"]
    assert block(effective, "collapse")["max_tokens"] == 50


def test_the_pipeline_is_one_leaf() -> None:
    effective = resolved("pipeline: [mask]\n", server="pipeline: [format, dedup]\n")

    assert effective.pipeline == ["mask"]
    assert str(effective.origins["/pipeline"]) == "tenant:acme/ci@v12:line 1"


def test_an_empty_document_follows_the_layers_below() -> None:
    server = "pipeline: [mask]\ncomponents: {mask: {keep_recent: 5}}\n"

    assert resolved("", server=server).effective_hash == resolved(server).effective_hash


def test_keys_of_components_outside_the_pipeline_are_ignored_by_name() -> None:
    effective = resolved("pipeline: [mask]\n", server="components: {dedup: {min_tokens: 7}}\n")

    assert "dedup" not in effective.document["components"]
    assert {path: str(origin) for path, origin in effective.ignored.items()} == {
        "/components/dedup/min_tokens": "server_default@v7:line 1"
    }


def test_an_unset_tri_state_stays_absent_and_a_written_zero_stays() -> None:
    unset = checked("pipeline: [everything]\n", WIDE).effective
    written = checked(
        "pipeline: [everything]\ncomponents: {everything: {tri: false, budget: 0}}\n", WIDE
    ).effective

    assert unset is not None
    assert written is not None
    assert "tri" not in block(unset, "everything")
    assert (block(written, "everything")["tri"], block(written, "everything")["budget"]) == (
        False,
        0,
    )


def test_lists_are_replaced_and_not_joined() -> None:
    layer = Layer(SERVER, "pipeline: [everything]\ncomponents: {everything: {names: [a, b]}}\n")
    context = Context({"everything": EVERYTHING}, (), (layer,), TENANT)

    effective = checked("components: {everything: {names: [c]}}\n", context).effective

    assert effective is not None
    assert block(effective, "everything")["names"] == ["c"]


@pytest.mark.parametrize(
    ("backend", "limits"), [("memory", MEMORY_LIMITS), ("sqlite", SQLITE_LIMITS)]
)
def test_the_store_sizes_of_a_backend_are_those_that_the_store_itself_uses(
    backend: str, limits: StoreLimits
) -> None:
    sizes = STORE_SIZES[backend]

    assert (sizes.ttl_seconds, sizes.max_entries) == (limits.ttl_s, limits.max_entries)
    assert (sizes.max_sessions, sizes.stash_max_bytes) == (limits.max_sessions, limits.max_bytes)


def test_the_store_is_filled_in_by_backend() -> None:
    assert resolved("store: {backend: memory, max_entries: 16}\n").document["store"] == {
        "enabled": True,
        "backend": "memory",
        "ttl_seconds": 1800,
        "max_entries": 16,
        "max_sessions": 100,
        "stash_ttl_seconds": 1800,
        "stash_max_bytes": 268435456,
    }


def test_originals_do_not_outlive_the_store() -> None:
    store = resolved("store: {ttl_seconds: 600, stash_ttl_seconds: 900}\n").document["store"]

    assert store["stash_ttl_seconds"] == 600


def test_the_host_part_is_what_the_proxy_obeys() -> None:
    """00 §2 (row 21)."""
    text = "mode: observe\ncache: {mode: off}\ninject_expand: never\nforce_model: m2\n"

    assert resolved(text + "recovery_require_path: false\n").host == Host(
        "observe", "m2", "never", recovery_require_path=False, cache_mode="off"
    )
    assert resolved("").host == Host()


def test_the_steps_are_ready_to_run_in_pipeline_order() -> None:
    outcome = checked("pipeline: [mask, cachesplit]\ncomponents: {mask: {keep_recent: 5.0}}\n")

    assert [step.declaration.name for step in outcome.steps] == ["mask", "cachesplit"]
    mask = outcome.steps[0].config
    assert mask is not None
    assert msgspec.structs.asdict(mask)["keep_recent"] == 5
    assert outcome.steps[1].config is None


def test_a_node_builds_the_same_document_that_was_checked() -> None:
    effective = resolved("preset: acme-safe\ncomponents: {collapse: {max_frac: 1}}\n")
    received = msgspec.json.decode(msgspec.json.encode(effective.document))

    compiled = check_document(received, components())

    assert compiled.effective.effective_hash == effective.effective_hash
    assert compiled.host == effective.host
    assert [step.declaration.name for step in compiled.steps] == effective.pipeline


def test_a_node_fills_in_what_a_short_document_leaves_out() -> None:
    compiled = check_document({"pipeline": ["mask"]}, components())

    assert compiled.steps == checked("pipeline: [mask]\n").steps


@pytest.mark.parametrize(
    ("document", "code", "path"),
    [
        ({"pipeline": ["mask"], "preset": "off"}, "config.refused_key", "/preset"),
        ({"pipeline": ["msk"]}, "config.unknown_component", "/pipeline/0"),
        (
            {"components": {"mask": {"keep_recent": "3"}}},
            "config.wrong_type",
            "/components/mask/keep_recent",
        ),
        ({"schema_version": 99}, "config.schema_too_new", "/schema_version"),
        (
            {"store": {"enabled": False}, "pipeline": ["mask"]},
            "config.store_disabled_marker_full",
            "/pipeline/0",
        ),
        (
            {"pipeline": ["mask"], "force_model": "cg_live_0123456789"},
            "config.inline_secret",
            "/force_model",
        ),
    ],
)
def test_a_node_refuses_what_the_editor_would_refuse(
    document: dict[str, Any], code: str, path: str
) -> None:
    with pytest.raises(ConfigError) as refused:
        check_document(document, components())

    errors = [problem for problem in refused.value.problems if problem.severity == "error"]
    assert [(problem.code, problem.path, problem.line) for problem in errors] == [
        (code, path, None)
    ]


SENDABLE = [
    fixture
    for fixture in (*raising.KEYS, *raising.VALUES, *raising_together.ACROSS)
    if fixture.values[1] in (CONTEXT, RUNNABLE) and "preset" not in str(fixture.values[0])
]


@pytest.mark.parametrize(("text", "context", "raised"), SENDABLE)
def test_a_node_finds_the_same_errors_as_the_editor(
    text: str, context: Context, raised: str
) -> None:
    """04 §V-08: the places apart, which values do not have."""
    tree = parse(text).tree
    assert tree is not None
    edited = [(error.code, error.path) for error in checked(text, context).errors]

    try:
        problems = check_document(to_values(tree), context.components).problems
    except ConfigError as refused:
        problems = refused.problems

    found = [(one.code, one.path) for one in problems if one.severity == "error"]
    assert sorted(found) == sorted(edited)
    assert raised.split()[0] in {one.code for one in problems}


def test_a_node_refuses_a_document_without_a_bottom() -> None:
    document: dict[str, Any] = {}
    for _ in range(500):
        document = {"a": document}

    with pytest.raises(ConfigError, match="1 error"):
        check_document(document, components())


def test_a_document_holds_json_values_only() -> None:
    with pytest.raises(TypeError, match="bytes"):
        check_document({"force_model": b"m"}, components())


def test_a_price_is_converted_through_its_text() -> None:
    document = resolved("cache: {keepalive_max_usd_per_ping: 0.1}\n").document

    assert msgspec.convert(document["cache"], Cache).keepalive_max_usd_per_ping == Decimal("0.1")


@pytest.mark.parametrize("preset", BUILT_IN, ids=lambda preset: preset.name)
def test_a_built_in_preset_validates_without_an_error(preset: Preset) -> None:
    """04 §P-06."""
    as_preset = dataclasses.replace(RUNNABLE, document=DocumentRef("preset", preset.name))

    assert checked(preset.text, as_preset).errors == ()
    assert checked(f"preset: {preset.name}@{preset.version}\n", RUNNABLE).errors == ()


KEYS = ("keep_recent", "min_tokens", "keep_head_chars")
written = st.dictionaries(st.sampled_from(KEYS), st.integers(1, 9), max_size=3)


@given(written, written, written)
def test_a_layer_never_changes_a_leaf_that_a_layer_above_wrote(
    server: dict[str, int], organisation: dict[str, int], tenant: dict[str, int]
) -> None:
    """04 §P-01."""

    def text(keys: dict[str, int]) -> str:
        return msgspec.json.encode({"components": {"mask": keys}}).decode()

    effective = resolved(
        '{"pipeline": ["mask"], ' + text(tenant)[1:],
        server=text(server),
        organisation=text(organisation),
    )

    expected = {"keep_recent": 3, "min_tokens": 100, "keep_head_chars": 96}
    expected |= {**server, **organisation, **tenant}
    assert {name: block(effective, "mask")[name] for name in KEYS} == expected


def test_the_origin_of_a_value_is_a_line_that_contains_its_key() -> None:
    """04 §P-02."""
    text = "pipeline:\n  - mask\nmode: observe\ncomponents:\n  mask:\n    keep_recent: 4\n"
    lines = text.splitlines()

    for path, origin in resolved(text).origins.items():
        if origin.line is not None:
            assert path.rpartition("/")[2] in lines[origin.line - 1]


def test_an_integral_float_is_the_same_document() -> None:
    one = checked("pipeline: [mask]\ncomponents: {mask: {keep_recent: 4}}\n", CONTEXT)
    other = checked("pipeline: [mask]\ncomponents: {mask: {keep_recent: 4.0}}\n", CONTEXT)

    assert one.canonical == other.canonical
    assert codes("pipeline: [mask]\n") == []
