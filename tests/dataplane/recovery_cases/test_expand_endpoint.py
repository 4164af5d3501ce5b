"""GET /expand gives an original to its owner and nothing to anybody else.

Source: 03-proxy-and-recovery.md 10.8, raw mode. Case 119 needs the page mode of spec 05, which is
not part of this build.
"""

from __future__ import annotations

import contextlib
import hashlib
import sqlite3

import httpx
import pytest

from dataplane.adapters.stores.sqlite_file import store_path
from tests.dataplane.core.build import anthropic_body
from tests.dataplane.gateway import TA, TB, TenantSpec, tenants
from tests.dataplane.gateway_cases.served import MASK_ALL, Serve, Served
from tests.dataplane.recovery_cases.scripted import NAIVE, NAIVE_ID, X4000, X4000_ID

STARTED = 1_800_000_000
OTHER_KEY = "cg_live_CCCCCCCCCCCCCCCCCCCCCCCCCC"
SHORT_LIVED = MASK_ALL + "store: {ttl_seconds: 60}\n"


async def ask(
    served: Served,
    marker_id: str = X4000_ID,
    *,
    key: str = TA,
    session: str = "s1",
    at: float = STARTED + 1,
) -> httpx.Response:
    headers = {"x-context-guru-token": key, "x-headrace-now": str(at)}
    if session:
        headers["x-context-guru-session"] = session
    return await served.send("GET", f"/expand?id={marker_id}", headers=headers)


async def mask(served: Served, *outputs: str) -> None:
    await served.post(
        anthropic_body(*outputs), x_context_guru_session="s1", x_headrace_now=str(STARTED)
    )


@pytest.mark.parametrize(
    ("original", "marker_id"),
    [
        pytest.param(X4000, X4000_ID, id="03-case-117"),
        pytest.param(NAIVE, NAIVE_ID, id="03-case-117-not-ascii"),
    ],
)
async def test_the_owner_session_gets_the_exact_bytes(
    serve: Serve, original: str, marker_id: str
) -> None:
    async with serve(test_clock=True) as served:
        await mask(served, original)

        got = await ask(served, marker_id)

        digest = hashlib.sha256(original.encode()).hexdigest()
        assert (got.status_code, got.content) == (200, original.encode())
        assert got.headers["content-type"] == "text/plain; charset=utf-8"
        assert got.headers["etag"] == f'"sha256:{digest}"'
        assert got.headers["x-cg-original-sha256"] == digest
        assert got.headers["x-cg-total-bytes"] == str(len(original.encode()))
        assert got.headers["cache-control"] == "no-store"


@pytest.mark.parametrize("_", [pytest.param(None, id="03-case-117-expired")])
async def test_an_expired_original_is_gone_and_counted_as_missing(serve: Serve, _: None) -> None:
    async with serve(SHORT_LIVED, test_clock=True) as served:
        await mask(served, X4000)

        got = await ask(served, at=STARTED + 1000)

        assert (got.status_code, got.headers["x-cg-error"]) == (410, "gone")
        assert served.stats()["expand_unresolved_missing"] == 1


@pytest.mark.parametrize("_", [pytest.param(None, id="03-case-117-removed")])
async def test_an_original_whose_bytes_are_gone_is_a_fault_of_ours(serve: Serve, _: None) -> None:
    async with serve(test_clock=True) as served:
        await mask(served, X4000)
        path = store_path(served.gateway.node.settings.state_dir, "ten_acme")
        with contextlib.closing(sqlite3.connect(path)) as file:
            file.executescript("DELETE FROM body")

        got = await ask(served)

        assert (got.status_code, got.headers["x-cg-error"]) == (503, "recovery_unavailable")
        assert served.stats()["expand_unresolved_missing"] == 1


@pytest.mark.parametrize("_", [pytest.param(None, id="03-case-118")])
async def test_whoever_is_not_the_owner_gets_one_constant_answer(serve: Serve, _: None) -> None:
    specs = [*tenants(MASK_ALL), TenantSpec("acme", OTHER_KEY, MASK_ALL, "pc")]
    async with serve(specs=specs, test_clock=True) as served:
        await mask(served, X4000)

        answers = [
            await ask(served, key=OTHER_KEY, session="theirs"),
            await ask(served, key=TB),
            await ask(served, "0123456789abcdef"),
            await ask(served, session=""),
        ]

    assert {answer.status_code for answer in answers} == {404}
    assert len({answer.content for answer in answers}) == 1
    assert len({tuple(constant(answer)) for answer in answers}) == 1


def constant(answer: httpx.Response) -> list[tuple[str, str]]:
    """The headers, but for those that name the moment and the request."""
    varying = {"date", "x-context-guru-request-id"}
    return [item for item in answer.headers.multi_items() if item[0] not in varying]
