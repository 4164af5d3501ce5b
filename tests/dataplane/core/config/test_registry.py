"""The legal tree of a document: 04 section 2.8."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from dataplane.core.components import by_name, components
from dataplane.core.config.registry import json_schema, leaves, registry
from dataplane.core.declaration import Declaration
from tests.dataplane.core.config.checking import CONTEXT, EVERYTHING, WIDE, checked

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


def test_choices_keep_the_order_of_their_declaration() -> None:
    assert FOUND["components", "mask", "marker_mode"].choices == ("full", "summary", "off")


def other(path: tuple[str | int, ...]) -> Any:
    """A value of the key that is not its default."""
    key = FOUND[path]
    if key.choices:
        return next(choice for choice in key.choices if choice != key.default)
    if key.kind == "boolean":
        return not key.default
    if key.kind == "string":
        return "cache" if path == ("preset",) else "some-model"
    if key.kind in ("number", "decimal"):
        return 0.75
    return 299 if key.maximum == 299 else max(int(key.minimum or 0), 60) + 7


@pytest.mark.parametrize(
    "path", [path for path in FOUND if path not in (("pipeline",), ("preset",))], ids=".".join
)
def test_a_value_other_than_the_default_changes_that_key_only(path: tuple[str, ...]) -> None:
    """04 V-05."""
    pipeline = list(components())
    document: dict[str, Any] = {"pipeline": pipeline}
    before = checked(msgspec.json.encode(document), CONTEXT).effective
    written = document
    for step in path[:-1]:
        written = written.setdefault(step, {})
    value = other(path)
    written[path[-1]] = value
    if path == ("store", "enabled"):
        off = {"marker_mode": "off"}
        document["components"] = {"mask": off, "dedup": off, "collapse": off}

    after = checked(msgspec.json.encode(document), CONTEXT).effective

    assert before is not None
    assert after is not None
    at: Any = after.document
    for step in path:
        at = at[step]
    assert at == value
    changed = {name for name, origin in after.origins.items() if origin.ref.layer == "tenant"}
    assert changed >= {"/" + "/".join(path), "/pipeline"}
    if path[0] != "store":
        assert len(changed) == 2


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
