"""Bodies about prices and the audit trail (04 §5.12, 5.14, 6.3)."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, Field, StringConstraints

from controlplane.api.sent import NO_CONTROL, Message, Sent

Json = dict[str, Any]
Usd = Annotated[
    str,
    StringConstraints(pattern=r"^\d{0,9}(\.\d{0,9})?$"),
    Field(description="USD per million tokens, as a decimal text."),
]
Tokens = Annotated[int, Field(ge=0, le=10**9 - 1)]


class PriceEntry(Sent):
    """match: a model's name, or how it begins with * behind. A tier that is "" is derived."""

    match: Annotated[str, StringConstraints(max_length=120)]
    input: Usd
    output: Usd
    cache_read: Usd = ""
    cache_write: Usd = ""
    cache_write_1h: Usd = ""
    window: Tokens = 0
    cache_minimum: Tokens = 1024
    note: Annotated[str, StringConstraints(max_length=200, pattern=NO_CONTROL)] = ""
    estimate: bool = False


class NewPriceCard(Sent):
    message: Message
    entries: list[PriceEntry] = Field(max_length=2000)


class Activation(Sent):
    message: Message


class PriceCardOut(BaseModel):
    uid: str
    version: int
    etag: str
    content_hash: str
    author: str
    message: str
    created_at: int
    is_in_force: bool


class PriceCardText(PriceCardOut):
    entries: list[PriceEntry]


class MatchOut(BaseModel):
    """how: entry, without its date, longest match or missing."""

    model: str
    match: str
    how: str


class EventOut(BaseModel):
    """One change, as it was recorded. prev_hash and hash chain it to the one before."""

    uid: str
    seq: int
    at: int
    organisation: str
    actor_kind: str
    actor_uid: str
    actor: str
    via: str
    ip: str
    request_id: str
    action: str
    object_uid: str
    object: str
    before: Json | None
    after: Json | None
    reason: str
    prev_hash: str
    hash: str


class ChainOut(BaseModel):
    """broken_at: the first event that does not hold, null for a whole trail."""

    is_whole: bool
    events: int
    first_hash: str
    last_hash: str
    broken_at: int | None
    problem: str
