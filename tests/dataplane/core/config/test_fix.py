"""Applying a replacement to the text, and what the form does: 04 §2.10 and 2.11."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataplane.core.config.fix import apply, clear_key, mended, set_key
from dataplane.core.config.parse import parse
from dataplane.core.config.problems import Edit
from dataplane.core.config.source import EditError, Source
from tests.dataplane.core.config.checking import RUNNABLE, checked, comments, place, values

CASES = Path(__file__).parents[3] / "data" / "cases"


OLD = """\
# the sweep, as we had it
pipeline: [extract_llm, mask]   # order matters
components:
  extract_llm:
    per_output: false   # sweep only
    # why 3000: small ones never pay
    min_tokens: 3000
    cold_cache:         # the old block
      enabled: true     # yes
      min_tokens: 1200  # big ones only
      max_calls: 3
      min_idle_seconds: 30
  extract_llm_sweep:
    model: {source: config}  # cheap
    strategy: "x"
"""
MENDED = """\
# the sweep, as we had it
pipeline: [extract_llm_sweep, mask]   # order matters
components:
  extract_llm:
    # sweep only
    # why 3000: small ones never pay
    min_tokens: 3000
    # the old block
    # yes
    # big ones only
  extract_llm_sweep:
    # cheap
    min_tokens: 1200
