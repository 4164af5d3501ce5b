"""Apply a problem's replacement to the text, and what the form does to single keys.

Whatever an edit does to the text is read again and compared with what it should have done to the
values: a text that would mean anything else, or would have lost a comment, is not returned.
Source: 04-controlplane-and-dashboard.md 2.4, 2.10 and 2.11 (V-05, V-06).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from dataplane.core.config.check import Checked, check
from dataplane.core.config.edits import edited
from dataplane.core.config.layers import Context
from dataplane.core.config.problems import Edit, Problem
from dataplane.core.config.source import EditError, Source
from dataplane.core.config.tree import steps_of, to_values


def apply(text: str, edits: Iterable[Edit]) -> str:
    """The text after all edits in order; EditError when one cannot be made faithfully."""
    for edit in edits:
        after = edited(text, edit)
        _verify(text, after, edit)
        text = after
    return text


def fixed(text: str, found: Problem, context: Context) -> tuple[str, Checked]:
    """Apply fix: the text with one problem mended, and what is to be said of it now."""
    after = apply(text, found.replacement.edits)
    return after, check(after, context=context)


def mended(text: str, context: Context) -> tuple[str, Checked]:
    """Apply every fix there is for errors, one after the other, until none is left.

    An error whose fix cannot be made stays.
    """
    outcome = check(text, context=context)
    for _ in range(len(outcome.errors) + 1):
        after = _first_fix(text, outcome)
        if after is None:
            break
        text, outcome = after, check(after, context=context)
    return text, outcome


def set_key(text: str, path: str, value: Any) -> str:
    """Write one key, with the blocks around it that are missing."""
    return apply(text, [Edit("set", path, value=value)])


def clear_key(text: str, path: str) -> str:
    """Delete one key, so that its default counts; a block that is left empty stays."""
    if Source(text).locate(steps_of(path)) is None:
        return text
    return apply(text, [Edit("delete", path)])


def _first_fix(text: str, outcome: Checked) -> str | None:
    for found in outcome.errors:
        if found.replacement.edits:
            try:
                return apply(text, found.replacement.edits)
            except EditError:
                continue
    return None


def _verify(before: str, after: str, edit: Edit) -> None:
    old, new = Source(before), Source(after)
    if new.faults > old.faults:
        raise EditError("The document could not be read after this change.")
    wanted = _changed(_values(old), edit)
    if _comparable(_values(new)) != _comparable(wanted):
        raise EditError("This change would touch something else as well; make it by hand.")
    lost = Counter(said for _, said in old.comments()) - Counter(said for _, said in new.comments())
    if lost:
        raise EditError("This change would lose a comment; make it by hand.")


def _values(source: Source) -> Any:
    return to_values(source.tree) if source.tree else {}


def _changed(values: Any, edit: Edit) -> Any:
    """What an edit does to plain values."""
    steps = steps_of(edit.path)
    if edit.op == "delete" and edit.anchor:
        return values  # a repeated key has no value of its own
    if edit.op == "set":
        return _put(values, steps, edit.value)
    if edit.op == "insert_after":
        return _put(values, steps, _longer(_at(values, steps), edit))
    value = _at(values, steps)
    values = _without(values, steps)
    if edit.op == "delete":
        return values
    to = steps_of(edit.to or "") if edit.op == "move" else (*steps[:-1], edit.to or "")
    return _put(values, to, value)


def _longer(names: Any, edit: Edit) -> list[Any]:
    at = names.index(edit.anchor) if edit.anchor in names else len(names) - 1
    return [*names[: at + 1], edit.value, *names[at + 1 :]]


def _at(values: Any, steps: Sequence[str]) -> Any:
    for step in steps:
        values = values[int(step)] if isinstance(values, list) else values[step]
    return values


def _put(values: Any, steps: Sequence[str], value: Any) -> Any:
    if not steps:
        return value
    if isinstance(values, list):
        at = int(steps[0])
        return [*values[:at], _put(values[at], steps[1:], value), *values[at + 1 :]]
    values = values or {}
    return {**values, steps[0]: _put(values.get(steps[0]), steps[1:], value)}


def _without(values: Any, steps: Sequence[str]) -> Any:
    if isinstance(values, list):
        at = int(steps[0])
        below = [_without(values[at], steps[1:])] if len(steps) > 1 else []
        return [*values[:at], *below, *values[at + 1 :]]
    if len(steps) == 1:
        return {name: value for name, value in values.items() if name != steps[0]}
    return {**values, steps[0]: _without(values[steps[0]], steps[1:])}


def _comparable(values: Any) -> str:
    """Values as text, in which a block without keys and nothing at all are the same."""
    return json.dumps(_pruned(values), sort_keys=True)


def _pruned(values: Any) -> Any:
    if isinstance(values, dict):
        pruned = {name: _pruned(value) for name, value in values.items()}
        return {name: value for name, value in pruned.items() if value not in (None, {})}
    if isinstance(values, list | tuple):
        return [_pruned(value) for value in values]
    return values
