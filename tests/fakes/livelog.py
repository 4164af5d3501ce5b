"""A live log in memory, and what is built of its messages: themselves."""

from __future__ import annotations

from collections.abc import Sequence

from django.db import OperationalError

from controlplane.live.messages import Frame, Message, framed
from controlplane.live.subscriber import View


class MemoryLog:
    """What controlplane.live.hub asks of a log. ring: how many messages are kept."""

    def __init__(self, ring: int = 20_000) -> None:
        self._messages: list[Message] = []
        self._ring = ring
        self._last = 0

    def append(self, topic: str, *, key: str = "", tenant: str = "", **data: object) -> int:
        self._last += 1
        message = Message(self._last, 0, topic, "bucket", key, data, "", tenant)
        self._messages = [*self._messages, message][-self._ring :]
        return self._last

    def forget_all(self) -> None:
        """Begin anew, as a database does that was deleted."""
        self._messages, self._last = [], 0

    def newest(self) -> int:
        return self._last

    def oldest(self) -> int:
        return self._messages[0].seq if self._messages else 0

    def since(self, seq: int, limit: int) -> Sequence[Message]:
        return [message for message in self._messages if message.seq > seq][:limit]


class Builder:
    """Frames the messages as they are, and remembers for which views it was asked.

    fails: how often it raises first; error: what.
    """

    def __init__(self, fails: int = 0, error: Exception | None = None) -> None:
        self.asked: list[View] = []
        self._fails = fails
        self._error = error or OperationalError("database is locked")

    def __call__(self, view: View, messages: Sequence[Message]) -> Sequence[Frame]:
        self.asked.append(view)
        if len(self.asked) <= self._fails:
            raise self._error
        return [framed(message) for message in messages]
