"""The reference page of each component, written from its declaration and from nothing else.

Source: 07-house-style.md 5 (what is derived from a declaration).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import UnionType
from typing import Annotated, Literal, Union, get_args, get_origin, get_type_hints

import msgspec

from dataplane.core.port.declaration import Declaration, Kind
from dataplane.core.port.gates import OFFLOAD_GATES, RUN_GATES
from dataplane.core.port.signals import Event, Gate

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
    rows = [
        (f"[{one.name}]({one.name}.md)", one.kind.value, "" if one.lacks else "yes", one.summary)
        for one in declarations
    ]
    yield from table(("component", "kind", "runs in this build", "what it does"), rows)


def page_lines(declaration: Declaration) -> Iterator[str]:
    yield from (GENERATED, "", f"# {declaration.name}", "", declaration.summary, "")
    yield KIND_MEANS[declaration.kind]
    yield from facts_of(declaration)
    yield from section("Keys", ("key", "type", "default", "meaning"), key_rows(declaration))
    gates = (*declaration.gates, *shared_gates(declaration))
    yield from section("Gates", ("gate", "why a candidate is left alone"), meanings(gates))
    yield from section("Events", ("event", "what was done"), meanings(declaration.events))
    yield from section("Refused keys", ("key", "reason", "instead"), refusal_rows(declaration))


def facts_of(declaration: Declaration) -> Iterator[str]:
    """What else a reader has to know before putting it into a pipeline."""
    if declaration.lacks:
        yield ""
        yield f"This build cannot run it: it needs {declaration.lacks}. Its keys are checked."
    if declaration.alone:
        yield from ("", "It must be the only component of its pipeline.")
    if declaration.calls_model:
        yield from ("", "It may call a model, which spends money.")
    if declaration.injects:
        yield from ("", f"It adds to every request: {declaration.injects}.")


def shared_gates(declaration: Declaration) -> tuple[Gate, ...]:
    """Those that the pipeline raises on behalf of the component."""
    if declaration.kind is Kind.ENVELOPE:
        return ()
    return OFFLOAD_GATES if declaration.kind is Kind.OFFLOAD else RUN_GATES


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
    if declaration.config is not None:
        yield from struct_rows(declaration.config, "")


def struct_rows(struct: type[msgspec.Struct], prefix: str) -> Iterator[tuple[str, str, str, str]]:
    """The rows of a struct, those of a block inside it with the block's name in front."""
    hints = get_type_hints(struct, include_extras=True)
    for field in msgspec.structs.fields(struct):
        name = prefix + field.encode_name
        type_, meta = unannotated(hints[field.name])
        if isinstance(type_, type) and issubclass(type_, msgspec.Struct):
            yield from struct_rows(type_, f"{name}.")
        else:
            yield f"`{name}`", kind_of(type_, meta), default_of(field), meaning_of(meta)


def unannotated(hint: object) -> tuple[object, msgspec.Meta]:
    """The bare type and its annotation, which may stand inside `… | None`."""
    if get_origin(hint) in (Union, UnionType) and get_origin(get_args(hint)[0]) is Annotated:
        type_, meta = unannotated(get_args(hint)[0])
        return Union[type_, None], meta  # noqa: UP007  type_ is a value here
    if get_origin(hint) is not Annotated:
        return hint, msgspec.Meta()
    type_, *notes = get_args(hint)
    return type_, next((note for note in notes if isinstance(note, msgspec.Meta)), msgspec.Meta())


def kind_of(type_: object, meta: msgspec.Meta) -> str:
    """Type, unit and bounds in words: `int, tokens, ≥ 1`."""
    unit = (meta.extra or {}).get("unit")
    bounds = [f"≥ {meta.ge:g}"] if meta.ge is not None else []
    bounds += [f"≤ {meta.le:g}"] if meta.le is not None else []
    under = (meta.extra or {}).get("under")
    bounds += [f"< {under:g}"] if isinstance(under, int | float) else []
    return ", ".join([name_of(type_), *([str(unit)] if unit else []), *bounds])


def name_of(type_: object) -> str:
    """A type as a reader of a document would say it; choices in the order of their declaration."""
    origin, inner = get_origin(type_), get_args(type_)
    if origin is Literal:
        return " or ".join(f"`{choice}`" for choice in inner)
    if origin in (Union, UnionType):
        return " or ".join(name_of(choice) for choice in inner)
    if origin is Annotated:
        return name_of(inner[0])
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
    facts = meta.extra or {}
    said = [meta.description or ""]
    said += [f"0: {facts['zero_means']}."] if facts.get("zero_means") else []
    said += [f"Deprecated: write {facts['deprecated']}."] if facts.get("deprecated") else []
    return " ".join(said)
