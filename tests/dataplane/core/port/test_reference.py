"""The reference pages say what the declaration says, all of it, and nothing else."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Annotated, Literal

import msgspec

from dataplane.core.components import components
from dataplane.core.config import document_reference
from dataplane.core.port.declaration import Declaration, Kind, Refusal, key
from dataplane.core.port.gates import MARKER_NO_WIN
from dataplane.core.port.reference import pages
from dataplane.core.port.signals import Event, Gate


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    at_least: Annotated[int, key("Smallest output.", unit="tokens", ge=1, zero_means="all")] = 100
    share: Annotated[float, key("Part of it.", ge=0, le=1)] = 0.5
    how: Annotated[Literal["second", "first"], key("Way of doing it.")] = "second"
    only: Annotated[list[str] | None, key("Tools it looks at.")] = None
    by_tool: Annotated[Mapping[str, int], key("A size by tool.")] = msgspec.field(
        default_factory=dict
    )


def declaration(name: str = "shrink", kind: Kind = Kind.OFFLOAD) -> Declaration:
    return Declaration(
        name=name,
        kind=kind,
        summary="Shrinks a | b.",
        config=Config,
        gates=(Gate("too_small", "It is small."),),
        events=(Event("shrunk", "It was shrunk."),),
        refusals={"old": Refusal("config.removed_key", "It never worked.", "at_least")},
    )


def test_a_page_lists_keys_with_type_unit_bounds_default_and_meaning() -> None:
    page = pages([declaration()])["shrink.md"]

    assert "| `at_least` | int, tokens, ≥ 1 | `100` | Smallest output. 0: all. |" in page
    assert "| `share` | float, ≥ 0, ≤ 1 | `0.5` | Part of it. |" in page
    assert '| `how` | `second` or `first` | `"second"` | Way of doing it. |' in page
    assert "| `only` | list of str or null | `null` | Tools it looks at. |" in page
    assert "| `by_tool` | map of int | `{}` | A size by tool. |" in page


def test_a_page_lists_gates_events_and_refused_keys() -> None:
    page = pages([declaration()])["shrink.md"]

    assert "| `too_small` | It is small. |" in page
    assert "| `shrunk` | It was shrunk. |" in page
    assert "| `old` | It never worked. | at_least |" in page


def test_an_offload_also_shows_the_gates_that_the_pipeline_raises_for_it() -> None:
    offload = pages([declaration()])["shrink.md"]
    reformat = pages([declaration(kind=Kind.REFORMAT)])["shrink.md"]

    assert f"`{MARKER_NO_WIN.name}`" in offload
    assert f"`{MARKER_NO_WIN.name}`" not in reformat


def test_a_component_without_keys_has_no_table_of_keys() -> None:
    bare = Declaration(name="bare", kind=Kind.ENVELOPE, summary="Does it.", config=None, gates=())

    assert "## Keys" not in pages([bare])["bare.md"]


def test_the_index_links_every_page_in_name_order_and_escapes_bars() -> None:
    index = pages([declaration("zebra"), declaration("ant")])["README.md"]

    assert index.index("(ant.md)") < index.index("(zebra.md)")
    assert "Shrinks a \\| b." in index


class Inner(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    share: Annotated[float, key("Part.", ge=0, under=1)] = 0.5
    old: Annotated[int, key("Before.", deprecated="share")] | None = None
    names: list[Annotated[str, key("A name.")]] = []


class Outer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    block: Annotated[Inner, key("A block.")] = Inner()


def test_a_block_is_listed_by_the_keys_inside_it() -> None:
    page = pages([dataclasses.replace(declaration(), config=Outer)])["shrink.md"]

    assert "| `block.share` | float, ≥ 0, < 1 | `0.5` | Part. |" in page
    assert "| `block.old` | int or null | `null` | Before. Deprecated: write share. |" in page
    assert "| `block.names` | list of str | `[]` |" in page


def test_a_page_says_what_has_to_be_known_before_a_component_is_used() -> None:
    whole = dataclasses.replace(
        declaration(), lacks="an engine", alone=True, calls_model=True, injects="a tool"
    )
    page = pages([whole])["shrink.md"]

    assert "This build cannot run it: it needs an engine. Its keys are checked." in page
    assert "It must be the only component of its pipeline." in page
    assert "It may call a model, which spends money." in page
    assert "It adds to every request: a tool." in page


def test_the_page_of_a_document_has_its_own_keys_and_says_which_presets_run() -> None:
    lines = document_reference.page(components()).splitlines()

    assert '| `mode` | `sync` or `observe` | `"sync"` |' in "\n".join(lines)
    assert not [line for line in lines if line.startswith("| `components.")]
    (waiting,) = [line for line in lines if line.startswith("| `recovery.mode`")]
    assert "Not in effect in this build" in waiting
    (cache,) = (line for line in lines if line.startswith("| `cache` |"))
    (house,) = (line for line in lines if line.startswith("| `house` |"))
    assert cache.startswith("| `cache` | yes |")
    assert house.startswith("| `house` | no, ")