"""


def test_every_fix_of_an_old_document_leaves_a_valid_one_with_its_comments() -> None:
    """04 §V-06."""
    text, outcome = mended(OLD, RUNNABLE)

    assert text == MENDED
    assert outcome.errors == ()


@pytest.mark.parametrize("number", ["01", "02", "03"])
def test_a_field_case_is_refused_at_every_path_it_names(number: str) -> None:
    """08 §K-01 to K-03."""
    case = json.loads((CASES / f"K-{number}.json").read_text())
    expected = case["expect"]

    errors = checked(case["request"]["body_text"], RUNNABLE).errors

    paths = [error.path[1:].replace("/", ".") for error in errors]
    assert set(expected["error_paths"]) <= set(paths)
    reasons = {error.reason for error in errors}
    assert len(reasons) >= expected.get("distinct_reasons_min", 1)
    said = " ".join(error.message.lower() for error in errors)
    assert all(word in said for word in expected.get("reason_contains", ()))


def test_k_01_is_mended_by_its_own_fixes_and_stays_json() -> None:
    body = json.loads((CASES / "K-01.json").read_text())["request"]["body_text"]

    text, outcome = mended(body, RUNNABLE)

    assert outcome.errors == ()
    assert json.loads(text) == {
        "pipeline": ["extract_llm", "extract_llm_sweep"],
        "components": {"extract_llm_sweep": {}, "extract_llm": {}},
    }


@pytest.mark.parametrize(
    ("before", "edit", "after"),
    [
        pytest.param("a: 1\nb: 2  # x\n", Edit("delete", "/a"), "b: 2  # x\n", id="line"),
        pytest.param("a: 1  # x\nb: 2\n", Edit("delete", "/a"), "# x\nb: 2\n", id="comment-stays"),
        pytest.param("a: 1\r\nb: 2\r\n", Edit("delete", "/a"), "b: 2\r\n", id="crlf"),
        pytest.param("{a: 1, b: 2}", Edit("delete", "/a"), "{b: 2}", id="flow-first"),
        pytest.param("{a: 1, b: 2}", Edit("delete", "/b"), "{a: 1}", id="flow-last"),
        pytest.param("{a: 1}", Edit("delete", "/a"), "{}", id="flow-only"),
        pytest.param('{"a":1,"b":[1,2]}', Edit("delete", "/b/0"), '{"a":1,"b":[2]}', id="json"),
        pytest.param(
            "{a: 1,\n # x\n b: 2,\n}", Edit("delete", "/b"), "{a: 1,\n # x\n \n}", id="trailing"
        ),
        pytest.param("p:\n- a\n- b # x\n", Edit("delete", "/p/1"), "p:\n- a\n# x\n", id="item"),
        pytest.param("p:\n  - a\n", Edit("delete", "/p/0"), "p: []\n", id="only-item"),
        pytest.param("m:\n  a: 1\n", Edit("delete", "/m/a"), "m:\n", id="parent-stays"),
        pytest.param(
            "a: 1\nb: 2\na: 3 # x\n", Edit("delete", "/a", anchor="line 3, column 1"),
            "a: 1\nb: 2\n# x\n", id="repeated-key",
        ),
        pytest.param("t: |\n  x # no\n\nb: 1\n", Edit("delete", "/t"), "\nb: 1\n", id="literal"),
        pytest.param("a: 1 # x\n", Edit("rename", "/a", to="b"), "b: 1 # x\n", id="rename"),
        pytest.param("'a': 1\n", Edit("rename", "/a", to="b"), "'b': 1\n", id="rename-quoted"),
        pytest.param("a:   1  # x\n", Edit("set", "/a", value=2), "a:   2  # x\n", id="set"),
        pytest.param("a: 'x'\n", Edit("set", "/a", value="y"), "a: 'y'\n", id="keeps-quotes"),
        pytest.param("a: x\n", Edit("set", "/a", value="1"), 'a: "1"\n', id="needs-quotes"),
        pytest.param("a: on\n", Edit("set", "/a", value="off"), "a: off\n", id="off-is-text"),
        pytest.param("a:\nb: 1\n", Edit("set", "/a", value=2), "a: 2\nb: 1\n", id="set-nothing"),
        pytest.param("a: 1\n", Edit("set", "/m/k", value=2), "a: 1\nm:\n  k: 2\n", id="new-block"),
        pytest.param("# x\n", Edit("set", "/a", value=True), "# x\na: true\n", id="empty"),
        pytest.param("a: 1", Edit("set", "/b", value=0.5), "a: 1\nb: 0.5", id="no-last-line-end"),
        pytest.param("m: # x\nb: 1\n", Edit("set", "/m/k", value=2), "m: # x\n  k: 2\nb: 1\n",
                     id="into-nothing"),
        pytest.param("m: ~\n", Edit("set", "/m/k", value=2), "m:\n  k: 2\n", id="into-null"),
        pytest.param("m: {}\n", Edit("set", "/m/k", value=2), "m: {k: 2}\n", id="into-braces"),
        pytest.param('{"m":{"a":1}}', Edit("set", "/m/k", value="v"), '{"m":{"a":1, "k": "v"}}',
                     id="into-json"),
        pytest.param("p: [a, b] # x\n", Edit("insert_after", "/p", anchor="a", value="c"),
                     "p: [a, c, b] # x\n", id="insert-flow"),
        pytest.param("p:\n  - a # x\n  - b\n", Edit("insert_after", "/p", anchor="a", value="c"),
                     "p:\n  - a # x\n  - c\n  - b\n", id="insert-block"),
        pytest.param("p:\n  # x\n  - a\n  - b # y\n", Edit("set", "/p", value=("b", "c")),
                     "p:\n  # x\n  - b # y\n  - c\n", id="set-list"),
        pytest.param("x: 1 # c\nm:\n  a: 2\n", Edit("move", "/x", to="/m/x"),
                     "# c\nm:\n  a: 2\n  x: 1\n", id="move"),
        pytest.param("a:\nb: 1\n", Edit("delete", "/a"), "b: 1\n", id="delete-nothing"),
        pytest.param("{a: 1, # x\n b: 2 # y\n}", Edit("delete", "/b"), "{a: 1 # x\n # y\n}",
                     id="flow-comments"),
        pytest.param("{a: 1, }", Edit("set", "/b", value=2), "{a: 1, b: 2 }", id="comma-at-end"),
        pytest.param("p: [a, b]\n", Edit("set", "/p", value=("c", "a", "b")),
                     "p: [c, a, b]\n", id="set-list-front"),
        pytest.param("p:\n  - a\n", Edit("set", "/p", value=("z", "a")),
                     "p:\n  - z\n  - a\n", id="set-block-list-front"),
        pytest.param("p: [a, b]\n", Edit("set", "/p", value=("x",)), "p: [x]\n", id="new-list"),
        pytest.param("p:\n  - a # x\nb: 1\n", Edit("set", "/p", value=("y",)),
                     "p: [y]\n# x\nb: 1\n", id="new-block-list"),
        pytest.param("m:\n  n:\n    a: 1\n", Edit("set", "/m/k/l", value=2),
                     "m:\n  n:\n    a: 1\n  k:\n    l: 2\n", id="step-of-the-document"),
        pytest.param("m:\n    a: 1\nb:\n", Edit("set", "/b/c", value=2),
                     "m:\n    a: 1\nb:\n    c: 2\n", id="wide-step"),
        pytest.param("p:\n  - [a, b]\n", Edit("set", "/p/0/1", value="c"),
                     "p:\n  - [a, c]\n", id="set-in-a-list"),
        pytest.param("m:\n  n: {}\n  o:\n    a: 1\nb:\n", Edit("set", "/b/c", value=2),
                     "m:\n  n: {}\n  o:\n    a: 1\nb:\n  c: 2\n", id="empty-braces-have-no-step"),
        pytest.param("p:\n  - [a, b]\n", Edit("delete", "/p/0/1"), "p:\n  - [a]\n",
                     id="list-in-list"),
        pytest.param("p:\n  - a # x\n", Edit("set", "/p", value=()), "p: []\n# x\n",
                     id="empty-list"),
    ],
)  # fmt: skip
def test_an_edit_touches_what_it_names_and_nothing_else(
    before: str, edit: Edit, after: str
) -> None:
    assert apply(before, [edit]) == after


@pytest.mark.parametrize(
    ("text", "edit"),
    [
        ("a: [", Edit("set", "/b", value=1)),
        ("a: 1\n", Edit("delete", "/b")),
        ("a: 1\n", Edit("rename", "/b", to="c")),
        ("a: 1\nb: 2\n", Edit("rename", "/a", to="b")),
        ("a: 1\n", Edit("move", "/b", to="/c")),
        ("a: 1\nb: 2\n", Edit("move", "/a", to="/b")),
        ("a: 1\n", Edit("set", "/a/b", value=1)),
        ("a: 1\n", Edit("insert_after", "/a", anchor="x", value="y")),
        ("a: &x {k: 1}\nb: *x\n", Edit("set", "/b/k", value=2)),
        ("a: &x 1\nb: *x\n", Edit("set", "/a", value=2)),
        ("a: &x {k: 1}\nb: *x\n", Edit("set", "/a/k", value=2)),
        ("p: [a, # x\n b]\n", Edit("set", "/p", value=("z",))),
        ("p:\n  -\n    - a\n", Edit("delete", "/p/0/0")),
        ("a: 1\na: 2\n", Edit("delete", "/a", anchor="line 9, column 1")),
        ("a: [1]\n", Edit("delete", "/a/0/b", anchor="line 1, column 1")),
        ("p:\n  - a: 1\n    b: 2\n", Edit("delete", "/p/0/a")),
        ("- - a\n", Edit("delete", "/0/0")),
        ("p:\n  - a: 1\n", Edit("set", "/p/0", value=1)),
        ("p:\n  - ~\n", Edit("set", "/p/0/a", value=1)),
        ("p:\n  - - a\n", Edit("delete", "/p/0/0")),
        ("p:\n  - - a\n", Edit("insert_after", "/p/0", anchor="a", value="b")),
        ("? a\n: 1\n", Edit("delete", "/a")),
        ("1: x\n", Edit("set", "/a", value=1)),
        ("{1: x}\n", Edit("set", "/a", value=1)),
    ],
)
def test_an_edit_that_cannot_be_made_faithfully_is_refused(text: str, edit: Edit) -> None:
    with pytest.raises(EditError):
        apply(text, [edit])


DOCUMENT = """\
# our own
preset: cache   # for now
components:

  mask:
    keep_recent: 4      # newest
    cold_cache: true
  dedup: {min_tokens: 50}   # small
