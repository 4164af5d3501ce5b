"""Whether one written value is what its key wants, and how to say that it is not.

Typing follows 04-controlplane-and-dashboard.md 2.3: an integer accepts 1000 and 1000.0,
not "1000" and not true; a number accepts integers; nothing else is converted.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dataplane.core.config.problems import OneOf, Range
from dataplane.core.config.registry import LARGEST_INTEGER, Key
from dataplane.core.config.scalars import resolve
from dataplane.core.config.tree import MappingNode, Node, ScalarNode, SequenceNode
from dataplane.core.text.secrets import HIDDEN, is_credential, shown

_WANTED = {
    "integer": "a whole number",
    "number": "a number",
    "decimal": "a number",
    "boolean": "true or false",
    "string": "text",
    "list": "a list",
    "block": "a block of keys",
}
_COMMA = re.compile(r"\s*,\s*")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.-]*")
_LARGEST_FLOAT = sys.float_info.max
_UNITS = {"s": "seconds", "ms": "milliseconds", "usd": "US dollars", "share": ""}
_TRUE_OR_FALSE = {"yes": True, "on": True, "y": True, "no": False, "off": False, "n": False}


@dataclass(frozen=True, slots=True)
class Misfit:
    """Why a value does not fit. better: the value that was probably meant, None for unknown."""

    code: str
    facts: Mapping[str, object]
    expected: Range | OneOf | None = None
    better: Any = field(default=None)


def fit(node: Node, key: Key, name: str) -> Any | Misfit:
    """The typed value of a leaf, or why it has none. name: how a sentence names the key."""
    if isinstance(node, ScalarNode) and node.value is None:
        return _nothing(key, name)
    if key.kind == "list":
        return _list(node, key, name)
    if key.kind == "block":
        return node if isinstance(node, MappingNode) else _wrong_type(node, key, name)
    if not isinstance(node, ScalarNode):
        return _wrong_type(node, key, name)
    if key.choices:
        return _choice(node, key, name)
    return _typed(node, key, name)


def described(node: Node) -> str:
    """A value as it is named in a sentence; credentials are hidden."""
    if isinstance(node, MappingNode):
        return "a block of keys"
    if isinstance(node, SequenceNode):
        return "a list"
    return _spelled(node.value)


def _spelled(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return f'the text "{shown(value)}"' if shown(value) != HIDDEN else HIDDEN
    if isinstance(value, float) and not math.isfinite(value):
        return f".{value}".replace(".-", "-.")
    return str(shown(value))


def _nothing(key: Key, name: str) -> Misfit:
    fix = "Write a value, or delete the key to use the default."
    if key.kind == "list":
        fix = "Write [] for an empty list, or delete the key."
    return Misfit("config.null_value", {"name": name, "fix": fix}, expected_of(key))


def _typed(node: ScalarNode, key: Key, name: str) -> Any | Misfit:
    value = node.value
    if key.kind == "boolean":
        return value if isinstance(value, bool) else _wrong_type(node, key, name)
    if key.kind == "string":
        return (
            _measured(value, key, name) if isinstance(value, str) else _wrong_type(node, key, name)
        )
    if isinstance(value, bool) or not isinstance(value, int | float):
        return _wrong_type(node, key, name)
    if not abs(value) <= _LARGEST_FLOAT:  # nor is NaN
        return Misfit("config.not_finite", {"name": name, "actual": _spelled(value)})
    if key.kind == "integer" and value != int(value):
        return _wrong_type(node, key, name)
    # Adding 0.0 turns a negative zero into the ordinary one.
    return _bounded(int(value) if key.kind == "integer" else float(value) + 0.0, key, name)


def _bounded(value: float, key: Key, name: str) -> Any | Misfit:
    facts: dict[str, object] = {"name": name, "actual": shown(value)}
    if key.minimum is not None and value < key.minimum:
        facts |= {"bound": _number(key.minimum), "reason": _below(value, key)}
        fix = f"Write {_number(key.minimum)} or more, or delete the key to use the default."
        return Misfit("config.below_min", {**facts, "fix": fix}, expected_of(key))
    if key.maximum is not None and value > key.maximum:
        reason = meaning(key) or "Larger values have no meaning here."
        facts |= {"bound": f"at most {_number(key.maximum)}", "reason": reason}
        fix = f"Write {_number(key.maximum)} or less, or delete the key to use the default."
        return Misfit("config.above_max", {**facts, "fix": fix}, expected_of(key))
    if key.under is not None and value >= key.under:
        facts |= {"bound": f"less than {_number(key.under)}", "reason": meaning(key)}
        fix = f"Write less than {_number(key.under)}, or delete the key to use the default."
        return Misfit("config.above_max", {**facts, "fix": fix}, expected_of(key))
    return value


def _below(value: float, key: Key) -> str:
    """Two different dangers: a limit that 0 would remove, and a number that makes no sense."""
    if key.minimum == 0:
        zero = f"0 means {key.zero_means}; a" if key.zero_means else "A"
        return f"{meaning(key)} {zero} negative number is not allowed.".strip()
    if value == 0 and key.minimum == 1:
        return f'{meaning(key)} 0 is not "off": it would remove the brake.'.strip()
    return meaning(key)


def _measured(value: str, key: Key, name: str) -> str | Misfit:
    low, high = key.lengths
    if len(value) < (low or 0) or (high is not None and len(value) > high):
        return _bad_length(len(value), "characters", key, name)
    if key.pattern and not re.search(key.pattern, value):
        facts = {"name": name, "meaning": meaning(key), "pattern": key.pattern}
        if key.secret:
            return Misfit("config.inline_secret", {"what": "a credential that is written out"})
        return Misfit("config.bad_pattern", facts)
    return value


def _list(node: Node, key: Key, name: str) -> Any | Misfit:
    if not isinstance(node, SequenceNode):
        return _wrong_type(node, key, name)
    low, high = key.lengths
    if len(node.items) < (low or 0) or (high is not None and len(node.items) > high):
        return _bad_length(len(node.items), "entries", key, name)
    return node


def _bad_length(size: int, what: str, key: Key, name: str) -> Misfit:
    low, high = key.lengths
    facts = {"name": name, "size": size, "what": what, "meaning": meaning(key)}
    bounds = {"low": low or 0, "high": "any number" if high is None else high}
    return Misfit("config.bad_length", {**facts, **bounds})


def _choice(node: ScalarNode, key: Key, name: str) -> Any | Misfit:
    value = node.value
    if value in key.choices and not isinstance(value, bool):
        return value
    quoted = f'"{shown(value)}"' if isinstance(value, str) else _spelled(value)
    facts = {"name": name, "actual": quoted, "meaning": meaning(key)}
    facts |= {"choices": ", ".join(map(str, key.choices))}
    for code, values in (
        ("config.unsupported_value", key.unavailable),
        ("config.removed_value", key.removed),
    ):
        if isinstance(value, str) and value in values:
            better = key.choices[0]
            return Misfit(code, {**facts, "reason": values[value]}, expected_of(key), better)
    return Misfit("config.not_in_enum", facts, expected_of(key))


def _wrong_type(node: Node, key: Key, name: str) -> Misfit:
    fix, better = _hint(node, key)
    facts = {"name": name, "wanted": _WANTED[key.kind], "actual": described(node)}
    return Misfit(
        "config.wrong_type",
        {**facts, "meaning": meaning(key), "fix": fix},
        expected_of(key),
        better,
    )


def _hint(node: Node, key: Key) -> tuple[str, Any]:
    """What to write instead, and the value that was probably meant."""
    label = f"{key.name}: " if key.name else ""
    if key.kind == "list":
        return _listed(node, key, label)
    if key.kind == "block":
        return f"Write the keys of {key.name} below it, indented.", None
    value = node.value if isinstance(node, ScalarNode) else None
    if isinstance(value, str):
        return _unquoted(value, key, label)
    if key.kind == "string" and isinstance(value, bool | int | float):
        return f'Put it in quotes: {label}"{_spelled(value)}".', _spelled(value)
    return f"Write {_WANTED[key.kind]}.", None


def _listed(node: Node, key: Key, label: str) -> tuple[str, Any]:
    """Names with commas between them were probably meant as a list."""
    text = node.value if isinstance(node, ScalarNode) else None
    names = tuple(_COMMA.split(text.strip())) if isinstance(text, str) else ()
    if not names or not all(_fits_in(name, key) for name in names):
        return f"Write a list: {label}[first, second].", None
    return f"Write a list: {label}[{', '.join(names)}].", names


def _fits_in(name: str, key: Key) -> bool:
    """Whether a bare name could be an entry of the list."""
    is_bare = bool(_NAME.fullmatch(name)) and not is_credential(name)
    return is_bare and not isinstance(fit(ScalarNode(name), key.item or key, ""), Misfit)


def _unquoted(text: str, key: Key, label: str) -> tuple[str, Any]:
    meant = resolve(text.strip())
    if not isinstance(meant, str) and not isinstance(fit(ScalarNode(meant), key, ""), Misfit):
        return f"Remove the quotes: {label}{text.strip()}", meant
    if key.kind == "boolean" and text.lower() in _TRUE_OR_FALSE:
        meant = _TRUE_OR_FALSE[text.lower()]
        return f"In YAML 1.2 {text} is text. Write {label}{_spelled(meant)}", meant
    return f"Write {_WANTED[key.kind]}.", None


def expected_of(key: Key) -> Range | OneOf:
    if key.choices:
        return OneOf(key.choices)
    unbounded = key.maximum is None or key.maximum == LARGEST_INTEGER
    return Range(key.json_type, key.minimum, None if unbounded else key.maximum)


def meaning(key: Key) -> str:
    """What the key is for, with its unit: the reason line of every value problem."""
    unit = _UNITS.get(key.unit or "", key.unit)
    if not unit or not key.title or unit in key.title.lower():
        return key.title
    return f"{key.title.rstrip('.')} (in {unit})."


def _number(bound: float) -> str:
    return str(int(bound)) if bound == int(bound) else str(bound)
