"""From where a browser's stream goes on (04 §6.4)."""

from __future__ import annotations

import pytest

from controlplane.live.sse import LOST, asked_for


@pytest.mark.parametrize(
    ("query", "last_event_id", "cursor"),
    [
        pytest.param(b"topics=overview", b"", None, id="from now"),
        pytest.param(b"topics=overview&cursor=7", b"", 7, id="from its own"),
        pytest.param(b"topics=overview&cursor=7", b"9", 9, id="from what the browser saw last"),
        pytest.param(b"topics=overview&cursor=abc", b"", LOST, id="no number"),
        pytest.param(b"topics=overview&cursor=-5", b"", LOST, id="below nothing"),
        pytest.param(b"topics=overview&cursor=" + b"9" * 30, b"", LOST, id="beyond every log"),
    ],
)
def test_a_cursor_that_is_none_is_a_lost_one_and_not_now(
    query: bytes, last_event_id: bytes, cursor: int | None
) -> None:
    headers = [(b"Last-Event-ID", last_event_id)] if last_event_id else []

    assert asked_for({"query_string": query, "headers": headers}).cursor == cursor
