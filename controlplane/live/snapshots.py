"""What changed, as figures of all tenants of a view together: built once for each view and look.

A chart's bucket is sent whole, so it may come twice; what a page shows beside it comes as texts
for its leaves. Source: 04-controlplane-and-dashboard.md sections 5.0 and 6.4.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from controlplane.live.messages import Frame, Message, framed
from controlplane.live.subscriber import View


def build(view: View, messages: Sequence[Message]) -> Sequence[Frame]:
    """The frames that replace what these messages are about. It asks the database."""
    if view.raw:
        return [framed(message, (message.topic, _own_key(message))) for message in messages]
    return list(_figures(view, messages))


def _own_key(message: Message) -> str:
    """Of two tenants, one never replaces the other's; without a key nothing is replaced."""
    return f"{message.tenant}/{message.key or message.seq}"


def _figures(view: View, messages: Sequence[Message]) -> Iterator[Frame]:
    for topic in dict.fromkeys(message.topic for message in messages):
        about = [message for message in messages if message.topic == topic]
        yield _changed(topic, about)


def _changed(topic: str, about: Iterable[Message]) -> Frame:
    """For figures that the page reads anew itself."""
    newest = list(about)[-1]
    return framed(Message(newest.seq, newest.ts, topic, "changed", "changed"))
