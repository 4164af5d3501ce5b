"""The one way to check a document: editor, API, command line and node call these functions.

Source: 04-controlplane-and-dashboard.md 2.1 and 3.3; 07-house-style.md 4.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

from msgspec.structs import replace

from dataplane.core.config.canonical import canonical
from dataplane.core.config.layers import EMPTY, Context, identical_to_below, resolve
from dataplane.core.config.parse import Parsed, parse, position
from dataplane.core.config.problems import (
    MAX_PROBLEMS,
    ConfigError,
    DocumentRef,
    Problem,
    capped,
    of,
    problem,
)
from dataplane.core.config.registry import OLDEST_SCHEMA, SCHEMA_VERSION, Key, registry
from dataplane.core.config.resolve import Effective, steps
from dataplane.core.config.tree import (
    MAX_DEPTH,
    MappingNode,
    Node,
    TooDeepError,
    from_values,
    scalars,
)
from dataplane.core.config.validate import validate
from dataplane.core.port.declaration import Declaration, PipelineStep, Refusal
from dataplane.core.resource import Host
from dataplane.core.text.secrets import HIDDEN, credentials_in

_ENVELOPE = ("schema_version", "sources")
_PRESET_ON_A_NODE = Refusal(
    "config.refused_key",
    "A node runs the document it is given; presets are resolved before it is sent.",
    "Send the effective document.",
)


@dataclass(frozen=True, slots=True)
class Checked:
    """The outcome. canonical, effective and steps are there when there is no error.

    problems: in the order of the text; truncated when there were more than can be shown.
    """

    problems: tuple[Problem, ...]
    truncated: bool
    tree: MappingNode | None
    canonical: bytes | None = None
    effective: Effective | None = None
    steps: tuple[PipelineStep, ...] = ()

    @property
    def errors(self) -> tuple[Problem, ...]:
        return of("error", self.problems)

    @property
    def warnings(self) -> tuple[Problem, ...]:
        return of("warning", self.problems)

    @property
    def advice(self) -> tuple[Problem, ...]:
        return of("advice", self.problems)


@dataclass(frozen=True, slots=True)
class Compiled:
    """What a node runs for one variant; problems holds warnings and advice."""

    steps: tuple[PipelineStep, ...]
    host: Host
    effective: Effective
    problems: tuple[Problem, ...]


def check(text: bytes | str, *, context: Context) -> Checked:
    """Check one document in its context: every problem at once, whatever the bytes."""
    root = registry(context.components, preset=context.is_preset)
    parsed = parse(text)
    validated = validate(parsed.tree or EMPTY, root)
    found = [*parsed.problems, *validated.problems, *_secrets(parsed)]
    resolved: Effective | None = None
    if _is_worth_resolving(parsed, found):
        resolved, across = resolve(validated, root, context)
        found += across + list(identical_to_below(parsed.tree, root, context))
    found = [_located(problem, context.document) for problem in found]
    problems, truncated = capped(found)
    if of("error", problems) or resolved is None:
        return Checked(problems, truncated, parsed.tree)
    body = canonical(parsed.tree or EMPTY, root)
    built = steps(resolved.document, context.components)
    return Checked(problems, truncated, parsed.tree, body, resolved, built)


def _is_worth_resolving(parsed: Parsed, found: list[Problem]) -> bool:
    """False when the text could not be read, or when its own errors fill the answer already."""
    errors = of("error", found)
    return len(errors) <= MAX_PROBLEMS and (parsed.tree is not None or not errors)


def check_document(document: Mapping[str, Any], components: Mapping[str, Declaration]) -> Compiled:
    """Check and build an effective document, as a node receives it. ConfigError.

    The same rules as `check`, without positions; a key that is absent means its default.
    """
    ref = DocumentRef("effective")
    body = {name: value for name, value in document.items() if name not in _ENVELOPE}
    try:
        tree = from_values(body)
    except TooDeepError:
        raise ConfigError([problem("config.too_deep", (), None, limit=MAX_DEPTH)]) from None
    root = _node_root(registry(components))
    validated = validate(tree if isinstance(tree, MappingNode) else EMPTY, root)
    context = Context(components, (), (), ref)
    resolved, across = resolve(validated, root, context)
    found = [*_schema(document), *validated.problems, *_secrets_in(tree), *across]
    problems, _ = capped(_located(problem, ref) for problem in found)
    if of("error", problems):
        raise ConfigError(problems)
    return Compiled(steps(resolved.document, components), resolved.host, resolved, problems)


def _node_root(root: Key) -> Key:
    fields = {name: key for name, key in root.fields.items() if name != "preset"}
    return dataclasses.replace(
        root, fields=fields, refusals={**root.refusals, "preset": _PRESET_ON_A_NODE}
    )


def _schema(document: Mapping[str, Any]) -> Iterator[Problem]:
    version = document.get("schema_version", SCHEMA_VERSION)
    path = ("schema_version",)
    if not isinstance(version, int) or version > SCHEMA_VERSION:
        facts = {"version": version, "known": SCHEMA_VERSION}
        yield problem("config.schema_too_new", path, None, **facts)
    elif version < OLDEST_SCHEMA:
        facts = {"version": version, "known": OLDEST_SCHEMA}
        yield problem("config.schema_too_old", path, None, **facts)


def _secrets(parsed: Parsed) -> Iterator[Problem]:
    """Credentials in values, then in what is not a value: keys, comments, broken documents."""
    inside = []
    for found in _secrets_in(parsed.tree or EMPTY):
        inside.append(range(found.line or 0, (found.end_line or 0) + 1))
        yield found
    for start, end, what in islice(credentials_in(parsed.text), MAX_PROBLEMS):
        span = position(parsed.text, start, end)
        if not any(span.line in lines for lines in inside):
            yield replace(problem("config.inline_secret", (), span, what=what), value=HIDDEN)


def _secrets_in(tree: Node) -> Iterator[Problem]:
    for path, node in scalars(tree):
        found = credentials_in(node.value) if isinstance(node.value, str) else iter(())
        for _, _, what in islice(found, 1):
            yield replace(problem("config.inline_secret", path, node.span, what=what), value=HIDDEN)


def _located(found: Problem, ref: DocumentRef) -> Problem:
    return found if found.document else replace(found, document=ref)