store:
  ttl_seconds: 600
"""
PATHS = {
    "/components/mask/keep_recent": st.integers(0, 999),
    "/components/mask/min_tokens": st.integers(1, 999),
    "/components/mask/marker_mode": st.sampled_from(["full", "summary", "off"]),
    "/components/dedup/min_tokens": st.integers(1, 999),
    "/components/collapse/max_frac": st.floats(0, 1),
    "/store/enabled": st.booleans(),
    "/store/ttl_seconds": st.integers(60, 9999),
    "/force_model": st.text(max_size=20).filter(str.isprintable),
    "/mode": st.sampled_from(["sync", "observe"]),
}


@given(st.data(), st.sampled_from(sorted(PATHS)))
def test_a_form_edit_changes_one_key_and_no_other_byte(data: st.DataObject, path: str) -> None:
    """04 §2.10."""
    value = data.draw(PATHS[path])

    after = set_key(DOCUMENT, path, value)

    assert set_key(after, path, value) == after
    assert comments(after) == comments(DOCUMENT)
    kept = [line for line in DOCUMENT.splitlines() if line in after.splitlines()]
    assert len(kept) >= len(DOCUMENT.splitlines()) - 1
    assert at(values(after), path) == value


def at(value: Any, path: str) -> Any:
    for step in path.split("/")[1:]:
        value = value[step]
    return value


@given(st.text(alphabet="ab:-[]{}#,&*\n '\"|>~1", max_size=40), st.sampled_from(["/a", "/a/b"]))
def test_no_text_makes_an_edit_fail_otherwise_than_by_refusing(text: str, path: str) -> None:
    for edit in (Edit("set", path, value=1), Edit("delete", path)):
        try:
            after = apply(text, [edit])
        except EditError:
            continue
        assert parse(after).problems == () or Source(after).faults <= Source(text).faults


def test_a_fix_that_cannot_be_made_leaves_the_error_and_the_others_are_mended() -> None:
    text = (
        "base: &m {strategy: x}\npipeline: [extract_llm_sweep]\ncomponents:\n"
        "  extract_llm_sweep: *m\nmode: 'sync\t'\n"
    )

    after, outcome = mended(text, RUNNABLE)

    assert after == text.replace("'sync\t'", "'sync'")
    assert "config.refused_key" in {error.code for error in outcome.errors}


def test_clearing_a_key_deletes_it_and_leaves_its_block() -> None:
    after = clear_key(DOCUMENT, "/store/ttl_seconds")

    assert after == DOCUMENT.replace("  ttl_seconds: 600\n", "")
    assert clear_key(after, "/store/ttl_seconds") == after


def test_the_sweep_block_of_an_old_document_is_mended_in_two_fixes() -> None:
    """Issue 4: the two marks of the editor, and what Apply fix leaves."""
    text = (
        "pipeline: [extract_llm_sweep]\ncomponents:\n  extract_llm_sweep:  # the sweep\n"
        "    econ_trigger: true  # pays\n    evidence: true\n    per_output: false  # old\n"
        "    model: {source: config}  # cheap\n"
    )
    errors = checked(text, RUNNABLE).errors

    assert [place(error) for error in errors] == [
        "config.removed_key 6:5 /components/extract_llm_sweep/per_output",
        "config.refused_key 7:5 /components/extract_llm_sweep/model",
    ]
    after, outcome = mended(text, RUNNABLE)
    assert outcome.problems == ()
    assert comments(after) == comments(text)
