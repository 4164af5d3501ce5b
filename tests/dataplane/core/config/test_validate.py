"""Keys and values of a document on its own: 04 §2.4, 2.5 and 2.8; 08 §K-01 to K-03."""

from __future__ import annotations

import msgspec
import pytest

from dataplane.core.components import components
from dataplane.core.config.check import check_document
from dataplane.core.config.problems import MAX_PROBLEMS, ConfigError, OneOf, Range, Suggestion
from dataplane.core.text.secrets import HIDDEN
from tests.dataplane.core.config.checking import CONTEXT, WIDE, checked, codes, only, places


def of_mask(line: str) -> str:
    return f"pipeline: [mask]\ncomponents:\n  mask:\n    {line}\n"


def of_everything(line: str) -> str:
    return f"pipeline: [everything]\ncomponents:\n  everything:\n    {line}\n"


def test_a_document_with_ten_faults_gets_ten_errors() -> None:
    """04 §V-02."""
    text = (
        "pipeline: [mask, colapse, mask]\n"
        "mode: async\n"
        "piplines: []\n"
        "inject_expand: sometimes\n"
        "components:\n"
        "  mask:\n"
        '    keep_recent: "3"\n'
        "    min_tokens: 0\n"
        "    max_lines: 1\n"
        "  cachesplit: {a: 1}\n"
        "store: {ttl_seconds: 10}\n"
        "preset: nothing\n"
    )

    assert places(text) == [
        "config.unknown_component 1:18 /pipeline/1",
        "config.duplicate_component 1:27 /pipeline/2",
        "config.unsupported_value 2:7 /mode",
        "config.unknown_key 3:1 /piplines",
        "config.not_in_enum 4:16 /inject_expand",
        "config.wrong_type 7:18 /components/mask/keep_recent",
        "config.below_min 8:17 /components/mask/min_tokens",
        "config.unknown_key 9:5 /components/mask/max_lines",
        "config.component_takes_no_config 10:3 /components/cachesplit",
        "config.below_min 11:22 /store/ttl_seconds",
        "config.preset_not_found 12:9 /preset",
    ]


@pytest.mark.parametrize(
    ("text", "place"),
    [
        pytest.param("piplines: [mask]\n", "1:1 /piplines", id="top"),
        pytest.param("store:\n  ttl_secods: 60\n", "2:3 /store/ttl_secods", id="store"),
        pytest.param(of_mask("keep_recnt: 3"), "4:5 /components/mask/keep_recnt", id="component"),
        pytest.param("observe: {deep: {er: 1}}\n", "1:11 /observe/deep", id="observe"),
        pytest.param("x-note: 1\n", "1:1 /x-note", id="x-is-not-reserved"),
        pytest.param("extends: off\n", "1:1 /extends", id="not-of-a-tenant"),
    ],
)
def test_an_unknown_key_is_refused_wherever_it_stands(text: str, place: str) -> None:
    """08 §K-02."""
    assert f"config.unknown_key {place}" in places(text)


def test_an_unknown_block_under_components_is_an_unknown_component() -> None:
    problem = checked("pipeline: [mask]\ncomponents: {msk: {keep_recent: 1}}\n").errors[0]

    assert (problem.code, problem.path) == ("config.unknown_component", "/components/msk")
    assert problem.suggestions == (Suggestion("mask", "/components/mask"),)
    assert problem.replacement.edits[0].to == "mask"


def test_a_misspelt_key_is_renamed_by_its_fix() -> None:
    problem = only(of_mask("keep_recnt: 3"))

    assert problem.key == "keep_recnt"
    assert problem.component == "mask"
    assert problem.message == "mask has no key keep_recnt."
    assert problem.reason == (
        "Accepted here: keep_recent, min_tokens, keep_head_chars, marker_mode, cold_cache."
    )
    assert msgspec.json.decode(msgspec.json.encode(problem.replacement)) == {
        "kind": "rename",
        "text": "Did you mean keep_recent?",
        "edits": [
            {"op": "rename", "path": "/components/mask/keep_recnt", "to": "keep_recent"},
        ],
    }


def test_a_rename_is_not_offered_when_the_right_key_is_there_as_well() -> None:
    problem = only(of_mask("{keep_recent: 1, keep_recnt: 3}"))

    assert problem.suggestions[0].text == "keep_recent"
    assert problem.replacement.edits == ()


