"""Two texts side by side (04 section 3.5)."""

from __future__ import annotations

from controlplane.ui.diff_rows import has_changes, pairs

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
