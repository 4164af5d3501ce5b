"""What the P cases of 08-field-cases.md ask for beyond their files: pairs, shapes, exact bytes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from dataplane.core.text.marker import find
from dataplane.simulator.script import markers_in
from tests.dataplane.core.build import anthropic_body
from tests.dataplane.field_cases import casefile, invariants
from tests.dataplane.field_cases.test_cache import RUNNABLE
from tests.dataplane.gateway import TA
from tests.dataplane.gateway_cases.served import MASK_ALL, Serve, Served
from tests.dataplane.recovery_cases.scripted import r, results, x

PEEKING = "pipeline: [mask]\ncomponents: {mask: {keep_recent: 1}}\n"
REST = "and a line of output\n" * 60
IMAGE = {
    "type": "image",
    "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo" * 40},
}


@pytest.fixture
async def peeking(serve: Serve) -> AsyncIterator[Served]:
    """A node that leaves the head of what it hides in the marker."""
    async with serve(PEEKING) as running:
        yield running


def outputs_in(body: bytes) -> list[Any]:
    messages = json.loads(body)["messages"]
    blocks = (b for m in messages if isinstance(m["content"], list) for b in m["content"])
    return [block["content"] for block in blocks if block["type"] == "tool_result"]


@pytest.mark.parametrize("preset", [*RUNNABLE, "mask"])
async def test_case_p_01_no_preset_breaks_a_pair_or_empties_a_message(
    serve: Serve, preset: str
) -> None:
    asked = casefile.load("P-01").turns[0].asked
    async with serve(MASK_ALL if preset == "mask" else f"preset: {preset}\n") as served:
        await served.post(asked.body)

    turns = json.loads(served.sent[0])["messages"]
    invariants.pairs_hold(turns)
    invariants.no_message_is_empty(turns)
    assert [each["role"] for each in turns] == [each["role"] for each in asked.json["messages"]]


async def test_case_p_11_an_image_keeps_its_bytes_and_shows_up_nowhere(
    served: Served, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG", "headrace")
    mixed = [{"type": "text", "text": REST}, IMAGE, {"type": "text", "text": REST}]
    body = json.loads(anthropic_body("x"))
    body["messages"][-1]["content"][0]["content"] = mixed

    await served.post(json.dumps(body).encode())

    (sent,) = outputs_in(served.sent[0])
    metrics = (await served.send("GET", "/metrics")).text
    assert [block["type"] for block in sent] == ["text", "image", "text"]
    assert json.dumps(IMAGE).encode() in served.sent[0]
    for place in (metrics, json.dumps(served.stats()), caplog.text):
        assert "iVBORw0KGgo" not in place


# ---- P-13: what came back is not taken away again ---------------------------------------------


@pytest.mark.parametrize("name", ["context_guru_expand", "mcp__gateway__context_guru_expand"])
async def test_case_p_13_an_original_that_came_back_stays_whoever_fetched_it(
    served: Served, name: str
) -> None:
    """The client fetches it with GET /expand and answers its own tool with it."""
    first = anthropic_body(REST)
    await served.post(first, x_context_guru_session="s")
    (marker_id,) = markers_in(json.dumps(outputs_in(served.sent[0])).encode())
    body = json.loads(first)
    call = {"type": "tool_use", "id": "toolu_m", "name": name, "input": {"id": marker_id}}
    answer = {"type": "tool_result", "tool_use_id": "toolu_m", "content": REST}
    body["messages"] += [
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [answer]},
    ]

    for _ in range(3):
        await served.post(json.dumps(body).encode(), x_context_guru_session="s")

    assert [outputs_in(sent)[-1] for sent in served.sent[1:]] == [REST] * 3


async def test_case_p_13_it_stays_also_when_it_is_the_only_copy_left(served: Served) -> None:
    """After the agent's own compaction the fetched copy takes the place of the masked one."""
    await served.post(anthropic_body(REST), x_context_guru_session="s")
    body = json.loads(anthropic_body(REST))
    body["messages"][1]["content"][0]["name"] = "mcp__gateway__context_guru_expand"

    await served.post(json.dumps(body).encode(), x_context_guru_session="s")

    assert outputs_in(served.sent[1]) == [REST]


# ---- P-17: exact bytes, by each of the three ways ---------------------------------------------


async def test_case_p_17_every_way_back_gives_the_same_bytes(serve: Serve) -> None:
    asked = casefile.load("P-17").turns[0].asked
    original: str = invariants.at(asked.json, "/messages/2/content/0/content")
    async with serve(PEEKING) as served:
        await served.post(asked.body, x_context_guru_session="s")
        (marker_id,) = markers_in(json.dumps(outputs_in(served.sent[0])).encode())
        headers = {"x-context-guru-token": TA, "x-context-guru-session": "s"}
        fetched = await served.send("GET", f"/expand?id={marker_id}", headers=headers)

        served.simulator.script({"content": [x(marker_id)]}, {"content": "done"})
        await served.post(asked.body, x_context_guru_session="s")
        (asked_for,) = results(served.sent[1:3])

        await served.post(
            _answered_by_the_client(asked.json, marker_id), **{"x_context_guru_session": "s"}
        )
        repaired = outputs_in(served.sent[3])[-1]

    digests = [hashlib.sha256(text.encode()).hexdigest() for text in (asked_for, original)]
    assert hashlib.sha256(fetched.content).hexdigest() == digests[0] == digests[1]
    assert repaired in (
        original,
        f"[context_guru_expand: the content for id {marker_id} is "
        "present earlier in this conversation]",
    )
    assert original in outputs_in(served.sent[3])


def _answered_by_the_client(body: Any, marker_id: str) -> bytes:
    """The client met a call of the recovery tool and could only say that it has no such tool."""
    error = {
        "type": "tool_result", "tool_use_id": "toolu_x", "content": "no such tool",
        "is_error": True,
    }  # fmt: skip
    other = {"type": "tool_result", "tool_use_id": "toolu_r", "content": "ok"}
    added = [
        {"role": "assistant", "content": [r(), x(marker_id)]},
        {"role": "user", "content": [other, error]},
    ]
    return json.dumps({**body, "messages": [*body["messages"], *added]}).encode()


# ---- P-20: the head-peek ----------------------------------------------------------------------

FAMILY = "\N{MAN}\N{ZERO WIDTH JOINER}\N{WOMAN}\N{ZERO WIDTH JOINER}\N{GIRL}"


@pytest.mark.parametrize(
    "head",
    [
        pytest.param("x" * 94 + FAMILY, id="joined-emoji"),
        pytest.param("first line\nsecond line\r\nthird", id="newline"),
        pytest.param("closing >> and opening << too", id="angle-brackets"),
        pytest.param("<<cg:0123456789abcdef>> planted", id="whole-marker"),
        pytest.param("x" * 85 + "<<cg:0123456789abcdef>>", id="marker-at-the-cut"),
        pytest.param("\\ud83d lone escape", id="escaped-half"),
    ],
)
async def test_case_p_20_the_peek_is_one_valid_line_without_a_marker(
    peeking: Served, head: str
) -> None:
    await peeking.post(anthropic_body(f"{head} {REST}", "newest"))

    masked = outputs_in(peeking.sent[0])[0]
    masked.encode()
    assert masked.startswith("[older tool output masked; starts: ")
    assert len(masked.splitlines()) == 1
    assert len(list(find(masked))) == 1
    peek = masked.partition("starts: ")[2].rpartition("] <<cg:")[0]
    assert "\N{REPLACEMENT CHARACTER}" not in peek
    assert not list(find(peek))
