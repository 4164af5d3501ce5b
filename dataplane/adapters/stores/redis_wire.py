"""What the script is sent and how its answers read (the files of lua/ beside this one)."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, replace
from typing import Any

from dataplane.adapters.stores import packing, retention
from dataplane.adapters.stores.answers import (
    Delta,
    Landed,
    Lookup,
    Mark,
    Row,
    Seen,
    TurnRead,
)
from dataplane.adapters.stores.cipher import Cipher, SealedError, UnknownKeyError
from dataplane.adapters.stores.originals import Cached, StoreLimits, Touch
from dataplane.adapters.stores.redis_keys import KEYRING_BYTES, Keyring
from dataplane.adapters.stores.retention import BATCHED, Fill
from dataplane.core.effects import (
    Commit,
    Committed,
    Found,
    FrozenDecision,
    OpenTurn,
    PastTurn,
    Payload,
    Recall,
    Refused,
    Scope,
)

FROZEN = "frz"
SWEEP_ROWS = 500
_CLEAR = b"\x00"
_POLICY = {
    "grace_s": BATCHED.grace_s,
    "floor_s": BATCHED.floor_s,
    "share": BATCHED.share,
    "owned_ids": retention.OWNED_IDS,
    "asked_back_within_s": retention.ASKED_BACK_WITHIN_S,
    "ledger_rows": retention.LEDGER_ROWS,
    "ledger_retention_s": retention.LEDGER_RETENTION_S,
    "sweep_rows": SWEEP_ROWS,
    "keyring_bytes": KEYRING_BYTES,
}
_REASONS = {b"full": Refused.FULL, b"collision": Refused.COLLISION}


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer of the script. is_fresh: the tenant had nothing before it. is_sound: its ledger
    has not been begun anew.
    """

    is_fresh: bool
    fill: Fill
    happened: Counter[str]
    own: list[Any]
    is_sound: bool


def answer_of(raw: list[Any]) -> Answer:
    fresh, fill, happened, own, reset_at = raw
    counted = Counter({name.decode(): number for name, number in happened})
    return Answer(bool(fresh), Fill(*fill), counted, own, not reset_at)


class Message:
    """The arguments of one call. Bytes that are no text travel beside them, named by number."""

    def __init__(self, limits: StoreLimits, **arguments: Any) -> None:
        self.values: list[bytes] = []
        sizes = {
            "original_ttl_s": limits.original_ttl_s,
            "kept_capacity": retention.kept_capacity(limits),
            "reserve_capacity": retention.reserve_capacity(limits),
        }
        self.arguments = {"limits": asdict(limits) | sizes, "policy": _POLICY} | arguments

    def beside(self, value: bytes) -> int:
        self.values.append(value)
        return len(self.values)


def _place(scope: Scope) -> dict[str, str]:
    """A scope as the script knows it: its sessions by their keys."""
    return {
        "principal": scope.principal,
        "session": scope.session_key,
        "alias": scope.alias_key,
        "thread": scope.thread,
    }


def touch_message(wanted: Touch, limits: StoreLimits) -> Message:
    return Message(limits, scope=_place(wanted.scope), at=wanted.at, since=wanted.since)


def cached_message(wanted: Cached, limits: StoreLimits) -> Message:
    return Message(limits, scope=_place(wanted.scope), at=wanted.at)


def turn_of(wanted: OpenTurn) -> dict[str, Any]:
    return {
        "scope": _place(wanted.scope),
        "messages": wanted.messages,
        "at": wanted.at,
        "ttl_s": wanted.ttl_s,
        "offered": wanted.offered,
    }


def turn_message(wanted: OpenTurn, seen: Seen, keyring: Keyring, limits: StoreLimits) -> Message:
    return Message(limits, **turn_of(wanted), seen=asdict(seen), keyring=keyring.token)


def commit_message(wanted: Commit, attempt: str, keyring: Keyring, limits: StoreLimits) -> Message:
    message = Message(
        limits,
        scope=_place(wanted.scope),
        at=wanted.at,
        attempt=attempt,
        keyring=keyring.token,
    )
    session, cipher = wanted.scope.session_key, keyring.cipher
    message.arguments["payloads"] = [_payload(message, p, cipher) for p in wanted.payloads]
    message.arguments["decisions"] = [
        (
            d.component,
            d.decision_key,
            message.beside(_sealed(cipher, place_of(session, d), d.replacement)),
            _digest(d.replacement),
            d.marker_ids,
        )
        for d in wanted.decisions
    ]
    return message


def take_back_message(
    session: str, attempt: str, late: Iterable[FrozenDecision], limits: StoreLimits
) -> Message:
    named = [(d.component, d.decision_key, 0, _digest(d.replacement)) for d in late]
    return Message(limits, session=session, attempt=attempt, decisions=named)


def place_of(session: str, decision: FrozenDecision) -> str:
    """Where a sealed replacement belongs."""
    return f"{session}:{decision.component}:{decision.decision_key}"


def _payload(message: Message, payload: Payload, cipher: Cipher) -> tuple[Any, ...]:
    packed, stored = packing.pack(cipher, payload.marker_id, payload.original)
    size, sha = len(payload.original), payload.digest.hex()
    return payload.marker_id, sha, size, packed, message.beside(stored), payload.renews