def test_a_key_at_the_wrong_indentation_is_moved_by_its_fix() -> None:
    text = "pipeline: [mask]\ncomponents:\n  mask:\n    min_tokens: 5\nkeep_recent: 1\n"

    problem = only(text)

    assert problem.suggestions == (
        Suggestion("keep_recent", "/components/mask/keep_recent", "misplaced"),
    )
    assert problem.replacement.kind == "move"
    assert problem.replacement.edits[0].to == "/components/mask/keep_recent"


def test_a_component_at_the_top_level_belongs_under_components() -> None:
    problem = checked("mask:\n  keep_recent: 1\n").errors[0]

    assert problem.suggestions == (Suggestion("mask", "/components/mask", "misplaced"),)


@pytest.mark.parametrize(
    ("line", "place", "says"),
    [
        ("per_output: true", "4:5 /components/everything/per_output", "Presence is the switch."),
        ("cold_cache: true", "4:5 /components/everything/cold_cache", "Another component now."),
        ("cold_cache: {}", "4:5 /components/everything/cold_cache", "Another component now."),
        (
            "cold_cache: {min_tokens: 1}",
            "4:18 /components/everything/cold_cache/min_tokens",
            "It moved.",
        ),
        (
            "cold_cache: {other: 1}",
            "4:5 /components/everything/cold_cache",
            "Another component now.",
        ),
        ("modes: a", "4:5 /components/everything/modes", "There is one mode."),
        (
            "model: {provider: x}",
            "4:13 /components/everything/model/provider",
            "The route decides.",
        ),
    ],
)
def test_a_removed_or_refused_key_says_why_and_is_deleted_by_its_fix(
    line: str, place: str, says: str
) -> None:
    """08 §K-01."""
    problem = only(of_everything(line), WIDE)

    assert f"{problem.code} {place}" == places(of_everything(line), WIDE)[0]
    assert problem.code in ("config.removed_key", "config.refused_key")
    assert problem.reason == says
    assert [edit.op for edit in problem.replacement.edits] == ["delete"]


def test_all_refused_keys_are_reported_at_once() -> None:
    text = of_everything("{per_output: 1, cold_cache: {min_tokens: 1, x: 2}, modes: 1}")

    assert codes(text, WIDE) == [
        "config.removed_key",
        "config.removed_key",
        "config.removed_key",
        "config.refused_key",
    ]


def test_a_misspelt_refused_key_is_told_that_the_right_spelling_is_refused_too() -> None:
    problem = only(of_everything("modess: 1"), WIDE)

    assert problem.code == "config.unknown_key"
    assert problem.message.endswith("is refused here: There is one mode.")
    assert problem.replacement.edits == ()


@pytest.mark.parametrize("written", ["1000", "1000.0", "1e3", "0x3e8"])
def test_an_integer_may_be_written_as_a_whole_number_of_any_spelling(written: str) -> None:
    outcome = checked(of_mask(f"min_tokens: {written}"))

    assert outcome.effective is not None
    value = outcome.effective.document["components"]["mask"]["min_tokens"]
    assert (value, type(value)) == (1000, int)


