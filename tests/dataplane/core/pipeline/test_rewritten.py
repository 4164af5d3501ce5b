"""What may leave a node of a text that was changed (04 §8.7)."""

from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from dataplane.core.asked import Asked
from dataplane.core.exchange import Exchange
from dataplane.core.pipeline.rewritten import (
    REQUEST_MAX_BYTES,
    TEXT_MAX_BYTES,
    TEXTS_MAX,
    Rewritten,
    text_rows,
)
from dataplane.core.resource import Host
from dataplane.core.serving.plan import Plan
from dataplane.core.text.content import Content
from dataplane.core.wire.message import Dialect
from tests.dataplane.core.build import M_ID, M, anthropic_body, off_step, run_core
from tests.examples import examples

KEY = "sk-ant-api03-" + "a1B2" * 8


def exchange(*, captures: bool) -> Exchange:
    asked = Asked(Dialect.ANTHROPIC, captures=captures)
    return Exchange(Plan((off_step(),), Host()), asked, persists=True)


def one(before: str, after: str = "less") -> Rewritten:
    return Rewritten("messages[2]", Content(before), Content(after), ("mask",))


def test_a_changed_text_is_noted_with_its_place_and_who_changed_it() -> None:
    outgoing, _ = run_core(exchange(captures=True).prepare(anthropic_body("short", M)))

    (text,) = outgoing.rewritten
    assert text.path == "messages[4]"
    assert text.before.text == M
    assert f"<<cg:{M_ID}>>" in text.after.text
    assert text.components == ("off_long",)


def test_nothing_is_noted_without_consent() -> None:
    outgoing, _ = run_core(exchange(captures=False).prepare(anthropic_body(M)))

    assert M.encode()[:20] not in outgoing.body
    assert outgoing.rewritten == ()


def test_what_was_sent_after_all_as_it_came_is_not_noted() -> None:
    talk = exchange(captures=True)
    outgoing, _ = run_core(talk.prepare(anthropic_body(M)))

    talk.resent(outgoing)

    assert outgoing.rewritten == ()


def test_a_credential_is_out_before_the_text_is_cut() -> None:
    """It stands across the place of the cut, so cutting first would leave its head."""
    (row,) = text_rows([one("x " * (TEXT_MAX_BYTES // 2 - 8) + KEY + " tail" * 9)])

    assert "sk-ant" not in row.before
    assert row.redactions == 1
    assert row.is_cut


def test_a_credential_at_the_end_of_what_is_looked_at_does_not_leave() -> None:
    """Long enough before it is taken out that the edge of the window comes before the cut."""
    block = "-----BEGIN PRIVATE KEY-----\n" + "QUJD" * 5_000 + "\n-----END PRIVATE KEY-----\n"
    text = block + "y " * ((2 * TEXT_MAX_BYTES - len(block) - 8) // 2) + KEY * 3

    (row,) = text_rows([one(text)])

    assert "sk-" not in row.before
    assert "QUJD" not in row.before


def test_a_request_has_a_largest_number_of_texts() -> None:
    assert len(text_rows([one(f"text {n}") for n in range(TEXTS_MAX + 3)])) == TEXTS_MAX


@examples(20)
@given(st.text(max_size=40), st.integers(1, 40))
def test_what_leaves_always_fits(text: str, times: int) -> None:
    """Controls take six bytes each in JSON, and a lone surrogate cannot be written at all."""
    long = (text + "\x01\ud800") * (times * 400)
    rows = text_rows([Rewritten("messages[0]", _Any(long), Content("b"), ())] * 20)  # type: ignore[arg-type]

    assert len(msgspec.json.encode(rows)) <= REQUEST_MAX_BYTES + len(rows) + 1
    assert all(len(row.before.encode()) <= TEXT_MAX_BYTES for row in rows)


class _Any:
    """A content whose tokens need not be counted, because it cannot be encoded."""

    tokens = 1

    def __init__(self, text: str) -> None:
        self.text = text
