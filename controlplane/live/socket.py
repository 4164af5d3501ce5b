"""/ws/v1/live: the log as it is, for programs with a token (04 §6.5).

The server sends WINDOW messages ahead of the last one that was acknowledged; then it keeps only
the newest of each key, and after STUCK_S without progress it hangs up.
"""

from __future__ import annotations

import asyncio
import contextlib
from functools import partial
from http import HTTPStatus
from typing import Any, ClassVar

import msgspec
from channels.generic.websocket import AsyncWebsocketConsumer
from django.conf import settings

from controlplane.accounts.scopes import Principal, Scope, scope_of
from controlplane.accounts.tokens import authenticate_token
from controlplane.live.hub import Hub, TooManyError
from controlplane.live.messages import Frame
from controlplane.live.origins import is_foreign
from controlplane.live.readers import Asked, RefusedError, view_of
from controlplane.live.subscriber import Subscriber
from dataplane.core.door.addresses import address_behind
from dataplane.tasks import ended

PATH = "/ws/v1/live"
UNAUTHENTICATED, FORBIDDEN, SLOW, TOO_OLD, DEPLOY = 4401, 4403, 4408, 4412, 1012
WINDOW = 256
STUCK_S = 30.0
SPEAK_S = 10.0
BEAT_S = 20.0
RECHECK_S = 60.0
LONGEST_TEXT = 8_192


class Wish(msgspec.Struct):
    """What the client says. Fields that an op has no use for are ignored."""

    op: str
    token: str = ""
    topics: list[str] = []
    tenant: str = ""
    cursor: int | None = None
    seq: int = 0