@pytest.mark.parametrize(
    ("line", "code", "expected", "better"),
    [
        ('size: "1000"', "config.wrong_type", Range("integer", 1), 1000),
        ("size: true", "config.wrong_type", Range("integer", 1), None),
        ("size: 1.5", "config.wrong_type", Range("integer", 1), None),
        ("size: ten", "config.wrong_type", Range("integer", 1), None),
        ("size: {a: 1}", "config.wrong_type", Range("integer", 1), None),
        ("names: [a, b, c, d]", "config.bad_length", None, None),
        ("names: [~]", "config.null_value", Range("string"), None),
        ("model: {source: ~}", "config.null_value", OneOf(("incoming", "config")), None),
        ("size: [1]", "config.wrong_type", Range("integer", 1), None),
        ("size:", "config.null_value", Range("integer", 1), None),
        ("size: ~", "config.null_value", Range("integer", 1), None),
        ("size: 0", "config.below_min", Range("integer", 1), None),
        ("size: 99999999999999999999", "config.above_max", Range("integer", 1), None),
        ("size: .inf", "config.not_finite", None, None),
        ("size: .nan", "config.not_finite", None, None),
        ("share: 1e999", "config.not_finite", None, None),
        pytest.param(f"size: {'9' * 350}", "config.not_finite", None, None, id="350 digits"),
        pytest.param(f"share: {'9' * 350}", "config.not_finite", None, None, id="of a share"),
        ("share: 1.01", "config.above_max", Range("number", 0, 1), None),
        ("share: -0.01", "config.below_min", Range("number", 0, 1), None),
        ("share: '0.5'", "config.wrong_type", Range("number", 0, 1), 0.5),
        ("budget: -1", "config.below_min", Range("integer", 0), None),
        ("tri: yes", "config.wrong_type", Range("boolean"), True),
        ("tri: Off", "config.wrong_type", Range("boolean"), False),
        ("tri: 'true'", "config.wrong_type", Range("boolean"), True),
        ("tri: 1", "config.wrong_type", Range("boolean"), None),
        ("names: abc", "config.wrong_type", Range("array"), ("abc",)),
        ("names: abc, de", "config.wrong_type", Range("array"), ("abc", "de")),
        ("names: abc de", "config.wrong_type", Range("array"), None),
        ("names: ABC", "config.wrong_type", Range("array"), None),
        ("names:", "config.null_value", Range("array"), None),
        ("names: [1]", "config.wrong_type", Range("string"), "1"),
        ("names: [ABC]", "config.bad_pattern", None, None),
        ("names: [abcdefghi]", "config.bad_length", None, None),
        ("model: x", "config.wrong_type", Range("object"), None),
        ("model: {source: confg}", "config.not_in_enum", OneOf(("incoming", "config")), "config"),
        ("model: {source: 1}", "config.not_in_enum", OneOf(("incoming", "config")), None),
    ],
)
def test_a_value_that_does_not_fit_says_what_was_expected(
    line: str, code: str, expected: object, better: object
) -> None:
    problem = only(of_everything(line), WIDE)

    assert (problem.code, problem.expected) == (code, expected)
    edits = [edit.value for edit in problem.replacement.edits if edit.op == "set"]
    assert edits == ([] if better is None else [better])


def test_a_number_accepts_an_integer() -> None:
    outcome = checked(of_everything("share: 1"), WIDE)

    assert outcome.effective is not None
    value = outcome.effective.document["components"]["everything"]["share"]
    assert (value, type(value)) == (1.0, float)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('size: "1000"', "Remove the quotes: size: 1000"),
        ("tri: yes", "In YAML 1.2 yes is text. Write tri: true"),
        ("size: 0", '0 is not "off": it would remove the brake.'),
        ("budget: -1", "0 means unlimited; a negative number is not allowed."),
        ("model: {source: confg}", "Did you mean config? Write one of: incoming, config."),
        ("names: abc", "Write a list: names: [abc]."),
        ("names: ABC", "Write a list: names: [first, second]."),
    ],
)
def test_a_value_problem_says_what_to_write_instead(line: str, words: str) -> None:
    problem = only(of_everything(line), WIDE)

    assert words in f"{problem.reason} {problem.replacement.text}"


def test_false_where_off_is_a_choice_was_probably_meant_as_off() -> None:
    problem = only(of_mask("marker_mode: false"))

    assert problem.code == "config.not_in_enum"
    assert problem.replacement.edits[0].value == "off"


@pytest.mark.parametrize("key", ["store:", "components:", "cache: {}", "observe:\n"])
def test_an_empty_block_equals_no_keys(key: str) -> None:
    assert checked(f"pipeline: [mask]\n{key}\n").errors == ()


@pytest.mark.parametrize("block", ["", "{}"])
def test_an_empty_block_of_a_component_without_keys_is_legal(block: str) -> None:
    assert checked(f"pipeline: [cachesplit]\ncomponents:\n  cachesplit: {block}\n").errors == ()


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("keepalive_idle_seconds: 300", "config.keepalive_idle_too_long"),
        ("keepalive_idle_seconds: -1", "config.below_min"),
        ("keepalive_max_pings: -1", "config.below_min"),
        ("keepalive_max_usd_per_ping: -0.01", "config.below_min"),
        ("mode: On", "config.not_in_enum"),
    ],
)
def test_the_cache_block_has_its_own_bounds(line: str, code: str) -> None:
    """01 §3, rows `document`."""
    assert codes(f"pipeline: [mask]\ncache:\n  {line}\n") == [code]


