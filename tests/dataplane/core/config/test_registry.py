"""The legal tree of a document: 04 §2.8."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import msgspec
import pytest

from dataplane.core.components import by_name, components
from dataplane.core.config.registry import Key, json_schema, leaves, registry
from dataplane.core.config.resolve import Effective, value_at
from dataplane.core.config.tree import pointer
from dataplane.core.port.declaration import Declaration
from tests.dataplane.core.config.checking import EVERYTHING, RUNNABLE, WIDE, checked

ROOT = registry(components())
FOUND = dict(leaves(ROOT))


@pytest.mark.parametrize("declared", components().values(), ids=lambda declared: declared.name)
def test_the_declared_keys_are_the_accepted_keys(declared: Declaration) -> None:
    fields = msgspec.structs.fields(declared.config) if declared.config else ()

    accepted = ROOT.fields["components"].fields[declared.name].fields
    assert set(accepted) == {field.encode_name for field in fields}
    assert all(key.title for key in accepted.values())


@pytest.mark.parametrize(
    ("path", "kind", "default", "minimum"),
    [
        ("components.format.min_tokens", "integer", 50, 1),
        ("components.dedup.min_tokens", "integer", 100, 1),
        ("components.dedup.marker_mode", "string", "full", None),
        ("components.mask.keep_recent", "integer", 3, 0),
        ("components.mask.min_tokens", "integer", 100, 1),
        ("components.mask.keep_head_chars", "integer", 96, 0),
        ("components.mask.cold_cache", "boolean", False, None),
        ("components.collapse.max_tokens", "integer", 2000, 0),
        ("components.collapse.max_frac", "number", 0, 0),
        ("components.collapse.head_lines", "integer", 20, 0),
        ("components.collapse.tail_lines", "integer", 20, 0),
        *(
            (f"components.{name}.min_tokens", "integer", default, 1)
            for name, default in (
                ("textclean", 50),
                ("searchfold", 50),
                ("toon", 50),
                ("failed_run", 100),
                ("smartcrush", 200),
                ("readlifecycle", 100),
                ("skeleton", 80),
                ("extract", 300),
                ("extract_llm", 300),
                ("extract_llm_sweep", 1000),
                ("summarize", 500),
                ("cache_aware_summarizer", 500),
                ("coref", 300),
                ("prefixpin", 200),
            )
        ),
        *(
            (f"components.{name}.marker_mode", "string", "full", None)
            for name in (
                "failed_run",
                "mask",
                "collapse",
                "smartcrush",
                "cmdfilter",
                "linecap",
                "readlifecycle",
                "skeleton",
                "extract",
                "extract_llm",
                "extract_llm_sweep",
                "summarize",
                "cache_aware_summarizer",
                "agentdiet",
                "coref",
                "image_offload",
            )
        ),
        *(
            (f"components.{name}.cold_cache", "boolean", False, None)
            for name in ("failed_run", "collapse", "readlifecycle", "skeleton")
        ),
        *(
            (f"components.{name}.trigger.{key}", kind, default, 0)
            for name in ("extract", "extract_llm", "coref")
            for key, kind, default in (
                ("min_request_tokens", "integer", 0),
                ("min_messages", "integer", 0),
                ("min_output_tokens", "integer", 0),
                ("min_request_frac", "number", 0),
                ("min_output_frac", "number", 0),
                ("huge_output_frac", "number", 0),
                ("pre_expiry_seconds", "integer", 60),
            )
        ),
        ("components.summarize.trigger.min_request_frac", "number", 0.9, 0),
        ("components.cache_aware_summarizer.trigger.min_request_frac", "number", 0.9, 0),
        ("components.summarize.trigger.cache_state", "string", "any", None),
        ("components.summarize.summary_level", "string", "regular", None),
        ("components.summarize.keep_last", "integer", 3, 0),
        ("components.summarize.resummarize_tokens", "integer", 6000, 0),
        ("components.cache_aware_summarizer.keep_last_turns", "integer", 10, 0),
        ("components.cache_aware_summarizer.max_request_tokens", "integer", 0, 0),
        ("components.cache_aware_summarizer.instruction_role", "string", "auto", None),
        ("components.smartcrush.min_items", "integer", 5, 1),
        ("components.smartcrush.keep_first", "integer", 3, 0),
        ("components.smartcrush.keep_last", "integer", 2, 0),
        ("components.cmdfilter.min_size", "integer", 400, 0),
        ("components.cmdfilter.agent_filters", "string", "off", None),
        ("components.linecap.max_line_chars", "integer", 500, 0),
        ("components.linecap.min_size", "integer", 400, 0),
        ("components.cacheinject.ttl", "string", "5m", None),
        ("components.extract_llm.llm_every_n_requests", "integer", 1, 0),
        ("components.extract_llm.context_messages", "integer", 2, 0),
        ("components.extract_llm.economic_gate", "boolean", True, None),
        ("components.extract_llm.skip_file_reads", "boolean", None, None),
        ("components.extract_llm.model.source", "string", "incoming", None),
        ("components.extract_llm_sweep.min_inventory", "integer", 10, 1),
        ("components.extract_llm_sweep.pre_expiry_seconds", "integer", 60, 1),
        ("components.extract_llm_sweep.reward_premium", "number", 1, 1),
        ("components.extract_llm_sweep.min_pressure", "number", 0, 0),
        ("components.extract_llm_sweep.block_fallback", "boolean", None, None),
        ("components.extract_llm_sweep.estimator", "string", "curve", None),
        ("components.extract_llm_sweep.probe_budget_usd_per_day", "decimal", Decimal("0.5"), 0),
        ("components.extract_llm_sweep.max_ask_usd_per_day", "decimal", Decimal(5), 0),
        ("components.agentdiet.delay_steps", "integer", 2, 0),
        ("components.agentdiet.max_keep_ratio", "number", 0.8, 0),
        ("components.coref.min_later_turns", "integer", 8, 0),
        ("components.coref.closed_dist", "integer", 12, 0),
        ("components.coref.min_batch_frac", "number", 0.05, 0),
        ("components.prefixpin.max_pin_index", "integer", 4, 0),
        ("components.prefixpin.min_similarity", "number", 0.8, 0),
        ("components.image_offload.budgets.anthropic.max_images", "integer", 100, 1),
        (
            "components.image_offload.budgets.openai_chat.max_request_bytes",
            "integer",
            48_000_000,
            1,
        ),
        ("components.image_offload.retry.max_attempts", "integer", 1, 0),
        ("recovery.enabled", "boolean", False, None),
        ("recovery.retention_seconds", "integer", 86_400, 60),
        ("recovery.limits.page_bytes", "integer", 262_144, 4),
        ("expand.tool_paging", "boolean", False, None),
        ("store.enabled", "boolean", True, None),
        ("store.backend", "string", "sqlite", None),
        ("store.ttl_seconds", "integer", None, 60),
        ("store.max_entries", "integer", None, 16),
        ("store.max_sessions", "integer", None, 1),
        ("mode", "string", "sync", None),
        ("observe.max_queue", "integer", 256, 1),
        ("observe.workers", "integer", 1, 1),
        ("cache.mode", "string", "auto", None),
        ("cache.keepalive_idle_seconds", "integer", 280, 0),
        ("cache.keepalive_min_prefix_tokens", "integer", 20_000, 0),
        ("inject_expand", "string", "auto", None),
        ("recovery_require_path", "boolean", True, None),
        ("force_model", "string", None, None),
    ],
)
def test_a_key_has_the_type_the_default_and_the_minimum_of_04_section_2_8(
    path: str, kind: str, default: object, minimum: float | None
) -> None:
    key = FOUND[tuple(path.split("."))]

    assert (key.kind, key.default, key.minimum) == (kind, default, minimum)


@pytest.mark.parametrize(
    ("component", "keys"),
    [
        ("cachesplit", set()),
        ("toolschema", set()),
        ("toolfilter", {"remove"}),
        ("cmdfilter", {"filters", "disable_builtins", "agent_filters", "min_size", "marker_mode"}),
        (
            "extract_llm_sweep",
            {"min_tokens", "min_inventory", "pre_expiry_seconds", "econ_trigger", "evidence",
             "econ_ignore_ask_cost", "min_later_turns", "min_pressure", "keep_recheck_turns",
             "reward_premium", "block_fallback", "estimator", "probe_budget_usd_per_day",
             "max_ask_usd_per_day", "marker_mode"},
        ),
        (
            "extract_llm",
            {"fire_on", "min_tokens", "strategy", "aggressiveness", "context", "context_messages",
             "max_chars", "llm_every_n_requests", "llm_max_per_request", "llm_max_per_session",
             "allow_on_caching_backend", "economic_gate", "rewrite", "skip_file_reads",
             "model_max_input_tokens", "marker_mode", "model", "trigger"},
        ),
    ],
)  # fmt: skip
def test_a_component_takes_the_keys_of_04_section_2_8_and_no_other(
    component: str, keys: set[str]
) -> None:
    assert set(ROOT.fields["components"].fields[component].fields) == keys


@pytest.mark.parametrize(
    "text",
    [
        "preset: off\n",
        "pipeline: [mask]\ncomponents: {mask: {marker_mode: off}}\n",
        "pipeline: [cmdfilter]\ncomponents: {cmdfilter: {agent_filters: off}}\n",
        "cache: {mode: off}\n",
    ],
)
def test_off_is_a_text(text: str) -> None:
    """04 §V-03."""
    assert checked(text, RUNNABLE).errors == ()


def test_choices_keep_the_order_of_their_declaration() -> None:
    assert FOUND["components", "mask", "marker_mode"].choices == ("full", "summary", "off")


STRINGS: dict[str | int, str] = {
    "base_url": "https://models.example",
    "api_key": "secret:compactor",
}
LISTS = {
    "filters": ["schema_version: 1\nfilters: {x: {match: ^y}}\n"],
    "triggers": ["budget"],
    "statuses": [413],
    "model_overrides": [{"match": "m*", "max_images": 600, "representation": "wire",
                         "count_quantum": 20, "byte_quantum": 10_485_760}],
    "transforms": ["collapse"],
}  # fmt: skip


def other(path: tuple[str | int, ...]) -> Any:
    """A value of the key that is not its default."""
    key = FOUND[path]
    if key.choices:
        return next((one for one in key.choices if one != key.default), key.choices[0])
    if key.kind == "boolean":
        return not key.default
    if key.kind == "string":
        return STRINGS.get(path[-1], "some-model")
    if key.kind == "list":
        return LISTS.get(str(path[-1]), ["some_name"])
    if key.kind in ("number", "decimal"):
        return 0.75 if key.maximum != 100 else 1.5
    return near(key)


def near(key: Key) -> int:
    """A whole number within the bounds that is not the default."""
    if key.maximum is None or key.maximum > 1000:
        wanted = max(int(key.minimum or 0), 60) + 7
    else:
        wanted = int(key.maximum)
    return wanted if wanted != key.default else wanted - 1


# What else has to be written for a value to be legal.
NEEDED: dict[str, dict[str, object]] = {
    "base_url": {"model": "some-model"},
    "cut_unreferenced": {"cut_closed": True},
    "disable_builtins": {"agent_filters": "safe"},
    "max_bytes": {"byte_quantum": 1},
}


# This build refuses every value of these but the default, and a pipeline is no single value.
FIXED = {
    ("pipeline",),
    ("preset",),
    ("recovery", "enabled"),
    ("expand", "tool_paging"),
    ("expand", "max_inline_bytes"),
    ("cache", "head_ttl_1h"),
}


@pytest.mark.parametrize("path", [path for path in FOUND if path not in FIXED], ids=".".join)
def test_a_value_other_than_the_default_changes_that_key_only(path: tuple[str, ...]) -> None:
    """04 §V-05."""
    document: dict[str, Any] = {"pipeline": [path[1]] if path[0] == "components" else []}
    for name, needed in NEEDED.get(path[-1], {}).items():
        write(document, (*path[:-1], name), needed)
    before = checked(msgspec.json.encode(document), RUNNABLE).effective
    value = other(path)
    write(document, path, value)

    after = checked(msgspec.json.encode(document), RUNNABLE).effective

    assert before is not None
    assert after is not None
    assert value_at(after.document, pointer(path)) == value
    written = {name for name, origin in after.origins.items() if origin.ref.layer == "tenant"}
    assert pointer(path) in written
    changed = {name for name in after.origins if differs(name, before, after)}
    if path[0] != "store":  # whose sizes depend on one another
        assert changed <= {pointer(path)}


def write(document: dict[str, Any], path: tuple[str, ...], value: object) -> None:
    for step in path[:-1]:
        document = document.setdefault(step, {})
    document[path[-1]] = value


def differs(path: str, before: Effective, after: Effective) -> bool:
    return bool(value_at(before.document, path) != value_at(after.document, path))


def test_the_json_schema_is_closed_and_carries_what_the_form_needs() -> None:
    schema = json_schema(registry(WIDE.components))
    everything = schema["properties"]["components"]["properties"]["everything"]

    assert schema["additionalProperties"] is False
    assert everything["properties"]["size"] == {
        "type": "integer", "description": "Size.", "minimum": 1, "default": 10, "x-unit": "tokens",
    }  # fmt: skip
    assert everything["properties"]["budget"]["x-zero-means"] == "unlimited"
    assert everything["properties"]["model"]["properties"]["api_key"]["writeOnly"] is True
    assert everything["properties"]["names"]["items"]["pattern"] == "^[a-z]+$"
    assert "default" not in everything["properties"]["tri"]
    assert schema["properties"]["components"]["properties"]["cachesplit"]["properties"] == {}


def test_a_type_that_no_document_can_hold_stops_the_start() -> None:
    class Wrong(msgspec.Struct):
        when: bytes = b""

    with pytest.raises(TypeError, match="when"):
        registry({"wrong": Declaration("wrong", EVERYTHING.kind, "", Wrong, ())})


def test_the_components_of_the_build_are_found_by_module() -> None:
    assert {"cachesplit", "collapse", "dedup", "format", "mask"} <= set(components())


def test_two_components_of_one_name_stop_the_start() -> None:
    with pytest.raises(ValueError, match="everything"):
        by_name([EVERYTHING, EVERYTHING])
