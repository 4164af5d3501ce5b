"""What the tests of this folder share: declarations made for them, and a short way to check."""

from __future__ import annotations

import dataclasses
from typing import Annotated, Any, Literal

import msgspec

from dataplane.core.components import components
from dataplane.core.config.check import Checked, check
from dataplane.core.config.layers import Context
from dataplane.core.config.parse import parse
from dataplane.core.config.problems import Problem
from dataplane.core.config.source import Source
from dataplane.core.config.tree import to_values
from dataplane.core.port.declaration import Declaration, Kind, Refusal, key

CONTEXT = Context(components())
# Every component as if this build could run it, for what is said of documents beyond that.
RUNNABLE = Context(
    {name: dataclasses.replace(declared, lacks="") for name, declared in components().items()}
)


class Model(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    source: Annotated[Literal["incoming", "config"], key("Which model.")] = "incoming"
    api_key: Annotated[str, key("Its key.", secret=True)] | None = None


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One key of every kind that a component may declare."""

    size: Annotated[int, key("Size.", ge=1, unit="tokens")] = 10
    share: Annotated[float, key("Share.", ge=0, le=1)] = 0.5
    budget: Annotated[int, key("Calls.", ge=0, zero_means="unlimited")] = 0
    tri: Annotated[bool, key("Unset is a third instruction.")] | None = None
    names: Annotated[
        list[Annotated[str, msgspec.Meta(pattern="^[a-z]+$", max_length=8)]],
        key("Names."),
        msgspec.Meta(max_length=3),
    ] = []
    model: Annotated[Model, key("The model.")] = Model()


EVERYTHING = Declaration(
    name="everything", kind=Kind.OFFLOAD, summary="For tests.", config=Config, gates=(),
    refusals={
        "per_output": Refusal("config.removed_key", "Presence is the switch.", "Delete it."),
        "cold_cache": Refusal("config.removed_key", "Another component now.", "Add sweep."),
        "cold_cache.min_tokens": Refusal("config.removed_key", "It moved.", "sweep.min_tokens"),
        "modes": Refusal("config.refused_key", "There is one mode.", "Delete it."),
        "model.provider": Refusal("config.refused_key", "The route decides.", "Delete it."),
    },
)  # fmt: skip
WIDE = Context({**components(), "everything": EVERYTHING})


def place(problem: Problem) -> str:
    """ "config.below_min 3:5 /store/ttl_seconds", with - for no position."""
    at = "-" if problem.line is None else f"{problem.line}:{problem.column}"
    return f"{problem.code} {at} {problem.path}".rstrip()


def checked(text: bytes | str, context: Context = CONTEXT) -> Checked:
    return check(text, context=context)


def places(text: bytes | str, context: Context = CONTEXT) -> list[str]:
    return [place(problem) for problem in checked(text, context).problems]


def codes(text: bytes | str, context: Context = CONTEXT) -> list[str]:
    return [problem.code for problem in checked(text, context).problems]


def only(text: bytes | str, context: Context = CONTEXT) -> Problem:
    (problem,) = checked(text, context).problems
    return problem


def comments(text: str) -> list[str]:
    return sorted(said for _, said in Source(text).comments())


def values(text: str) -> Any:
    tree = parse(text).tree
    return to_values(tree) if tree else {}
