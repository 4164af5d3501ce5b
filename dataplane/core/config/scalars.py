"""What a plain scalar means in the core schema of YAML 1.2.

Not that of YAML 1.1: `off`, `no`, `1_000` and `1:30` are text, `010` is ten, `0o10` is eight.
"""

from __future__ import annotations

import math
import re
import sys

from dataplane.core.config.tree import ScalarValue

_WORDS: dict[str, ScalarValue] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), math.inf),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), -math.inf),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan),
}
_DECIMAL = re.compile(r"[-+]?[0-9]+")
_OCTAL = re.compile(r"0o[0-7]+")
_HEXADECIMAL = re.compile(r"0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_MAX_DIGITS = 400  # a longer number is beyond every float, and slow to convert


def resolve(text: str) -> ScalarValue:
    """The value of an unquoted scalar. A number too large to hold is an infinity."""
    if text in _WORDS:
        return _WORDS[text]
    if _DECIMAL.fullmatch(text):
        return _integer(text, 10)
    if _OCTAL.fullmatch(text):
        return _integer(text, 8)
    if _HEXADECIMAL.fullmatch(text):
        return _integer(text, 16)
    return float(text) if _FLOAT.fullmatch(text) else text


def kind_of(value: ScalarValue) -> str:
    """The name of the core schema's type: null, bool, int, float or str."""
    names: dict[type, str] = {type(None): "null", bool: "bool", int: "int", float: "float"}
    return names.get(type(value), "str")


def _integer(text: str, radix: int) -> int | float:
    beyond = -math.inf if text.startswith("-") else math.inf
    if len(text) > _MAX_DIGITS:
        return beyond
    number = int(text.removeprefix("0o").removeprefix("0x"), radix)
    return number if abs(number) <= sys.float_info.max else beyond
