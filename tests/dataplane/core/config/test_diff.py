"""Differences of texts, documents and effective documents: 04 §3.5."""

from __future__ import annotations

import itertools
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataplane.core.config.diff import Change, between, semantic
from dataplane.core.config.lines import LINE_STEPS, WORD_STEPS, Row, common, rows, unified
from dataplane.core.config.parse import parse
from dataplane.core.config.registry import registry
from dataplane.core.config.resolve import Effective
from dataplane.core.config.summary import (
    COMMENTS_ONLY,
    LONGEST_VALUE,
    MOST_SENTENCES,
    NOTHING,
    UNKNOWN,
    Affected,
    Summary,
    summarise,
)
from dataplane.core.prices.money import Rates
from tests.dataplane.core.config.checking import RUNNABLE, checked

ROOT = registry(RUNNABLE.components)
PARTS = RUNNABLE.components
RATES = Rates(
    fresh_input=Fraction(2, 10**6),
    cache_read=Fraction(2, 10**7),
    cache_write=Fraction(25, 10**7),
    cache_write_1h=Fraction(4, 10**6),
    output=Fraction(10, 10**6),
)


def effective(text: str) -> Effective:
    found = checked(text, RUNNABLE).effective
    assert found is not None
    return found


def written(left: str, right: str) -> list[Change]:
    return semantic(parse(left).tree, parse(right).tree, ROOT, PARTS)


def told(left: str, right: str, affected: Affected | None = None) -> Summary:
    before, after = effective(left), effective(right)
    changes = between(before, after, ROOT, PARTS)
    differ = left != right
    return summarise(changes, after.pipeline, ROOT, PARTS, affected, texts_differ=differ)


def test_rows_stand_side_by_side_and_mark_the_words_that_differ() -> None:
    left = "a: 1\nkeep_recent: 4  # newest\nz: 1\n"
    right = "a: 1\nkeep_recent: 5  # newest\nnew: x\nz: 1\n"

    assert rows(left, right) == [
        Row("same", 1, "a: 1", 1, "a: 1"),
        Row(
            "changed", 2, "keep_recent: 4  # newest", 2, "keep_recent: 5  # newest",
            ((13, 14),), ((13, 14),),
        ),
        Row("added", right_line=3, right="new: x"),
        Row("same", 3, "z: 1", 4, "z: 1"),
    ]  # fmt: skip
    assert list(unified(rows(left, right))) == [
        " a: 1", "-keep_recent: 4  # newest", "+keep_recent: 5  # newest", "+new: x", " z: 1",
    ]  # fmt: skip


lists = st.lists(st.sampled_from("abc"), max_size=9)


@given(lists, lists)
def test_the_common_lines_are_a_longest_common_subsequence(
    left: list[str], right: list[str]
) -> None:
    pairs = common(left, right)

    assert all(left[i] == right[j] for i, j in pairs)
    assert all(a[0] < b[0] and a[1] < b[1] for a, b in itertools.pairwise(pairs))
    assert len(pairs) == longest(left, right)


def longest(left: list[str], right: list[str]) -> int:
    table = [[0] * (len(right) + 1) for _ in range(len(left) + 1)]
    for i, ours in enumerate(left):
        for j, theirs in enumerate(right):
            table[i + 1][j + 1] = (
                table[i][j] + 1 if ours == theirs else max(table[i][j + 1], table[i + 1][j])
            )
    return table[-1][-1]


@given(lists, lists)
def test_both_texts_can_be_read_off_the_rows(left: list[str], right: list[str]) -> None:
    found = rows("\n".join(left), "\n".join(right))

    assert [row.left for row in found if row.left_line is not None] == left
    assert [row.right for row in found if row.right_line is not None] == right
    plain = list(unified(found))
    assert [line[1:] for line in plain if line[0] in " -"] == left
    assert [line[1:] for line in plain if line[0] in " +"] == right