def _sealed(cipher: Cipher, place: str, replacement: str) -> bytes:
    """A sealed value begins with its format, one in the clear with a byte that no format has."""
    text = replacement.encode()
    return cipher.seal(FROZEN, place, text) if cipher.newest else _CLEAR + text


def _digest(replacement: str) -> str:
    return hashlib.sha256(replacement.encode()).hexdigest()


def landed_of(wanted: Commit, own: list[Any]) -> Landed:
    reasons, times, _ = own
    refused = {marker_id.decode(): _REASONS[reason] for marker_id, reason in reasons}
    ids = frozenset(payload.marker_id for payload in wanted.payloads)
    renewed = {marker_id.decode(): float(at) for marker_id, at in times}
    return Landed(Committed(ids - refused.keys(), refused), renewed)


@dataclass(frozen=True, slots=True)
class TurnAnswer:
    """read: as every durable backend gives it. unopened: decisions whose seal does not open."""

    read: TurnRead
    unopened: list[tuple[str, str]]


def turn_answer(scope: Scope, own: list[Any], cipher: Cipher) -> TurnAnswer:
    """Raises UnknownKeyError when the cipher is older than a decision."""
    before, own_at, renewed, (frozen, lost, kept, kept_here, by_principal, by_session) = own
    previous = None
    if before:
        messages, at, ttl_s, offered, cached_at = before
        previous = PastTurn(messages, float(at), ttl_s, bool(offered), float(cached_at))
    unopened: list[tuple[str, str]] = []
    rows = _delta(frozen, lambda row: (int(row[0]), row[1].decode(), row[2].decode(), row[3]))
    read = TurnRead(
        previous=previous,
        own_at=float(own_at) if own_at else None,
        frozen=Delta(
            rows.whole, _opened(scope.session_key, rows.rows, cipher, unopened), rows.mark
        ),
        lost=[(component.decode(), key.decode()) for component, key in lost] + unopened,
        kept=_delta(kept, _kept),
        kept_here=_delta(kept_here, _kept),
        by_principal=_delta(by_principal, _owned),
        by_session=_delta(by_session, _owned),
        renewed=[marker_id.decode() for marker_id in renewed],
    )
    return TurnAnswer(read, unopened)


def _delta(raw: list[Any], row_of: Callable[[list[Any]], Row]) -> Delta[Row]:
    epoch, last, whole, rows = raw
    return Delta(bool(whole), [row_of(row) for row in rows], Mark(epoch, last))


def _kept(row: list[Any]) -> tuple[int, str]:
    return int(row[0]), row[1].decode()


def _owned(row: list[Any]) -> tuple[int, str, float]:
    return int(row[0]), row[1].decode(), float(row[2])


def _opened(
    session: str,
    rows: list[tuple[int, str, str, bytes]],
    cipher: Cipher,
    unopened: list[tuple[str, str]],
) -> list[tuple[int, str, str, str]]:
    opened = []
    for id_, component, key, kept in rows:
        place = f"{session}:{component}:{key}"
        try:
            text = kept[1:] if kept.startswith(_CLEAR) else cipher.open(FROZEN, place, kept)
        except UnknownKeyError:
            raise
        except SealedError:
            unopened.append((component, key))
            continue
        opened.append((id_, component, key, text.decode()))
    return opened


@dataclass(frozen=True, slots=True)
class Read:
    """What was found, how it was kept, and the keyring that opened it."""

    lookup: Lookup
    kept: packing.Kept | None
    keyring: Keyring

    @property
    def is_outdated(self) -> bool:
        """Sealed with an older data key than the newest, or not at all."""
        return self.kept is not None and self.kept.packed >> 1 != self.keyring.cipher.newest


def find_message(wanted: Recall, keyring: Keyring, limits: StoreLimits) -> Message:
    return Message(
        limits,
        scope=_place(wanted.scope),
        shared=wanted.shared,
        marker_id=wanted.marker_id,
        at=wanted.at,
        emitted=wanted.emitted,
        keep=wanted.keep,
        keyring=keyring.token,
    )


def read_of(marker_id: str, own: list[Any], keyring: Keyring) -> Read:
    """Raises UnknownKeyError when the keyring is older than the original."""
    found = Found(own[0].decode())
    if found is not Found.RESOLVED:
        return Read(Lookup(found), None, keyring)
    _, sha, packed, stored, due, component = own
    kept = packing.Kept(marker_id, bytes.fromhex(sha.decode()), packed, stored)
    lookup = packing.looked_up(kept, keyring.cipher, due=bool(due))
    return Read(replace(lookup, component=component.decode()), kept, keyring)


def recalled_message(
    wanted: Recall, read: Read, keep: str | None, keyring: Keyring, limits: StoreLimits
) -> Message:
    """What a read leaves behind; what an older data key seals is sealed with the newest."""
    message = Message(
        limits,
        marker_id=wanted.marker_id,
        at=wanted.at,
        due=read.lookup.due,
        keep=keep,
        session=wanted.scope.session_key,
        reach=wanted.reach,
        keyring=keyring.token,
    )
    if read.is_outdated and keyring.cipher.newest and read.kept and read.lookup.original:
        packed, stored = packing.pack(keyring.cipher, wanted.marker_id, read.lookup.original)
        sealed = {"sha": read.kept.sha.hex(), "packed": packed, "sealed": message.beside(stored)}
        message.arguments |= sealed
    return message
