"""What became of removed and refused keys, line by line: 04 §2.6, 2.7 and 2.11."""

from __future__ import annotations

from typing import Any

import pytest

from dataplane.core.config.fix import fixed
from tests.dataplane.core.config.catalogue import REFUSED, REMOVED
from tests.dataplane.core.config.checking import RUNNABLE, checked, comments, place, values

LISTED = REMOVED | REFUSED
LINES = {
    "extract_llm-per_output-true": ("extract_llm", "per_output: true", [], ["extract_llm"]),
    "extract_llm-per_output-false": (
        "extract_llm", "per_output: false", [], ["extract_llm_sweep"],
    ),
    "extract_llm-cold_cache-true": (
        "extract_llm", "cold_cache: true", [], ["extract_llm", "extract_llm_sweep"],
    ),
    "extract_llm-cold_cache-false": ("extract_llm", "cold_cache: false", [], ["extract_llm"]),
    "extract_llm-cold_cache.enabled": (
        "extract_llm", "cold_cache: {enabled: true}", [], ["extract_llm", "extract_llm_sweep"],
    ),
    "extract_llm-cold_cache.min_tokens": (
        "extract_llm", "cold_cache: {min_tokens: 1500}", ["extract_llm_sweep.min_tokens"],
        ["extract_llm"],
    ),
    "extract_llm-cold_cache.min_idle_seconds": (
        "extract_llm", "cold_cache: {min_idle_seconds: 5}", [], ["extract_llm"],
    ),
    "extract_llm-cold_cache.max_calls": (
        "extract_llm", "cold_cache: {max_calls: 2}", [], ["extract_llm"],
    ),
    **{
        f"extract_llm_sweep-{key}": ("extract_llm_sweep", f"{key}: 1", [], ["extract_llm_sweep"])
        for key in (
            "per_output", "cold_cache", "enabled", "model", "strategy", "rewrite",
            "aggressiveness", "max_chars", "context", "context_messages", "max_calls",
            "economic_gate", "min_idle_seconds", "model_max_input_tokens",
        )
    },
    **{
        f"{component}-cache_state-{value}": (
            component, f"trigger: {{cache_state: {value}}}", [f"{component}.trigger.cache_state"],
            [component],
        )
        for component in ("summarize", "cache_aware_summarizer")
        for value in ("cold", "pre_expiry_or_cold")
    },
}  # fmt: skip


@pytest.mark.parametrize(
    ("component", "line", "left", "pipeline"), LINES.values(), ids=LINES.keys()
)
def test_the_fix_of_a_removed_or_refused_key_leaves_a_valid_document(
    component: str, line: str, left: list[str], pipeline: list[str]
) -> None:
    """04 §V-06."""
    text = (
        f"# head\npipeline:  # order\n  - {component}  # first\ncomponents:\n"
        f"  {component}:  # block\n    # above\n    {line}  # beside\n    # below\n# foot\n"
    )
    (problem,) = checked(text, RUNNABLE).errors
    assert place(problem) == placed(component, line)

    after, outcome = fixed(text, problem, RUNNABLE)

    assert outcome.errors == ()
    assert comments(after) == comments(text)
    assert values(after)["pipeline"] == pipeline
    written = [
        ".".join(path) for path in leaves(values(after).get("components") or {}) if len(path) > 1
    ]
    assert written == left


def named(component: str, line: str) -> tuple[str, str, str]:
    """Component, dotted key and value of a line of the table: "a: {b: 1}" is a.b."""
    key, _, rest = line.partition(": ")
    if rest.startswith("{"):
        inner, _, rest = rest.strip("{}").partition(": ")
        key = f"{key}.{inner}"
    return component, key, rest


def placed(component: str, line: str) -> str:
    """The code that 04 §2.6 or 2.7 gives it, at the key, or at the value that was removed."""
    _, key, value = named(component, line)
    (code,) = {
        code for *one, code in LISTED if one in ([component, key, value], [component, key, ""])
    }
    column = 5 + (line.index("{") + 1 if "{" in line else 0)
    column += len(key.split(".")[-1]) + 2 if code == "config.removed_value" else 0
    return f"{code} 7:{column} /components/{component}/{key.replace('.', '/')}"


def test_every_removed_and_refused_key_of_the_specification_is_in_the_table() -> None:
    tried = [list(named(component, line)) for component, line, *_ in LINES.values()]

    assert [one for *one, _ in LISTED if not any(_is(one, other) for other in tried)] == []


def _is(listed: list[str], tried: list[str]) -> bool:
    return tried[:2] == listed[:2] and listed[2] in ("", tried[2])


def leaves(value: Any, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    if not isinstance(value, dict):
        return [path]
    return [leaf for name, below in value.items() for leaf in leaves(below, (*path, name))]