def test_what_two_documents_write_differs_leaf_by_leaf() -> None:
    left = "pipeline: [mask, dedup]\ncomponents: {mask: {keep_recent: 4, min_tokens: 5}}\n"
    right = "pipeline: [dedup, mask, toon]\ncomponents: {mask: {keep_recent: 6}}\nmode: observe\n"

    found = written(left, right)

    assert [(one.op, one.path, one.before, one.after) for one in found] == [
        ("move", "/pipeline/1", 1, 2),
        ("add", "/pipeline/2", None, "toon"),
        ("change", "/components/mask/keep_recent", 4, 6),
        ("remove", "/components/mask/min_tokens", 5, None),
        ("add", "/mode", None, "observe"),
    ]
    units = {one.path: one.unit for one in found}
    assert units["/components/mask/keep_recent"] == "outputs"


def test_texts_that_differ_too_much_are_one_replacement_between_their_common_ends() -> None:
    many = LINE_STEPS // 300
    left, right = (["head", *(f"{side}{n}" for n in range(many)), "tail"] for side in "lr")

    assert common(left, right) == [(0, 0), (many + 1, many + 1)]


def test_the_search_for_common_lines_costs_no_more_than_its_steps() -> None:
    """Texts that are long runs of one line are the dearest: each edit slides through all."""
    looked_at = 0

    class Line(str):
        def __eq__(self, other: object) -> bool:
            nonlocal looked_at
            looked_at += 1
            return super().__eq__(other)

        __hash__ = str.__hash__

    left = [Line(line) for line in "x" + "a" * 3_000 + "y"]
    right = [Line(line) for line in "z" + "aab" * 1_000 + "w"]

    common(left, right, steps=5_000)

    assert looked_at < 4 * (5_000 + len(left))


