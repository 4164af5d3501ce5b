"""Components whose keys a build checks that cannot run them: 01 §2, 02 §10."""

from __future__ import annotations

import dataclasses

import msgspec
import pytest

from dataplane.core.components import components
from dataplane.core.config.check import check
from dataplane.core.config.layers import Context
from dataplane.core.config.problems import Problem
from dataplane.core.port.declaration import Declaration

ONLY_DECLARED = [one for one in components().values() if not one.available]


def errors(document: object, declared: Declaration) -> list[Problem]:
    text = msgspec.json.encode(document)
    return list(check(text, context=Context({**components(), declared.name: declared})).errors)


def named(declared: Declaration) -> str:
    return declared.name


@pytest.mark.parametrize("declared", ONLY_DECLARED, ids=named)
def test_it_validates_as_a_block_and_is_refused_in_a_pipeline(declared: Declaration) -> None:
    block = {"pipeline": [], "components": {declared.name: {}}}

    assert errors(block, declared) == []
    (problem,) = errors({"pipeline": [declared.name]}, declared)
    assert (problem.code, problem.path) == ("config.component_unavailable", "/pipeline/0")
    assert declared.lacks in (problem.reason or "")
    assert [edit.op for edit in problem.replacement.edits] == ["delete"]


@pytest.mark.parametrize("declared", ONLY_DECLARED, ids=named)
def test_its_defaults_are_legal_where_it_runs(declared: Declaration) -> None:
    running = dataclasses.replace(declared, lacks="")

    assert errors({"pipeline": [declared.name]}, running) == []


@pytest.mark.parametrize("declared", components().values(), ids=named)
def test_no_name_of_a_gate_or_event_is_stated_twice(declared: Declaration) -> None:
    names = [gate.name for gate in declared.gates] + [event.name for event in declared.events]

    assert len(set(names)) == len(names)


@pytest.mark.parametrize("declared", ONLY_DECLARED, ids=named)
def test_what_it_says_of_itself_is_a_sentence(declared: Declaration) -> None:
    meanings = [gate.meaning for gate in declared.gates]
    meanings += [event.meaning for event in declared.events]

    assert all(meaning.endswith(".") for meaning in meanings)
    assert declared.summary.endswith(".")
