"""Every code has a document that raises it, at an exact place: 04 §2.11, V-01."""

from __future__ import annotations

import dataclasses

import pytest

from dataplane.core.components import components
from dataplane.core.config.check import check_document
from dataplane.core.config.deployment import Ability, Endpoint, Policy
from dataplane.core.config.layers import Context, Layer
from dataplane.core.config.presets import Preset
from dataplane.core.config.problems import ConfigError
from dataplane.core.config.wording import WORDINGS
from dataplane.core.port.declaration import Declaration
from tests.dataplane.core.config.catalogue import CODES
from tests.dataplane.core.config.checking import CONTEXT, RUNNABLE, checked, place
from tests.dataplane.core.config.raising import (
    KEYS,
    SERVER,
    SYNTAX,
    VALUES,
    block,
    here,
    presets,
    runnable,
)
from tests.dataplane.core.config.raising_together import ACROSS, ADVICE, ARCHIVED, REFERENCES

MAIN = Endpoint("main", "anthropic", "https://models.example")
FIXTURES = [*SYNTAX, *KEYS, *VALUES, *ACROSS, *REFERENCES, *ADVICE]
BESIDE = ("config.empty_pipeline - /pipeline", "config.empty_pipeline 1:1 /pipeline",
          "config.empty_document -")  # fmt: skip
WAITING = "config.not_in_effect "  # said of such a key whatever else its value deserves
# Forty-one times the same name is refused forty times for that as well.
REPEATED = {f"pipeline: [{', '.join(['mask'] * 41)}]\n": [(n, 12 + 6 * n) for n in range(1, 40)]}
OF_A_NODE = {"config.schema_too_new": 99, "config.schema_too_old": 0}


@pytest.mark.parametrize(("text", "context", "expected"), FIXTURES)
def test_a_code_is_raised_at_its_place(text: str, context: Context, expected: str) -> None:
    """04 §V-01: the whole list, with what is always said of a document that runs nothing."""
    found = [place(problem) for problem in checked(text, context).problems]

    def is_beside(one: str) -> bool:
        return one in BESIDE or one.startswith(WAITING)

    assert [one for one in found if one == expected or not is_beside(one)] == [
        expected,
        *(f"config.duplicate_component 1:{at} /pipeline/{n}" for n, at in REPEATED.get(text, ())),
    ]


@pytest.mark.parametrize(("code", "version"), OF_A_NODE.items())
def test_a_node_knows_the_schemas_that_it_can_read(code: str, version: int) -> None:
    with pytest.raises(ConfigError) as refused:
        check_document({"schema_version": version}, components())

    errors = [one for one in refused.value.problems if one.severity == "error"]
    assert [(one.code, one.path, one.line) for one in errors] == [(code, "/schema_version", None)]


def test_every_code_has_a_fixture() -> None:
    """04 §V-01: every code of 04 §2.5 and of 08, and no other, is worded and raised."""
    raised = {str(fixture.values[2]).split()[0] for fixture in FIXTURES} | set(OF_A_NODE)

    assert raised == set(WORDINGS) == set(CODES)


@pytest.mark.parametrize(("text", "context", "expected"), FIXTURES)
def test_every_problem_says_what_is_wrong_in_whole_sentences(
    text: str, context: Context, expected: str
) -> None:
    problems = [one for one in checked(text, context).problems if expected.startswith(one.code)]

    for problem in problems:
        assert problem.message.endswith(".")
        assert problem.reason is None or problem.reason.endswith(".")


@pytest.mark.parametrize(
    ("context", "severity"),
    [
        (runnable(policy=Policy(irreversible_marker_modes="deny")), "error"),
        (runnable(policy=Policy(irreversible_marker_modes="ack")), "warning"),
    ],
)
def test_policy_decides_how_grave_a_marker_without_an_original_is(
    context: Context, severity: str
) -> None:
    (problem,) = checked(block("mask", "marker_mode: off"), context).problems

    assert (problem.code, problem.severity) == ("config.irreversible_mode", severity)


@pytest.mark.parametrize(("starting", "severity"), [(True, "error"), (False, "warning")])
def test_a_node_that_lacks_a_component_blocks_a_rollout_and_not_a_save(
    *, starting: bool, severity: str
) -> None:
    able = Ability("able", frozenset(components()))
    context = here(nodes=(able, Ability("old", frozenset({"mask"}), schema=0)), starting=starting)

    (problem,) = checked("pipeline: [mask]\n", context).problems

    assert problem.severity == severity
    assert problem.message == "1 of 2 nodes cannot run this: old."


@pytest.mark.parametrize(
    ("by_manager", "allowed"), [(True, True), (False, False)], ids=["manager", "admin"]
)
def test_a_manager_may_enable_what_calls_a_model(*, by_manager: bool, allowed: bool) -> None:
    policy = Policy(llm_components="manager_only", by_manager=by_manager)

    outcome = checked("pipeline: [extract_llm]\n", runnable(policy=policy))

    assert (outcome.errors == ()) is allowed


@pytest.mark.parametrize("length", [4, 5])
def test_a_chain_of_presets_has_at_most_four_links(length: int) -> None:
    links = [Preset(f"p{i}", 1, f"extends: p{i + 1}\n") for i in range(1, length)]
    last = Preset(f"p{length}", 1, "pipeline: [mask]\n")

    outcome = checked("preset: p1\n", presets(*links, last))

    assert [problem.code for problem in outcome.errors] == ["config.preset_cycle"] * (length == 5)


def test_an_archived_preset_stays_with_those_who_named_it_before() -> None:
    context = dataclasses.replace(presets(ARCHIVED), named_before="old@3")

    assert checked("preset: old\n", context).warnings == ()


def test_the_places_inside_a_filter_are_said_as_well() -> None:
    text = block(
        "cmdfilter", "filters:", "  - |", "    schema_version: 1", "    filters:",
        "      x: {match: a, bogus: 1}", "      x2: {cap_reduce: 3}",
    )  # fmt: skip

    (problem,) = checked(text, RUNNABLE).errors

    assert [(inner.line, inner.column) for inner in problem.errors] == [(3, 17), (4, 3), (4, 3)]
    assert "line 3, column 17" in (problem.reason or "")


def test_a_lower_layer_that_names_what_this_build_lacks_is_blamed() -> None:
    below = (Layer(SERVER, "preset: mcp\n"),)

    outcome = checked("mode: sync\n", dataclasses.replace(CONTEXT, below=below))

    (problem,) = outcome.errors
    assert (problem.code, problem.path, problem.line) == (
        "config.component_unavailable", "/preset", None,
    )  # fmt: skip
    assert problem.document == SERVER


@pytest.mark.parametrize(
    "declared", [one for one in components().values() if one.calls_model], ids=lambda one: one.name
)
def test_what_calls_a_model_says_so(declared: Declaration) -> None:
    assert declared.name in {
        "extract_llm", "extract_llm_sweep", "summarize", "cache_aware_summarizer", "agentdiet",
    }  # fmt: skip


@pytest.mark.parametrize(
    "context",
    [
        here(endpoints=(MAIN,), chosen={"anthropic": "main"}, priced=("m*",)),
        runnable(policy=Policy(llm_components="deny")),
    ],
    ids=["chosen", "denied"],
)
def test_what_fits_its_place_is_left_in_peace(context: Context) -> None:
    assert checked("pipeline: [format]\nforce_model: m1\n", context).problems == ()


def test_nothing_is_said_about_a_deployment_that_is_not_known() -> None:
    text = block("summarize", "model: {source: config, model: m, base_url: 'https://a.example'}")

    assert checked(text, RUNNABLE).problems == ()