def test_a_pipeline_entry_that_is_no_text_is_reported_and_the_rest_is_checked() -> None:
    assert places("pipeline: [mask, 7, msk]\n") == [
        "config.wrong_type 1:18 /pipeline/1",
        "config.unknown_component 1:21 /pipeline/2",
    ]


def test_a_pipeline_has_at_most_forty_entries() -> None:
    outcome = checked(f"pipeline: [{', '.join(f'x{i}' for i in range(41))}]\n")

    assert outcome.problems[0].code == "config.limit_exceeded"
    assert outcome.problems[-1].path == "/pipeline/39"


@pytest.mark.parametrize(
    "secret",
    [
        "sk-ant-api03-abcdefghijklmnop",
        "sk-proj_abcdefghijklmnop1234",
        "ghp_" + "a1" * 18,
        "AKIA" + "ABCDEFGH12345678",
        "cg_live_0123456789abcdef",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abc-_123",
        "'-----BEGIN RSA PRIVATE KEY-----'",
    ],
)
def test_a_credential_is_refused_and_never_repeated(secret: str) -> None:
    """04 §V-09: as a value, of the wrong type, in a comment, as a key, in a broken document."""
    bare = secret.strip("'")
    for text in (
        f"pipeline: []\nforce_model: {secret}\n",
        f"pipeline: {secret}\n",
        f"pipeline: [] # {bare}\n",
        f"{secret}: 1\n",
        f"pipeline: [\n# {bare}\n",
    ):
        outcome = checked(text)

        assert "config.inline_secret" in [problem.code for problem in outcome.errors]
        assert bare.encode() not in msgspec.json.encode(outcome.problems)


def test_a_credential_is_shown_at_its_place() -> None:
    problem = only("pipeline: [mask]\nforce_model: cg_live_0123456789\n")

    assert (problem.path, problem.line, problem.column) == ("/force_model", 2, 14)
    assert problem.value == HIDDEN


def test_the_value_of_a_secret_key_is_hidden_even_when_it_looks_harmless() -> None:
    problem = only(of_everything("model: {api_key: 12345}"), WIDE)

    assert problem.value == HIDDEN
    assert b"12345" not in msgspec.json.encode(problem)


def test_at_most_a_hundred_problems_are_returned_and_errors_outlast_advice() -> None:
    advice = "pipeline: [cachesplit, mask]\ncomponents:\n  mask:\n"
    full = checked(advice + "".join(f"    key_{i}: 1\n" for i in range(MAX_PROBLEMS - 1)))
    over = checked(advice + "".join(f"    key_{i}: 1\n" for i in range(MAX_PROBLEMS + 50)))

    assert (len(full.problems), full.truncated) == (MAX_PROBLEMS, False)
    assert [problem.severity for problem in full.advice] == ["advice"]
    assert (len(over.errors), over.truncated) == (MAX_PROBLEMS, True)


def test_the_same_document_gives_the_same_answer_byte_for_byte() -> None:
    text = "piplines: 1\nstore: {ttl: 1}\ncomponents: {msk: {}, mask: {a: 1}}\nmode: x\n"

    assert msgspec.json.encode(checked(text).problems) == msgspec.json.encode(
        checked(text.encode()).problems
    )


def test_every_text_of_a_problem_is_complete() -> None:
    for problem in checked("piplines: 1\nstore: {ttl: 1}\nmode: x\npreset: 1\n").problems:
        assert problem.message.endswith(".")
        assert problem.doc == f"/docs/errors/{problem.code}"
        assert problem.document == CONTEXT.document


def test_an_entry_of_the_pipeline_with_keys_is_told_where_they_go() -> None:
    (problem, *_) = checked("pipeline:\n  - mask: {keep_recent: 5}\n", CONTEXT).errors

    assert (problem.code, problem.path) == ("config.wrong_type", "/pipeline/0")
    assert "its keys go below components" in problem.replacement.text


def test_a_node_refuses_a_number_too_large_to_hold() -> None:
    document = {"pipeline": ["mask"], "components": {"mask": {"keep_recent": 10**350}}}

    with pytest.raises(ConfigError) as refused:
        check_document(document, components())

    assert [one.code for one in refused.value.problems] == ["config.not_finite"]
