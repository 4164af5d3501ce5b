"""The topics of the live log: what each tells, who may ask for it, and how a feature speaks up.

A feature that changes something calls `tell`; the log itself is telemetry's, which takes messages
in once the change is committed. So imports point one way, and no feature knows a stream.
Source: 04-controlplane-and-dashboard.md 6.4.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from django.db import DatabaseError, transaction

log = logging.getLogger("headrace.live")


@dataclass(frozen=True, slots=True)
class Topic:
    """types: of its messages. tells: a sentence for whoever subscribes.

    of: what follows the name and a dot, "" for nothing. takes: the permission to ask for it.
    is_common: messages that are no tenant's go to everyone who may ask; those of other topics
    only to whoever sees the whole deployment.
    """

    name: str
    types: tuple[str, ...]
    tells: str
    of: str = ""
    takes: str = "telemetry:read"
    is_common: bool = False


TOPICS: Mapping[str, Topic] = {
    topic.name: topic
    for topic in (
        Topic("overview", ("tiles",), "Figures of a tenant moved."),
        Topic("component", ("bucket",), "Figures of that component moved.", of="NAME"),
        Topic("requests", ("count",), "A request was stored."),
        Topic("sessions", ("count",), "A session had a turn."),
        Topic("session", ("turn",), "That session had a turn.", of="TENANT.SESSION"),
        Topic("alarm", ("opened", "changed", "resolved"), "An alarm opened, changed or resolved."),
        Topic(
            "node",
            ("state",),
            "A node answered a publication, was heard again, fell silent or was removed.",
            is_common=True,
        ),
        Topic("config", ("version", "effective"), "A version was saved, or a tenant runs another."),
        Topic("job", ("done", "failed"), "A job ended.", takes="system:read"),
        Topic(
            "system",
            ("health",),
            "A job, a node or an alarm of the deployment: read the state of the system anew.",
            takes="system:read",
        ),
    )
}
# The page of the system's health is made of these; alarms as far as they are no tenant's.
OF_THE_SYSTEM = frozenset({"job", "node", "alarm"})


@dataclass(frozen=True, slots=True)
class Said:
    """One message. key: a newer one of the same topic, tenant and key replaces it."""

    topic: str
    type: str
    key: str = ""
    tenant: str = ""
    data: Mapping[str, object] = field(default_factory=dict)


def topic_of(asked: str) -> Topic | None:
    """The topic behind a name as a reader gives it; None for one that nobody publishes."""
    name, dot, rest = asked.partition(".")
    topic = TOPICS.get(name)
    is_whole = topic is not None and (bool(dot and rest) if topic.of else not dot)
    return topic if is_whole else None


def named() -> str:
    """All of them, for whoever asked for another one."""
    return ", ".join(f"{one.name}.{one.of}" if one.of else one.name for one in TOPICS.values())


Write = Callable[[Iterable[Said]], None]
_writers: list[Write] = []


def written_by(write: Write) -> None:
    """Telemetry registers here when Django starts."""
    _writers[:] = [write]


def tell(
    topic: str,
    kind: str,
    key: str = "",
    *,
    tenant: str = "",
    data: Mapping[str, object] | None = None,
) -> None:
    """Say it once the change is committed; KeyError, ValueError for what is not registered.

    A log that cannot be written costs the message, never the change: whoever reads the page finds
    what is new.
    """
    if kind not in TOPICS[topic].types:
        raise ValueError(f"{topic} has no messages of type {kind}")
    said = [Said(topic, kind, key, tenant, data or {})]
    if topic in OF_THE_SYSTEM and not tenant:
        said.append(Said("system", "health"))
    waiting = transaction.get_connection().__dict__.setdefault("topics_told", {})
    waiting.update({(one.topic, one.type, one.key, one.tenant): one for one in said})
    transaction.on_commit(lambda: _write(waiting))


def _write(waiting: dict[tuple[str, ...], Said]) -> None:
    """All that a transaction told, together; the first of its calls takes them."""
    told = list(waiting.values())
    waiting.clear()
    try:
        for write in _writers if told else ():
            write(told)
    except DatabaseError:
        log.warning("live.not_told", exc_info=True)
