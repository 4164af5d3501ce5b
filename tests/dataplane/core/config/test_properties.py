"""What holds for every document: one form, layers in order, edits of one key (issue 4)."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataplane.core.config.canonical import canonical, encode
from dataplane.core.config.fix import set_key
from dataplane.core.config.layers import Context, Layer
from dataplane.core.config.parse import parse
from dataplane.core.config.problems import DocumentRef
from dataplane.core.config.registry import Key, leaves, registry
from dataplane.core.config.resolve import Effective, value_at
from dataplane.core.config.tree import pointer
from tests.dataplane.core.config.checking import RUNNABLE, checked
from tests.dataplane.core.config.test_anything import documents
from tests.examples import examples
from tests.house import ROOT

REGISTRY = registry(RUNNABLE.components)
SCALARS = {
    path: key
    for path, key in leaves(REGISTRY)
    if path[0] == "components" and key.kind in ("integer", "boolean") and not key.choices
}


@examples(100)
@given(documents())
def test_the_canonical_form_of_a_canonical_form_is_itself(document: dict[str, Any]) -> None:
    tree = parse(msgspec.json.encode(document)).tree
    assert tree is not None
    once = canonical(tree)

    again = parse(once).tree

    assert again is not None
    assert canonical(again) == once


def values_of(key: Key) -> st.SearchStrategy[Any]:
    if key.kind == "boolean":
        return st.booleans()
    low = int(key.minimum or 0)
    return st.integers(low, int(min(key.maximum or 999, low + 999)))


# Of components whose numbers do not depend on one another.
PIPELINE = ["format", "dedup", "failed_run", "smartcrush", "mask", "collapse", "extract"]
LAYERED = [
    path for path, key in sorted(SCALARS.items()) if path[1] in PIPELINE and key.kind == "integer"
]


@st.composite
def written(draw: st.DrawFn) -> dict[str, Any]:
    """Some keys of some components, each with a value that fits."""
    document: dict[str, Any] = {}
    for path in draw(st.lists(st.sampled_from(LAYERED), max_size=8)):
        block = document
        for step in path[:-1]:
            block = block.setdefault(str(step), {})
        block[str(path[-1])] = draw(values_of(SCALARS[path]))
    return document


@examples(60)
@given(written(), written(), written())
def test_the_highest_layer_that_writes_a_leaf_wins_whatever_the_others_write(
    server: dict[str, Any], organisation: dict[str, Any], tenant: dict[str, Any]
) -> None:
    """04 §P-01, over every whole number of several components."""
    layers = [msgspec.json.encode(one).decode() for one in (server, organisation, tenant)]
    found = resolved(layers)
    for path in LAYERED:
        said = [one for one in (tenant, organisation, server) if has(one, path)]
        if said:
            assert value_at(found.document, pointer(path)) == value_at(said[0], pointer(path))


def resolved(layers: list[str]) -> Effective:
    """A pipeline of everything that may stand together, as the tenant's text writes it."""
    server, organisation, tenant = layers
    refs = DocumentRef("server_default"), DocumentRef("org_default")
    below = tuple(Layer(ref, text) for ref, text in zip(refs, (server, organisation), strict=True))
    text = json.dumps({**json.loads(tenant), "pipeline": PIPELINE})
    outcome = checked(text, Context(RUNNABLE.components, below=below))
    assert outcome.effective is not None, outcome.errors
    return outcome.effective


def has(document: dict[str, Any], path: tuple[str | int, ...]) -> bool:
    for step in path:
        if not isinstance(document, dict) or step not in document:
            return False
        document = document[str(step)]
    return True


HEAD = "# ours\npipeline: []   # nothing yet\ncomponents:\n\n"


@examples(100)
@given(st.data(), st.sampled_from(sorted(SCALARS, key=str)))
def test_a_form_edit_of_any_key_changes_one_line_and_no_other_byte(
    data: st.DataObject, path: tuple[str, ...]
) -> None:
    """04 §2.10, over every whole number and switch of every component."""
    key, blocks = path[-1], path[1:-1]
    before, after = (data.draw(values_of(SCALARS[path])) for _ in range(2))
    lines = [f"{'  ' * depth}{name}:  # {name}" for depth, name in enumerate(blocks, 1)]
    margin = "  " * (len(blocks) + 1)
    rest = f"\n{margin}# below\nstore: {{ttl_seconds: 600}}  # ten minutes\n"
    top = HEAD + "\n".join(lines) + f"\n{margin}{key}:   "
    text = f"{top}{spelt(before)}   # why{rest}"

    assert set_key(text, pointer(path), after) == f"{top}{spelt(after)}   # why{rest}"


def spelt(value: object) -> str:
    return json.dumps(value)


@examples(80)
@given(documents(), documents())
def test_two_effective_documents_have_one_hash_exactly_when_they_have_one_form(
    left: dict[str, Any], right: dict[str, Any]
) -> None:
    """04 §P-05: the sources apart, which say where values come from and not what they are."""
    found = [checked(msgspec.json.encode(one), RUNNABLE).effective for one in (left, right)]
    forms = [form_of(one) for one in found if one is not None]
    hashes = [one.effective_hash for one in found if one is not None]

    assert len(set(hashes)) == len(set(forms))


def form_of(effective: Effective) -> bytes:
    return encode({name: one for name, one in effective.document.items() if name != "sources"})


PRINT_HASH = """
from dataplane.core.components import components
from dataplane.core.config.check import check
from dataplane.core.config.layers import Context
text = "pipeline: [mask, dedup, format]\\ncomponents: {mask: {keep_recent: 4}}\\n"
print(check(text, context=Context(components())).effective.effective_hash)
"""


@pytest.mark.parametrize("seed", ["0", "1", "4242"])
def test_another_process_finds_the_same_hash(seed: str) -> None:
    """04 §P-05: whatever the order of its sets."""
    run = subprocess.run(
        [sys.executable, "-c", PRINT_HASH], cwd=ROOT, env={"PYTHONHASHSEED": seed},
        check=True, capture_output=True, text=True,
    )  # fmt: skip

    here = checked("pipeline: [mask, dedup, format]\ncomponents: {mask: {keep_recent: 4}}\n")
    assert here.effective is not None
    assert run.stdout.strip() == here.effective.effective_hash