def test_words_are_marked_in_a_change_of_a_few_lines_and_not_in_one_of_thousands() -> None:
    left = [f"keep {n} of the newest outputs" for n in range(WORD_STEPS // 10)]
    right = [f"leave {n} of the oldest outputs" for n in range(WORD_STEPS // 10)]

    few = rows("\n".join(left[:3]), "\n".join(right[:3]))
    many = rows("\n".join(left), "\n".join(right))

    assert few[0].left_marks == ((0, 4), (14, 20))
    assert len(many) == len(left)
    assert many[0].left_marks == ((0, len(left[0]) - len(" outputs")),)


def test_a_number_written_differently_is_no_difference() -> None:
    assert written("store: {ttl_seconds: 60}\n", "store: # x\n  ttl_seconds: 60.0\n") == []


def test_effective_documents_differ_with_the_origin_on_both_sides() -> None:
    left = effective("pipeline: [mask]\n")
    right = effective("pipeline: [mask]\ncomponents: {mask: {keep_recent: 9}}\n")

    (change,) = between(left, right, ROOT, PARTS)

    assert (change.before, change.after, change.component) == (3, 9, "mask")
    assert (change.origin_before, change.origin_after) == ("default:schema1", "tenant:line 2")


SWEEP = "  extract_llm_sweep: {econ_trigger: true, evidence: true, min_inventory: %d}\n"


@pytest.mark.parametrize(
    ("left", "right", "sentence", "impact"),
    [
        pytest.param(
            "pipeline: [extract_llm]\n", "pipeline: [extract_llm, extract_llm_sweep]\n",
            "Adds `extract_llm_sweep` after `extract_llm` (makes model calls; injects the tool "
            "context_guru_adjudicate, 946 bytes at the head of the cached prefix, on Anthropic "
            "routes)",
            ("prefix_break", "spends", "lossy", "injects_tool"), id="component-added",
        ),
        pytest.param(
            "pipeline: []\n", "pipeline: [format]\n", "Adds `format` as the first component",
            ("prefix_break",), id="first",
        ),
        pytest.param(
            "pipeline: [mask, format]\n", "pipeline: [format]\n", "Removes `mask`",
            ("prefix_break",), id="component-removed",
        ),
        pytest.param(
            "pipeline: [linecap, mask, dedup]\n", "pipeline: [mask, dedup, linecap]\n",
            "`linecap` moves from 1st to last", ("prefix_break",), id="order",
        ),
        pytest.param(
            "pipeline: [extract_llm_sweep]\ncomponents:\n" + SWEEP % 10,
            "pipeline: [extract_llm_sweep]\ncomponents:\n" + SWEEP % 6,
            "`min_inventory` of `extract_llm_sweep`: 10 → 6 (lower asks more often, about smaller "
            "batches)",
            (), id="number",
        ),
        pytest.param(
            "pipeline: [mask]\n", "pipeline: [mask]\ncomponents: {mask: {marker_mode: off}}\n",
            "`mask` no longer leaves recoverable markers", ("irreversible",), id="marker_mode",
        ),
        pytest.param(
            "mode: sync\n", "mode: sync\nstore: {enabled: false}\n",
            "store disabled: nothing can be expanded", ("irreversible", "blocks"), id="store",
        ),
        pytest.param(
            "mode: observe\n", "mode: sync\n",
            "mode: observe → sync: requests will be changed from now on", ("behaviour",),
            id="mode",
        ),
        pytest.param(
            "store: {enabled: false}\n", "mode: sync\n",
            "store enabled: what is removed from now on can be expanded", (), id="store-again",
        ),
        pytest.param(
            "pipeline: [extract_llm_sweep]\ncomponents:\n" + SWEEP % 10,
            "pipeline: [extract_llm_sweep]\ncomponents:\n" + SWEEP % 12,
            "`min_inventory` of `extract_llm_sweep`: 10 → 12 (higher asks less often, about larger "
            "batches)",
            (), id="number-up",
        ),
        pytest.param(
            "pipeline: [collapse]\n",
            "pipeline: [collapse]\ncomponents: {collapse: {max_frac: 0.5}}\n",
            "`max_frac` of `collapse`: 0 → 0.5", (), id="share",
        ),
        pytest.param("mode: sync\n", "mode: sync # x\n", COMMENTS_ONLY, (), id="comments"),
        pytest.param("mode: sync\n", "mode: sync\n", NOTHING, (), id="nothing"),
        pytest.param(
            "mode: sync\n", "force_model: m9\n", "force_model: not written → m9", (), id="text",
        ),
    ],
)  # fmt: skip
def test_a_change_is_told_in_a_sentence_with_what_follows(
    left: str, right: str, sentence: str, impact: tuple[str, ...]
) -> None:
    found = told(left, right)

    assert found.sentences == (sentence,)
    assert found.impact == impact


def test_a_summary_ends_with_whom_it_reaches_and_what_it_costs_once() -> None:
    """The price of writing less that of reading: 2.30 USD per million tokens on this card."""
    affected = Affected(1, 2, 40, (1_000_000, 2_000_000), RATES)

    found = told("pipeline: [mask]\n", "pipeline: []\n", affected)

    assert found.sentences[1:] == (
        "Affects 1 tenant, 2 nodes and 40 running sessions",
        "Writing their cached suffixes again costs $2.3000 to $4.6000 once: 1,000,000 to "
        "2,000,000 tokens at the price of writing less that of reading",
    )
    assert found.one_time_usd == (Decimal("2.3"), Decimal("4.6"))


@pytest.mark.parametrize(
    "affected", [Affected(1, 1, 1, (1, 2)), Affected(1, 1, 1, rates=RATES)], ids=["rates", "sizes"]
)
def test_a_cost_without_prices_or_sizes_is_unknown(affected: Affected) -> None:
    found = told("pipeline: [mask]\n", "pipeline: []\n", affected)

    assert found.sentences[-1] == "What writing their cached suffixes again costs once is unknown"
    assert found.one_time_usd is None


def test_a_change_that_breaks_no_prefix_costs_nothing_once() -> None:
    found = told("mode: observe\n", "mode: sync\n", Affected(1, 1, 0))

    assert found.sentences[-1] == "Affects 1 tenant, 1 node and 0 running sessions"


def test_what_cannot_be_told_is_unknown_and_never_no_change() -> None:
    found = summarise(None, (), ROOT, PARTS, Affected(1, 1, 1), texts_differ=True)

    assert found.sentences == (UNKNOWN,)
    assert (found.impact, found.one_time_usd) == ((), None)


def test_a_summary_is_bounded_in_sentences_and_in_each_of_them() -> None:
    many = [Change(f"/force_model/{n}", "change", "a", "b" * 9_000) for n in range(900)]

    found = summarise(many, (), ROOT, PARTS)

    assert len(found.sentences) == MOST_SENTENCES + 1
    assert found.sentences[-1] == f"And {900 - MOST_SENTENCES} more changes"
    assert len(found.sentences[0]) < 2 * LONGEST_VALUE
