"""Batches to a control plane elsewhere: POST /api/dp/v1/telemetry (03 §9.2 and 9.9)."""

from __future__ import annotations

import gzip

import aiohttp

from dataplane.core.uplink import RejectedError

PATH = "/api/dp/v1/telemetry"
TIMEOUT_S = 10
# The batch itself is wrong or too large; every other answer may change.
_FINAL = frozenset({400, 413, 422})


class UnavailableError(Exception):
    """The control plane did not take the batch; it may take it later."""


class HttpSink:
    """base_url: of the control plane. token: the credential of this node."""

    def __init__(self, base_url: str, token: str) -> None:
        self._url = base_url.rstrip("/") + PATH
        self._headers = {
            "authorization": f"Bearer {token}",
            "content-type": "application/json",
            "content-encoding": "gzip",
        }

    async def send(self, body: bytes) -> None:
        timeout = aiohttp.ClientTimeout(total=TIMEOUT_S)
        async with (
            aiohttp.ClientSession(timeout=timeout) as session,
            session.post(
                self._url,
                data=gzip.compress(body, compresslevel=1),
                headers=self._headers,
                allow_redirects=False,
            ) as answer,
        ):
            if answer.status in _FINAL:
                raise RejectedError(f"status {answer.status}")
            if answer.status != 204:  # noqa: PLR2004
                raise UnavailableError(f"status {answer.status}")