class LiveSocket(AsyncWebsocketConsumer):
    """One client. It has one subscription; a new one replaces it."""

    def __init__(self, hub: Hub) -> None:
        super().__init__()
        self._hub = hub
        self._credential = ""
        self._who: Principal | None = None
        self._reader: Subscriber | None = None
        self._sending: asyncio.Task[None] | None = None
        self._quiet: asyncio.TimerHandle | None = None
        self._unacknowledged: list[int] = []
        self._progress = asyncio.Event()

    # ---- life -------------------------------------------------------------------------------

    async def connect(self) -> None:
        """Whoever is refused for what the head says is never accepted."""
        header = dict(self.scope["headers"]).get(b"authorization", b"").decode("latin-1")
        scheme, _, credential = header.partition(" ")
        if is_foreign(self.scope):
            await self.close(FORBIDDEN)
        elif header:
            await self._authenticate(credential.strip() if scheme.lower() == "bearer" else "")
        else:
            await self.accept()
            loop = asyncio.get_running_loop()
            self._quiet = loop.call_later(SPEAK_S, self._hang_up, UNAUTHENTICATED)

    async def disconnect(self, code: int) -> None:
        if self._quiet is not None:
            self._quiet.cancel()
        await self._unsubscribe()

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        try:
            wish = msgspec.json.decode((text_data or "")[:LONGEST_TEXT].encode(), type=Wish)
        except msgspec.MsgspecError:
            await self._say("error", code="bad_request")
            return
        await self._obey(wish)

    async def _obey(self, wish: Wish) -> None:
        if self._who is None:
            await self._authenticate(wish.token if wish.op == "auth" else "")
            return
        deed = self.DEEDS.get(wish.op)
        if deed is None:
            await self._say("error", code="unknown_op")
            return
        await deed(self, wish)

    async def _authenticate(self, token: str) -> None:
        self._credential = token
        self._who, _ = await self._hub.query(self._reach)
        if self._who is None:
            await self.close(UNAUTHENTICATED)
            return
        if self._quiet is not None:
            self._quiet.cancel()
        else:
            await self.accept()
        await self._say("ok")

    def _reach(self) -> tuple[Principal | None, Scope]:
        """Whom the token speaks for now, and what they reach. It asks the database."""
        principal = authenticate_token(self._credential, self._address())
        return principal, scope_of(principal)

    def _address(self) -> str:
        peer, _ = self.scope.get("client") or ("", 0)
        headers = self.scope["headers"]
        forwarded = [value for name, value in headers if name.lower() == b"x-forwarded-for"]
        said = b",".join(forwarded).decode("latin-1")
        return address_behind(peer, said, settings.TRUSTED_PROXIES)

    def _hang_up(self, code: int) -> None:
        asyncio.ensure_future(self.close(code))  # noqa: RUF006  the connection holds it

    # ---- what a client may ask for ------------------------------------------------------------

    async def _subscribe(self, wish: Wish) -> None:
        await self._unsubscribe()
        asked = Asked(None, frozenset(wish.topics), wish.tenant, wish.cursor)
        try:
            reader = await self._hub.query(partial(self._reader_of, asked))
            await self._hub.join(reader, wish.cursor)
        except RefusedError as refused:
            await self._refuse(refused)
            return
        except TooManyError:
            await self._say("error", code="live.too_many")
            return
        self._reader = reader
        self._unacknowledged.clear()
        await self._say("ok", topics=sorted(reader.view.topics))
        self._sending = asyncio.ensure_future(self._send_all(reader, asked))

    def _reader_of(self, asked: Asked) -> Subscriber:
        """RefusedError for what the token does not reach, or no longer does."""
        principal, scope = self._reach()
        if principal is None:
            raise RefusedError(HTTPStatus.UNAUTHORIZED, "auth.invalid_token")
        return Subscriber(view_of(scope, asked, raw=True), person=principal.actor_uid)

    async def _acknowledge(self, wish: Wish) -> None:
        self._unacknowledged = [seq for seq in self._unacknowledged if seq > wish.seq]
        self._progress.set()

    async def _forget(self, _wish: Wish) -> None:
        await self._unsubscribe()
        await self._say("ok")

    async def _answer_ping(self, _wish: Wish) -> None:
        await self._say("ok")

    DEEDS: ClassVar[dict[str, Any]] = {
        "subscribe": _subscribe,
        "ack": _acknowledge,
        "unsubscribe": _forget,
        "ping": _answer_ping,
    }

    async def _unsubscribe(self) -> None:
        if self._reader is not None:
            self._hub.leave(self._reader)
        if self._sending is not None:
            await ended(self._sending)
        self._reader = self._sending = None

    # ---- what it is sent ----------------------------------------------------------------------

    async def _send_all(self, reader: Subscriber, asked: Asked) -> None:
        clock = asyncio.get_running_loop().time
        checked_at = clock()
        while await self._has_room():
            frames, _ = await reader.take(BEAT_S)
            for frame in frames:
                if not await self._deliver(frame):
                    return
            if clock() - checked_at > RECHECK_S:
                checked_at = clock()
                if not await self._still_may(reader, asked):
                    return
        await self.close(SLOW)

    async def _deliver(self, frame: Frame) -> bool:
        """False when it was the end of the connection."""
        ends = frame.type == "bye" or (frame.type == "resync" and b'"gap"' in frame.payload)
        if ends:
            await self.close(DEPLOY if frame.type == "bye" else TOO_OLD)
            return False
        if frame.seq:
            self._unacknowledged.append(frame.seq)
        await self.send(text_data=frame.payload.decode())
        return True

    async def _still_may(self, reader: Subscriber, asked: Asked) -> bool:
        """A token that was revoked, or reaches less than before, has to ask again."""
        try:
            now = await self._hub.query(partial(self._reader_of, asked))
        except RefusedError as refused:
            await self._refuse(refused)
            return False
        if now.view != reader.view:
            await self.close(FORBIDDEN)
        return now.view == reader.view

    async def _has_room(self) -> bool:
        """False when the window stayed full for STUCK_S; what is newer coalesces meanwhile."""
        while len(self._unacknowledged) >= WINDOW:
            self._progress.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(STUCK_S):
                    await self._progress.wait()
                continue
            return False
        return True

    async def _refuse(self, refused: RefusedError) -> None:
        code = {HTTPStatus.UNAUTHORIZED: UNAUTHENTICATED, HTTPStatus.FORBIDDEN: FORBIDDEN}
        if refused.status in code:
            await self.close(code[refused.status])
        else:
            detail = {"detail": refused.detail} if refused.detail else {}
            await self._say("error", code=refused.code, **detail)

    async def _say(self, op: str, **facts: object) -> None:
        await self.send(text_data=msgspec.json.encode({"op": op, **facts}).decode())
