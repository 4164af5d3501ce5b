"""What the core may want from outside. It yields these; an adapter performs them.

Each effect names the type of its answer. The core never waits, reads a clock or a file: a
driver (dataplane.adapters.drive) performs the effect and sends the answer back in.
Source: 07-house-style.md 1 and 7; 03-proxy-and-recovery.md 4.3 and 5.
"""

from __future__ import annotations

import enum
import hashlib
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, TypeVar

T = TypeVar("T")
# How far a text that was asked back stays verbatim: in its session; in every session of the tenant;
# or there once two of them have asked for it within a day.
Reach = Literal["session", "tenant", "auto"]


class Scope(NamedTuple):
    """Whose state is meant: everything the store keeps is under a tenant, then a key's session.

    tenant: tenant id, "" in single-tenant mode. principal: the subject of the credential, which
    a rotated key shares with the one before. session: its name for the session. thread:
    prompt-cache lineage inside it, "" for the main one. alias: the session id derived from the
    content, when an explicit one was given, else "".
    """

    tenant: str
    principal: str
    session: str
    thread: str = ""
    alias: str = ""

    @property
    def session_key(self) -> str:
        """What the store knows the session by. Anybody may send any name of a session, so no two
        principals share one; it has no space, so the last one is where the name begins.
        """
        return f"{self.principal} {self.session}"

    @property
    def alias_key(self) -> str:
        """As session_key, of the alias; "" without one."""
        return f"{self.principal} {self.alias}" if self.alias else ""


class PastTurn(NamedTuple):
    """What is remembered of the previous turn of a thread.

    messages: normalised message count. at: seconds, start of its upstream request. ttl_s: the
    longest prompt-cache lifetime the thread ever asked for, 0 for unknown. offered: a recovery
    tool was declared to the model at some earlier turn. cached_at: seconds, start of the thread's
    latest upstream request whose answer reported cache tokens, 0 for none.
    """

    messages: int
    at: float
    ttl_s: int
    offered: bool
    cached_at: float = 0.0


class SessionView(NamedTuple):
    """The state of one session, as it was when its turn was opened.

    previous: None for the first turn, or when it is not known. frozen: component name to
    decision key to replacement. lost: component name to the decision keys that the store had and
    dropped. kept: content keys that were asked back and stay verbatim here. owned: ids of the
    markers that this session's principal minted, with the time (s) of their last renewal.
    available: False when the store did not answer; then nothing new is decided.
    """

    previous: PastTurn | None = None
    frozen: Mapping[str, Mapping[str, str]] = MappingProxyType({})
    lost: Mapping[str, frozenset[str]] = MappingProxyType({})
    kept: frozenset[str] = frozenset()
    owned: Mapping[str, float] = MappingProxyType({})
    available: bool = True


class OpenTurn(NamedTuple):
    """Read the session's state and record this turn, in one step. Answer: SessionView.

    decides: False when nothing can be decided on this turn; then only `previous` of the answer
    counts, what this process remembers is good enough, and the record may be written later.
    reach: in session, what the whole tenant keeps verbatim does not count.
    """

    scope: Scope
    messages: int
    at: float
    ttl_s: int
    offered: bool
    decides: bool = True
    reach: Reach = "auto"


@dataclass(frozen=True, slots=True)
class Payload:
    """One original to make durable under its marker id. renews: the marker was sent before.

    sha256: of the original, where it is known already.
    """

    marker_id: str
    original: bytes
    renews: bool = False
    sha256: bytes = field(default=b"", compare=False)

    @property
    def digest(self) -> bytes:
        """SHA-256 of the original, 32 bytes."""
        return self.sha256 or hashlib.sha256(self.original).digest()


@dataclass(frozen=True, slots=True)
class FrozenDecision:
    """One decision to remember: it is replayed from the next turn on.

    marker_ids: the markers in the replacement; the decision must not outlive their originals.
    """

    component: str
    decision_key: str
    replacement: str
    marker_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Commit:
    """Make originals, owners and decisions durable in one transaction. Answer: Committed."""

    scope: Scope
    at: float
    payloads: tuple[Payload, ...]
    decisions: tuple[FrozenDecision, ...]


class Refused(enum.Enum):
    """Why an original did not become durable; the names of the gates of core/port/gates.py."""

    FULL = "stash_reserve_exhausted"
    UNAVAILABLE = "stash_unavailable"
    COLLISION = "stash_collision"


@dataclass(frozen=True, slots=True)
class Committed:
    """The ids that are durable now, and why the others are not.

    failed: the store did not answer; nothing of the commit counts, whatever else was in it.
    """

    durable: frozenset[str]
    refused: dict[str, Refused] = field(default_factory=dict)
    failed: bool = False


class Found(enum.Enum):
    """How the search for one marker id ended (03 §4.3)."""

    RESOLVED = "resolved"
    MALFORMED = "malformed"  # no id of ours has this shape
    FOREIGN_SESSION = "foreign_session"  # minted in this tenant, by another key
    EXPIRED = "expired"
    LOST = "lost"
    STORE_ERROR = "store_error"
    DECRYPT_ERROR = "decrypt_error"  # it is there, and its key is not
    NEVER_MINTED = "never_minted"
    DELETED = "deleted"


@dataclass(frozen=True, slots=True)
class Recalled:
    """The answer to Recall; original is set exactly when found is RESOLVED.

    component: the one that the session's decision about it was made by, "" when that is not known.
    """

    found: Found
    original: bytes | None = None
    component: str = ""


@dataclass(frozen=True, slots=True)
class Recall:
    """Find the original of one marker id, for the principal that minted it. Answer: Recalled.

    keep: it will be shown to the model, so its content stays verbatim from now on, as far as
    `reach` says. emitted: this very request carries the marker. shared: any key of the tenant may
    have it.
    """

    scope: Scope
    marker_id: str
    at: float
    keep: bool = True
    emitted: bool = False
    shared: bool = False
    reach: Reach = "auto"


Effect = OpenTurn | Commit | Recall
Core = Generator[Effect, Any, T]
