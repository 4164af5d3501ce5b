"""GET /expand gives an original to its owner and nothing to anybody else.

Source: 03-proxy-and-recovery.md 10.8; 05-scoped-recovery-and-image-offload.md A8 for pages.
"""

from __future__ import annotations

import contextlib
import hashlib
import sqlite3
from typing import Any

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
    more: str = "",
    accept: str = "*/*",
) -> httpx.Response:
    headers = {"x-context-guru-token": key, "x-headrace-now": str(at), "accept": accept}
    if session:
        headers["x-context-guru-session"] = session
    return await served.send("GET", f"/expand?id={marker_id}{more}", headers=headers)


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

        assert (got.status_code, got.headers["x-cg-error"]) == (410, "expired")
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
            await ask(served, key=OTHER_KEY),
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


# ---- pages ----------------------------------------------------------------------------------


async def test_case_119_pages_make_up_the_original_and_split_no_character(serve: Serve) -> None:
    async with serve(test_clock=True) as served:
        await mask(served, NAIVE)
        pages, offset = [], 0

        while offset is not None:
            got = await ask(served, NAIVE_ID, more=f"&offset={offset}&limit=11")
            assert got.status_code == 200
            pages.append(got.json())
            assert pages[-1]["offset"] == offset
            offset = pages[-1]["next_offset"]

    whole = NAIVE.encode()
    assert "".join(page["text"] for page in pages) == NAIVE
    assert all(0 < len(page["text"].encode()) <= 11 for page in pages)
    assert {page["original_sha256"] for page in pages} == {hashlib.sha256(whole).hexdigest()}
    assert {page["total_bytes"] for page in pages} == {len(whole)}
    assert not any(page["complete"] for page in pages)


@pytest.mark.parametrize(
    ("more", "status", "code"),
    [
        pytest.param("&limit=3", 400, "invalid_range", id="119-limit-3"),
        pytest.param("&limit=262145", 400, "invalid_range", id="119-limit-too-large"),
        pytest.param("&offset=-1", 400, "invalid_range", id="119-before-the-start"),
        pytest.param("&offset=3", 400, "invalid_range", id="119-inside-a-character"),
        pytest.param("&offset=6000", 400, "invalid_range", id="119-at-the-end"),
        pytest.param("&offset=99999", 400, "invalid_range", id="119-behind-the-end"),
        pytest.param("&query=a&offset=2", 400, "invalid_range", id="119-query-with-offset"),
        pytest.param("&limit=ten", 400, "invalid_request", id="119-no-number"),
        pytest.param("&limit=%2B9", 400, "invalid_request", id="119-signed"),
        pytest.param("&limit=" + "9" * 40, 400, "invalid_request", id="119-endless-number"),
        pytest.param("&query=" + "q" * 1025, 400, "invalid_request", id="119-long-query"),
    ],
)
async def test_what_is_no_page_is_refused_by_name(
    serve: Serve, more: str, status: int, code: str
) -> None:
    async with serve(test_clock=True) as served:
        await mask(served, NAIVE)

        got = await ask(served, NAIVE_ID, more=more)

    assert (got.status_code, got.headers["x-cg-error"]) == (status, code)
    assert got.json() == {"schema_version": 1, "error": {"code": code}}


@pytest.mark.parametrize(
    ("more", "accept"),
    [
        pytest.param("&format=page", "*/*", id="format"),
        pytest.param("&limit=0", "*/*", id="limit"),
        pytest.param("", "text/html, application/json;q=0.5", id="accept"),
    ],
)
async def test_a_page_is_asked_for_in_several_ways_and_names_the_component(
    serve: Serve, more: str, accept: str
) -> None:
    for store in ("", "store: {backend: memory}\n"):
        async with serve(MASK_ALL + store, test_clock=True) as served:
            await mask(served, X4000)

            got = await ask(served, more=more, accept=accept)

            assert got.headers["content-type"] == "application/json"
            assert got.json() == {
                "schema_version": 1,
                "handle": X4000_ID,
                "source_id": "mask",
                "kind": "original_page",
                "text": X4000,
                "offset": 0,
                "next_offset": None,
                "complete": True,
                "original_sha256": hashlib.sha256(X4000.encode()).hexdigest(),
                "total_bytes": 4000,
            }


async def test_a_query_gives_the_parts_that_answer_it(serve: Serve) -> None:
    log = "".join(f"step {n} went well\n" for n in range(90)) + "step 90 failed: no disk\n"
    async with serve(test_clock=True) as served:
        await mask(served, log)
        marker_id = hashlib.sha256(log.encode()).hexdigest()[:16]

        got = (await ask(served, marker_id, more="&query=why+failed+disk")).json()

    cut = log.index("step 90")
    assert got["text"] == f"[omitted bytes 0..{cut} of {len(log)}]\nstep 90 failed: no disk\n"
    assert (got["kind"], got["complete"], got["next_offset"]) == ("excerpt", False, 0)
    assert got["total_bytes"] == len(log)


@pytest.mark.parametrize(
    ("asked", "status", "code"),
    [
        pytest.param({"at": STARTED + 1000}, 410, "expired", id="expired"),
        pytest.param({"marker_id": "0" * 16}, 404, "not_found", id="unknown"),
        pytest.param({"session": ""}, 404, "not_found", id="no-session"),
        pytest.param({"key": "cg_live_" + "D" * 26}, 401, "unauthorized", id="nobody"),
    ],
)
async def test_a_page_that_there_is_not_is_refused_in_the_pages_envelope(
    serve: Serve, asked: dict[str, Any], status: int, code: str
) -> None:
    async with serve(SHORT_LIVED, test_clock=True) as served:
        await mask(served, X4000)

        got = await ask(served, more="&format=page", **asked)

    assert (got.status_code, got.json()["error"]["code"]) == (status, code)


async def test_whatever_is_asked_of_an_original_but_to_read_it_is_refused(served: Served) -> None:
    got = await served.send("POST", "/expand?id=" + X4000_ID, headers={"x-context-guru-token": TA})

    assert (got.status_code, got.headers["x-cg-error"]) == (405, "method_not_allowed")
