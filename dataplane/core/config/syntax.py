"""The YAML parser's complaints in plain words."""

from __future__ import annotations

_QUOTES = "Put the text in quotes."
_PLAIN_WORDS: tuple[tuple[str, str, str], ...] = (
    ("mapping values are not allowed", "a colon stands where no key can be",
     "If the colon belongs to a text, put the text in quotes; if not, check the indentation."),
    ("could not find expected ':'", "a key without its colon", "Write `key: value`."),
    ("did not find expected key", "a line does not line up with the keys above it",
     "Give all keys of one block the same number of spaces."),
    ("did not find expected '-'", "a line does not line up with the list above it",
     "Begin every entry of the list with `- ` in the same column."),
    ("block sequence entries are not allowed", "a list entry stands where none can be",
     "Put every `- ` on a line of its own."),
    ("did not find expected ',' or ']'", "the list that begins with [{where} is not closed",
     "Add the missing comma or ]."),
    ("did not find expected ',' or '}'", "the block that begins with {{{where} is not closed",
     "Add the missing comma or }."),
    ("unexpected end of stream", "the quoted text that begins{where} is not closed",
     "Add the closing quote."),
    ("unknown escape character", "a backslash that means nothing in double quotes",
     "Double the backslash, or use single quotes."),
    ("did not find expected <document start>", "what stands here belongs to nothing above it",
     "Write every setting as `key: value`."),
    ("did not find expected node content", "a value is missing",
     "Write the value, or remove the bracket or comma in front of it."),
    ("incompatible YAML document", "the %YAML line names another version",
     "Delete the %YAML line."),
    ("directive", "a line that begins with % is not understood", "Delete the line."),
    ("tag", "a tag is not written correctly", "Delete the tag."),
    ("anchor", "an anchor or alias is not written correctly", "Write the value out."),
    ("alias", "an anchor or alias is not written correctly", "Write the value out."),
)  # fmt: skip


def in_plain_words(error: object, character: str) -> tuple[str, str]:
    """What is wrong and what to do about it; character is the one the parser stopped at.

    What was never closed is noticed far from where it began, so that line is named.
    """
    complaint = str(getattr(error, "problem", None) or getattr(error, "reason", None) or "")
    if character == "\t" or "tab" in complaint.split():
        return "a tab stands where spaces are needed", "Indent with spaces."
    if "cannot start any token" in complaint:
        return f"a value cannot begin with {character}", _QUOTES
    began = getattr(error, "context_mark", None)
    where = f" on line {began.line + 1}" if began else ""
    for fragment, what, fix in _PLAIN_WORDS:
        if fragment in complaint:
            return what.format(where=where), fix
    return complaint or "it could not be read", "Check the line and the one above it."
