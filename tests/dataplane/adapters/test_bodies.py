"""How long a request's body may take to arrive (03 §1.6)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from dataplane.adapters.http import Call, RefusedError
from dataplane.settings import BodyLimits
from tests.patience import PATIENCE_S


class NoRoom:
    async def take(self) -> None:
        raise AssertionError("the body is small")


async def nothing(_message: Any) -> None:
    raise AssertionError("nothing is answered yet")


async def test_a_body_of_which_a_little_always_comes_ends_all_the_same() -> None:
    taken = 0

    async def trickle() -> dict[str, Any]:
        nonlocal taken
        taken += 1
        await asyncio.sleep(0.001)
        return {"type": "http.request", "body": b"x", "more_body": True}

    call = Call({"headers": []}, trickle, nothing, "R")
    limits = BodyLimits(1 << 20, 1 << 20, PATIENCE_S, 0.05)

    async with asyncio.timeout(PATIENCE_S):
        with pytest.raises(RefusedError, match="body_timeout"):
            await call.read_body(limits, NoRoom())

    assert taken
