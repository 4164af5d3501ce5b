"""Texts that a request was sent without, kept for a tenant who agreed to it (04 §8.7).

`rewritten` notes what a run changed; `text_rows` is the only way such a text leaves a node:
without what looks like a credential, and cut.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec

from dataplane.core.pipeline.run import Run
from dataplane.core.text.content import Content
from dataplane.core.text.redacted import Redaction, redacted
from dataplane.core.uplink import TextRow
from dataplane.core.wire.message import Conversation
from dataplane.core.wire.spans import Span

TEXTS_MAX = 16  # of one request; the first ones, in the order of the conversation
TEXT_MAX_BYTES = 16 << 10
REQUEST_MAX_BYTES = 512 << 10  # of all of them as JSON: a batch has room for the rest
# Only so much is looked at: what is beyond would be cut anyway.
_WINDOW = 2 * TEXT_MAX_BYTES
# At the window's edge a credential may be halved and so not be recognised.
_EDGE = 4096


@dataclass(frozen=True, slots=True)
class Rewritten:
    """One text of a message before and after. path: of the message in the body.

    components: in the order in which they changed it.
    """

    path: str
    before: Content
    after: Content
    components: tuple[str, ...]

    @property
    def size(self) -> int:
        """In characters."""
        return len(self.before.text) + len(self.after.text)


def rewritten(
    conversation: Conversation, state: Run, spans: Mapping[int, Span]
) -> tuple[Rewritten, ...]:
    """Every text that still stands changed, in the order of the conversation."""
    starts = [element.start for element in conversation.elements]
    steps, name = state.report.steps, conversation.dialect.list_name
    return tuple(
        Rewritten(
            f"{name}[{bisect_right(starts, spans[index].start) - 1}]",
            state.messages[index].content,
            changes[-1].text,
            tuple(steps[change.step].component for change in changes),
        )
        for index, changes in sorted(state.changes.items())
    )


def text_rows(texts: Sequence[Rewritten]) -> list[TextRow]:
    """What may leave of them: scrubbed first, cut then; the first TEXTS_MAX, as far as they fit."""
    rows, room = [], REQUEST_MAX_BYTES
    for text in texts[:TEXTS_MAX]:
        row = _row(text)
        room -= len(msgspec.json.encode(row))
        if room < 0:
            break
        rows.append(row)
    return rows


def _row(text: Rewritten) -> TextRow:
    (before, cut), (after, also_cut) = _kept(text.before.text), _kept(text.after.text)
    return TextRow(
        path=text.path,
        before=before.text,
        after=after.text,
        before_tokens=text.before.tokens,
        after_tokens=text.after.tokens,
        components=list(text.components),
        redactions=before.taken + after.taken,
        is_cut=cut or also_cut,
    )


def _kept(text: str) -> tuple[Redaction, bool]:
    """The beginning of a text without credentials, and whether anything of it is missing."""
    found, count = redacted(text[:_WINDOW])
    if len(text) > _WINDOW:
        found = found[: max(0, len(found) - _EDGE)]
    utf8 = found.encode("utf-8", "replace")
    kept = utf8[:TEXT_MAX_BYTES].decode("utf-8", "ignore")
    is_cut = len(text) > _WINDOW or len(utf8) > TEXT_MAX_BYTES
    return Redaction(kept, count), is_cut
