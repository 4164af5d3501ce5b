"""Two texts side by side or in one column (04 §3.5, 5.7)."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from controlplane.ui.configs.diff_rows import (
    AROUND,
    SHOWN,
    SIGNS,
    has_changes,
    in_one_column,
    pairs,
)

LONG = "".join(f"line {number}\n" for number in range(40))


def test_a_changed_line_marks_the_words_that_differ() -> None:
    (pair,) = pairs("keep: 3\n", "keep: 4\n")

    assert pair.left
    assert pair.right
    assert [piece.text for piece in pair.left.pieces if piece.is_marked] == ["3"]
    assert [piece.text for piece in pair.right.pieces if piece.is_marked] == ["4"]
    assert (pair.left.word, pair.right.word) == ("removed ", "added ")


def test_equal_lines_far_from_a_change_are_folded_into_one_sentence() -> None:
    listed = pairs(LONG, LONG + "more\n")

    assert [pair.folded.split() for pair in listed if pair.folded] == [["37", "equal", "lines"]]
    assert len(listed) == 1 + 3 + 1


def test_every_line_is_shown_when_it_is_asked_for() -> None:
    assert len(pairs(LONG, LONG + "more\n", whole=True)) == 41


def test_equal_texts_have_no_change() -> None:
    assert not has_changes(pairs(LONG, LONG))
    assert has_changes(pairs(LONG, ""))


def test_in_one_column_what_was_removed_comes_before_what_was_added() -> None:
    found = list(in_one_column(pairs("a\nb\nc\nd", "a\nx\ny\nd")))

    said = [(cell.sign, "".join(piece.text for piece in cell.pieces))
            for stretch in found for cell in stretch.cells]  # fmt: skip
    assert said == [
        ("", "a"), (SIGNS["del"], "b"), (SIGNS["del"], "c"), ("+", "x"), ("+", "y"), ("", "d"),
    ]  # fmt: skip


@given(st.lists(st.sampled_from("abc"), max_size=60), st.lists(st.sampled_from("abc"), max_size=60))
def test_one_column_holds_every_changed_line_and_opens_with_few_of_them(
    left: list[str], right: list[str]
) -> None:
    listed = pairs("\n".join(left), "\n".join(right))
    changed = [cell for pair in listed for cell in (pair.left, pair.right) if cell and cell.kind]

    found = list(in_one_column(listed))

    cells = [cell for stretch in found for cell in stretch.cells if cell.kind]
    assert sorted(map(repr, cells)) == sorted(map(repr, changed))
    assert all(len(s.cells) <= SHOWN + AROUND for s in found if not s.behind)
