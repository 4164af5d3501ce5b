"""The form view of a document, drawn from the registry, and its edits of the text (04 §2.10).

No key is named here. Only what is written is a value; what is not written shows its default.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dataplane.core.components import components
from dataplane.core.config import fix
from dataplane.core.config.diff import key_at
from dataplane.core.config.parse import parse
from dataplane.core.config.registry import LARGEST_INTEGER, Key, leaves, registry
from dataplane.core.config.resolve import Effective, value_at
from dataplane.core.config.scalars import resolve
from dataplane.core.config.source import EditError
from dataplane.core.config.tree import pointer, steps_of, to_values
from dataplane.core.port.declaration import Declaration

CONTROLS = {
    "integer": "number",
    "number": "number",
    "decimal": "number",
    "boolean": "toggle",
    "string": "text",
    "list": "list",
}


@dataclass(frozen=True, slots=True)
class Field:
    """One control. control: number, toggle, text, list or choice.

    written: what the text says, None for nothing (a secret is never shown); effective: what runs
    then; default: the registry's. minimum and maximum are inclusive, under is not. lacks: what
    this build is missing to obey it; of a component its group says so.
    """

    path: str
    name: str
    control: str
    title: str
    written: Any
    effective: Any
    default: Any
    unit: str = ""
    choices: tuple[str | int, ...] = ()
    minimum: float | None = None
    maximum: float | None = None
    under: float | None = None
    step: str = "any"
    zero_means: str = ""
    secret: bool = False
    is_written: bool = False
    lacks: str = ""


@dataclass(frozen=True, slots=True)
class Group:
    """The keys of one component, or of the document itself with component "".

    place: 1-based in the effective pipeline, None outside. lacks: why it cannot run here, or "".
    """

    component: str
    title: str
    fields: tuple[Field, ...]
    place: int | None = None
    kind: str = ""
    calls_model: bool = False
    lacks: str = ""


def form_of(source: str, effective: Effective | None, *, is_preset: bool = False) -> list[Group]:
    """Every key there is, with what the text says; effective None: the text has errors.

    The document's own keys come first, then the components of the pipeline in their order, then
    the others by name.
    """
    known = components()
    root = registry(known, preset=is_preset)
    tree = parse(source).tree
    written = to_values(tree) if tree else {}
    running = effective.document if effective else {}
    fields: dict[str, list[Field]] = {}
    for path, key in leaves(root):
        component = str(path[1]) if path[0] == "components" else ""
        if path != ("pipeline",):
            fields.setdefault(component, []).append(_field(pointer(path), key, written, running))
    pipeline = effective.pipeline if effective else _listed(written)
    groups = [Group("", "The document", tuple(fields.get("", ())))]
    names = [name for name in pipeline if name in known]
    for name in (*names, *sorted(set(known) - set(names))):
        groups.append(_group(known[name], fields.get(name, []), pipeline))
    return groups


def _group(declared: Declaration, fields: Sequence[Field], pipeline: Sequence[str]) -> Group:
    name = declared.name
    return Group(
        name,
        declared.summary,
        tuple(fields),
        place=pipeline.index(name) + 1 if name in pipeline else None,
        kind=declared.kind.value,
        calls_model=declared.calls_model,
        lacks="" if declared.available else declared.lacks,
    )


def _listed(written: Any) -> list[str]:
    pipeline = written.get("pipeline") if isinstance(written, dict) else None
    return (
        [name for name in pipeline if isinstance(name, str)] if isinstance(pipeline, list) else []
    )


def _field(path: str, key: Key, written: Any, running: Any) -> Field:
    found = value_at(written, path)
    steps = steps_of(path)
    return Field(
        path=path,
        name=".".join(steps[2:] if steps[0] == "components" else steps),
        control="choice" if key.choices else CONTROLS[key.kind],
        title=key.title,
        written=None if key.secret else found,
        effective=None if key.secret else value_at(running, path),
        default=key.default if key.kind != "decimal" else _number(key.default),
        unit=key.unit or "",
        choices=key.choices,
        minimum=key.minimum,
        maximum=None if key.maximum == LARGEST_INTEGER else key.maximum,
        under=key.under,
        step="1" if key.kind == "integer" else "any",
        zero_means=key.zero_means or "",
        secret=key.secret,
        is_written=found is not None,
        lacks="" if steps[0] == "components" else key.lacks,
    )


def _number(value: Any) -> float | None:
    return None if value is None else float(value)


def edited(source: str, fields: Mapping[str, Any], pipeline: Sequence[str] | None = None) -> str:
    """The text after the form's changes and no other: comments, order and unknown keys stay.

    fields: JSON pointer to its new value; None deletes the key. pipeline: the whole new list.
    EditError when a change cannot be made without touching something else.
    """
    try:
        for path, value in fields.items():
            if not path.startswith("/") or not path.strip("/"):
                raise EditError("A field is named by its JSON pointer.")
            clears = value is None
            source = fix.clear_key(source, path) if clears else fix.set_key(source, path, value)
        return source if pipeline is None else fix.set_key(source, "/pipeline", list(pipeline))
    except EditError:
        raise
    except (LookupError, TypeError, ValueError) as odd:
        raise EditError("This change does not fit the text.") from odd


def posted(raw: Mapping[str, str], *, is_preset: bool = False) -> dict[str, Any]:
    """Form values by pointer as typed values: "" deletes the key. Unknown keys are left out.

    A text that is no number stays a text, so that the validator names it.
    """
    root = registry(components(), preset=is_preset)
    return dict(_typed(raw, root))


def _typed(raw: Mapping[str, str], root: Key) -> Iterator[tuple[str, Any]]:
    for path, text in raw.items():
        key = key_at(root, steps_of(path)) if path.startswith("/") else None
        if key is None or key.kind == "block":
            continue
        if key.secret and not text:
            continue  # an empty box means unchanged: a secret is never shown
        yield path, _value(text, key)


def _value(text: str, key: Key) -> Any:
    if not text.strip():
        return None
    if key.kind == "list":
        return [line.strip() for line in text.splitlines() if line.strip()]
    return text if key.kind == "string" and not _is_number_choice(key) else resolve(text.strip())


def _is_number_choice(key: Key) -> bool:
    return bool(key.choices) and not isinstance(key.choices[0], str)
