"""The legal keys of a document, as one tree derived from the declarations.

Validation, defaults, the JSON schema and forms all read this tree; nothing is listed twice.
Source: 04-controlplane-and-dashboard.md 2.8; 07-house-style.md 5.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec

from dataplane.core.config.document import REMOVED, UNAVAILABLE_VALUES, Document, PresetDocument
from dataplane.core.config.tree import Path
from dataplane.core.port.declaration import Declaration, Refusal

SCHEMA_VERSION = 1
OLDEST_SCHEMA = 1
LARGEST_INTEGER = 2**63 - 1  # what every consumer of the document can hold
Kind = Literal["integer", "number", "decimal", "boolean", "string", "list", "block"]
_KINDS: dict[type, Kind] = {
    int: "integer", float: "number", Decimal: "decimal", bool: "boolean", str: "string",
}  # fmt: skip
_TOLD = (
    "unit", "under", "zero_means", "secret", "deprecated", "removed", "unavailable", "lower",
    "higher", "lacks",
)  # fmt: skip
JSON_TYPES: dict[Kind, str] = {
    "integer": "integer", "number": "number", "decimal": "number", "boolean": "boolean",
    "string": "string", "list": "array", "block": "object",
}  # fmt: skip
_PRESET_IN_A_PRESET = Refusal(
    "config.refused_key",
    "A preset refines another one by naming it in extends.",
    "Write extends instead of preset.",
)


@dataclass(frozen=True, slots=True)
class Key:
    """One legal key.

    default: None leaves the key absent (tri-state, or filled in by another rule). choices: in
    the order of the declaration. item: of a list. fields: of a block. refusals: names, dotted
    from this block on, that are answered with a reason. under: an exclusive bound. unavailable,
    removed: values with a reason. deprecated: the dotted key of the same component to write
    instead. lower, higher: what a smaller, a larger value does. lacks: what this build is missing
    to obey it, of a block for everything in it.
    """

    name: str
    kind: Kind
    title: str = ""
    default: Any = None
    unit: str | None = None
    minimum: float | None = None
    maximum: float | None = None
    under: float | None = None
    choices: tuple[str | int, ...] = ()
    zero_means: str | None = None
    secret: bool = False
    pattern: str | None = None
    lengths: tuple[int | None, int | None] = (None, None)
    item: Key | None = None
    fields: Mapping[str, Key] = field(default_factory=dict)
    refusals: Mapping[str, Refusal] = field(default_factory=dict)
    unavailable: Mapping[str, str] = field(default_factory=dict)
    removed: Mapping[str, str] = field(default_factory=dict)
    deprecated: str = ""
    lower: str = ""
    higher: str = ""
    lacks: str = ""

    @property
    def json_type(self) -> str:
        return JSON_TYPES[self.kind]


def registry(components: Mapping[str, Declaration], *, preset: bool = False) -> Key:
    """The root of the tree: top-level keys, and under `components` a block per component.

    preset: of a preset's document, which has `extends` in the place of `preset`.
    """
    host = block_of(PresetDocument if preset else Document)
    fields = {
        name: replace(found, unavailable=UNAVAILABLE_VALUES.get(name, found.unavailable))
        for name, found in host.fields.items()
    }
    blocks = {name: component_block(declared) for name, declared in components.items()}
    title = "One block of keys per component; the pipeline is what enables it."
    fields["components"] = Key("components", "block", title, fields=blocks)
    if preset:
        del fields["preset"]
    refusals = REMOVED | ({"preset": _PRESET_IN_A_PRESET} if preset else {})
    return Key("", "block", "A configuration document.", fields=fields, refusals=refusals)


def component_block(declared: Declaration) -> Key:
    """The keys of one component; no fields at all when it takes no configuration."""
    fields = dict(block_of(declared.config).fields) if declared.config else {}
    for dotted in declared.refusals:
        head, _, rest = dotted.partition(".")
        if rest and head in fields:
            fields[head] = replace(fields[head], refusals=below(declared.refusals, head))
    return Key(
        declared.name,
        "block",
        declared.summary,
        fields=fields,
        refusals=declared.refusals,
        lacks=declared.lacks,
    )


def below(refusals: Mapping[str, Refusal], head: str) -> dict[str, Refusal]:
    """The refusals inside one key, dotted from there on."""
    prefix = head + "."
    return {name[len(prefix) :]: why for name, why in refusals.items() if name.startswith(prefix)}


@functools.cache
def block_of(struct: type[msgspec.Struct]) -> Key:
    """The keys that a struct declares, by its field annotations."""
    hints = get_type_hints(struct, include_extras=True)
    fields = {}
    for declared in msgspec.structs.fields(struct):
        default = declared.default
        if declared.default_factory is not msgspec.NODEFAULT:
            default = declared.default_factory()
        found = _key(declared.encode_name, hints[declared.name])
        absent = default is msgspec.NODEFAULT or default is msgspec.UNSET
        fields[found.name] = found if absent else replace(found, default=default)
    return Key(struct.__name__, "block", struct.__doc__ or "", fields=fields)


def leaves(block: Key, path: Path = ()) -> Iterator[tuple[Path, Key]]:
    """Every key that holds a value, with its path; it lacks what its block lacks."""
    for name, found in block.fields.items():
        if block.lacks and not found.lacks:
            found = replace(found, lacks=block.lacks)
        if found.kind == "block":
            yield from leaves(found, (*path, name))
        else:
            yield (*path, name), found


def lacking(block: Key) -> Iterator[tuple[tuple[str, ...], Key]]:
    """The keys that this build cannot obey."""
    for path, found in leaves(block):
        if found.lacks:
            yield tuple(map(str, path)), found


def json_schema(key: Key) -> dict[str, Any]:
    """JSON Schema 2020-12 of a key and everything below it."""
    schema: dict[str, Any] = {"type": key.json_type}
    facts = {
        "description": key.title or None,
        "minimum": key.minimum,
        "exclusiveMaximum": key.under,
        "maximum": None if key.maximum == LARGEST_INTEGER else key.maximum,
        "enum": list(key.choices) or None,
        "pattern": key.pattern,
        "default": _plain(key.default) if key.kind != "block" else None,
        "x-unit": key.unit,
        "x-zero-means": key.zero_means,
        "x-lower": key.lower or None,
        "x-higher": key.higher or None,
        "deprecated": bool(key.deprecated) or None,
        "writeOnly": key.secret or None,
        "x-not-in-effect": f"This build lacks {key.lacks}." if key.lacks else None,
        "items": json_schema(key.item) if key.item else None,
    }
    schema.update({name: fact for name, fact in facts.items() if fact is not None})
    if key.kind == "block":
        schema["properties"] = {name: json_schema(found) for name, found in key.fields.items()}
        schema["additionalProperties"] = False
    return schema


def _key(name: str, hint: Any) -> Key:
    """A key from its annotation; Annotated may stand around or inside the optional type."""
    hint, metas = _bare(hint)
    origin = get_origin(hint)
    if origin is Literal:
        choices = get_args(hint)
        found = Key(name, _KINDS[type(choices[0])], choices=choices)
    elif origin is list:
        found = Key(name, "list", item=_key(name, get_args(hint)[0]))
    elif isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        found = replace(block_of(hint), name=name)
    elif hint in _KINDS:
        found = Key(name, _KINDS[hint])
    else:
        raise TypeError(f"{name}: a document cannot hold {hint}")
    for meta in metas:
        found = _described(found, meta)
    return _bounded(found)


def _bare(hint: Any) -> tuple[Any, list[msgspec.Meta]]:
    """The type inside Annotated and `| None`, and the annotations met on the way."""
    metas: list[msgspec.Meta] = []
    while True:
        if hasattr(hint, "__metadata__"):
            metas += [meta for meta in hint.__metadata__ if isinstance(meta, msgspec.Meta)]
            hint = hint.__origin__
        elif get_origin(hint) in (Union, types.UnionType):
            absent = (type(None), msgspec.UnsetType)
            (hint,) = (part for part in get_args(hint) if part not in absent)
        else:
            return hint, metas


def _described(found: Key, meta: msgspec.Meta) -> Key:
    facts: Mapping[str, Any] = meta.extra or {}
    return replace(
        found,
        title=meta.description or found.title,
        minimum=found.minimum if meta.ge is None else meta.ge,
        maximum=found.maximum if meta.le is None else meta.le,
        **{name: facts[name] for name in _TOLD if name in facts},
        pattern=meta.pattern or found.pattern,
        lengths=(
            found.lengths[0] if meta.min_length is None else meta.min_length,
            found.lengths[1] if meta.max_length is None else meta.max_length,
        ),
    )


def _bounded(found: Key) -> Key:
    """Numbers are at least 0 unless a minimum is given; integers fit into 64 bits."""
    minimum, maximum = found.minimum, found.maximum
    if found.kind in ("integer", "decimal") and minimum is None:
        minimum = 0
    if found.choices:
        minimum = None
    elif found.kind == "integer" and maximum is None:
        maximum = LARGEST_INTEGER
    return replace(found, minimum=minimum, maximum=maximum)


def _plain(value: Any) -> Any:
    return float(value) if isinstance(value, Decimal) else value
