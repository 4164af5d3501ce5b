"""The reference page of each component, written from its declaration and from nothing else.

Source: 07-house-style.md section 5 (what is derived from a declaration).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import UnionType
from typing import Annotated, Literal, Union, get_args, get_origin, get_type_hints

import msgspec

from dataplane.core.declaration import Declaration, Event, Gate, Kind
from dataplane.core.gates import OFFLOAD_GATES

GENERATED = "<!-- Written by `make docs` from the component's declaration; edit that instead. -->"
KIND_MEANS = {
    Kind.REFORMAT: "Reformat: the same information in fewer tokens; nothing is stashed.",
    Kind.OFFLOAD: "Offload: content leaves the request; its original is stashed and expandable.",
    Kind.ENVELOPE: "Envelope: rewrites a part of the request outside its messages.",
}


def pages(declarations: Iterable[Declaration]) -> dict[str, str]:
    """File name to Markdown text: one page a component, and an index in name order."""
    ordered = sorted(declarations, key=lambda declaration: declaration.name)
    written = {f"{one.name}.md": "\n".join(page_lines(one)) + "\n" for one in ordered}
    return {"README.md": "\n".join(index_lines(ordered)) + "\n", **written}


def index_lines(declarations: Iterable[Declaration]) -> Iterator[str]:
    yield from (GENERATED, "", "# Components", "")
    rows = [(f"[{one.name}]({one.name}.md)", one.kind.value, one.summary) for one in declarations]
    yield from table(("component", "kind", "what it does"), rows)


def page_lines(declaration: Declaration) -> Iterator[str]:
    yield from (GENERATED, "", f"# {declaration.name}", "", declaration.summary, "")
    yield KIND_MEANS[declaration.kind]
    yield from section("Keys", ("key", "type", "default", "meaning"), key_rows(declaration))
    gates = (*declaration.gates, *shared_gates(declaration))
    yield from section("Gates", ("gate", "why a candidate is left alone"), meanings(gates))
    yield from section("Events", ("event", "what was done"), meanings(declaration.events))
    yield from section("Refused keys", ("key", "reason", "instead"), refusal_rows(declaration))


def shared_gates(declaration: Declaration) -> tuple[Gate, ...]:
    """Those that the pipeline raises on behalf of the component."""
    return OFFLOAD_GATES if declaration.kind is Kind.OFFLOAD else ()


def section(title: str, head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    """A headed table; nothing at all when there are no rows."""
    if found := list(rows):
        yield from ("", f"## {title}", "")
        yield from table(head, found)


def table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    yield row(head)
    yield row(("---",) * len(head))
    yield from (row(cells) for cells in rows)


def row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def meanings(named: Iterable[Gate | Event]) -> Iterator[tuple[str, str]]:
    seen: set[str] = set()
    for one in named:
        if one.name not in seen:
            seen.add(one.name)
            yield f"`{one.name}`", one.meaning


def refusal_rows(declaration: Declaration) -> Iterator[tuple[str, str, str]]:
    for name, refusal in sorted(declaration.refusals.items()):
        yield f"`{name}`", refusal.reason, refusal.replacement


def key_rows(declaration: Declaration) -> Iterator[tuple[str, str, str, str]]:
    """One row a configuration key, in the order in which the component states them."""
    if declaration.config is None:
        return
    hints = get_type_hints(declaration.config, include_extras=True)
    for field in msgspec.structs.fields(declaration.config):
        type_, meta = unannotated(hints[field.name])
        yield f"`{field.encode_name}`", kind_of(type_, meta), default_of(field), meaning_of(meta)


def unannotated(hint: object) -> tuple[object, msgspec.Meta]:
    """The bare type and its annotation; an empty annotation when there is none."""
    if get_origin(hint) is not Annotated:
        return hint, msgspec.Meta()
    type_, *notes = get_args(hint)
    return type_, next((note for note in notes if isinstance(note, msgspec.Meta)), msgspec.Meta())


def kind_of(type_: object, meta: msgspec.Meta) -> str:
    """Type, unit and bounds in words: `int, tokens, ≥ 1`."""
    unit = (meta.extra or {}).get("unit")
    bounds = [f"≥ {meta.ge:g}"] if meta.ge is not None else []
    bounds += [f"≤ {meta.le:g}"] if meta.le is not None else []
    return ", ".join([name_of(type_), *([str(unit)] if unit else []), *bounds])


def name_of(type_: object) -> str:
    """A type as a reader of a document would say it; choices in the order of their declaration."""
    origin, inner = get_origin(type_), get_args(type_)
    if origin is Literal:
        return " or ".join(f"`{choice}`" for choice in inner)
    if origin in (Union, UnionType):
        return " or ".join(name_of(choice) for choice in inner)
    if origin in (list, tuple):
        return f"list of {name_of(inner[0])}"
    if origin in (dict, Mapping):
        return f"map of {name_of(inner[1])}"
    return "null" if type_ is type(None) else getattr(type_, "__name__", str(type_))


def default_of(field: msgspec.structs.FieldInfo) -> str:
    """The default as a document would spell it."""
    if field.required:
        return "required"
    value = field.default if field.default is not msgspec.NODEFAULT else field.default_factory()
    return f"`{msgspec.json.encode(value).decode()}`"


def meaning_of(meta: msgspec.Meta) -> str:
    zero_means = (meta.extra or {}).get("zero_means")
    return (meta.description or "") + (f" 0: {zero_means}." if zero_means else "")
