"""Session, thread, cache phase and bypass on a running node: 03-proxy-and-recovery.md 10.4.

Cases 60 and 61 (pipeline overrides and /compact) are not part of the product yet.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dataplane.core.effects import OpenTurn, PastTurn, Scope
from dataplane.simulator import Simulator
from tests.dataplane.gateway import TB
from tests.dataplane.gateway_cases.served import (
    AGENT,
    LONG,
    MASK_ALL,
    Serve,
    Served,
    serving,
    with_output,
)

COLD = MASK_ALL.replace("keep_head_chars: 0", "keep_head_chars: 0, cold_cache: true")
SUMMARY = "Your task is to create a detailed summary of the conversation so far."
FROM = 1_000_000.0
MASKED = b"older tool output masked"


async def recorded(served: Served, session: str, thread: str = "") -> PastTurn | None:
    """What the node remembers of a session's last turn; looking counts as a turn of its own."""
    scope = Scope("ten_acme", "pa", session, thread)
    view = await served.gateway.node.store.open_turn(OpenTurn(scope, 0, FROM, 0, offered=False))
    return view.previous


@pytest.mark.parametrize(
    ("header", "session"),
    [
        pytest.param("s.1:a", "s.1:a", id="48-usable"),
        pytest.param("s/1", "from-metadata", id="48-slash"),
        pytest.param("..", "from-metadata", id="48-only-dots"),
        pytest.param("s" * 129, "from-metadata", id="48-too-long"),
        pytest.param("s" * 128, "s" * 128, id="48-longest"),
    ],
)
async def test_the_first_usable_candidate_names_the_session(
    served: Served, header: str, session: str
) -> None:
    body = with_output("short", metadata={"user_id": "from-metadata"})

    answer = await served.post(body, x_context_guru_session=header)

    assert answer.status_code == 200
    found = await recorded(served, session)
    assert found is not None
    assert found.messages == 3


@pytest.mark.parametrize(
    ("headers", "session"),
    [
        pytest.param({"x_session_id": "ses_dcf7"}, "ses_dcf7", id="opencode"),
        pytest.param({"session_id": "01a23087-0274"}, "01a23087-0274", id="codex"),
        pytest.param(
            {"x_session_id": "its", "x_context_guru_session": "ours"}, "ours", id="ours-before-its"
        ),
        pytest.param(
            {"x_session_id": "its", "x_context_guru_session": "s/1"}, "its", id="ours-unusable"
        ),
        pytest.param({"x_session_id": "s/1"}, "from-metadata", id="its-unusable"),
    ],
)
async def test_a_header_that_agents_send_by_themselves_names_the_session(
    served: Served, headers: dict[str, str], session: str
) -> None:
    body = with_output("short", metadata={"user_id": "from-metadata"})

    answer = await served.post(body, **headers)

    assert answer.status_code == 200
    assert await recorded(served, session) is not None


async def test_opencode_that_compacts_goes_on_in_its_session(served: Served) -> None:
    session = {"x_session_id": "ses_dcf7"}
    asks = {"role": "user", "content": "Here is the conversation so far:\n\n<conversation>"}
    opening = {"role": "user", "content": "What did we do so far?"}
    summary = {"role": "assistant", "content": "They counted."}
    title = {"role": "user", "content": "Generate a title for this conversation:"}

    for messages in (
        [title], talk_messages(1), talk_messages(9), [asks],
        [opening, summary, {"role": "user", "content": "go on"}],
    ):  # fmt: skip
        await served.post(with_output("", messages=messages), **session)

    assert served.stats()["compaction_resets"] == 1


DERIVED = "d859a3c30263287b"


@pytest.mark.parametrize(
    ("user_id", "session"),
    [
        pytest.param(
            '{"device_id":"d","account_uuid":"u","session_id":"abc"}', "abc", id="49-claude-code"
        ),
        pytest.param(17, DERIVED, id="49-a-number"),
        pytest.param(
            json.dumps({"session_id": "abc", "pad": "p" * 1100}), DERIVED, id="49-too-long"
        ),
    ],
)
async def test_a_session_is_read_from_the_metadata(
    served: Served, user_id: Any, session: str
) -> None:
    answer = await served.post(with_output("short", metadata={"user_id": user_id}))

    assert answer.status_code == 200
    assert await recorded(served, session) is not None


async def test_case_50_the_top_level_system_prompt_is_no_part_of_the_derived_id(
    served: Served,
) -> None:
    for minute in range(3):
        await served.post(with_output("short", system=f"It is minute {minute}."))
        found = await recorded(served, DERIVED)

        assert found is not None
        assert found.messages == 3


async def test_case_51_tenants_share_neither_rows_nor_markers(served: Served) -> None:
    body = with_output(LONG)
    birch = AGENT | {"x-context-guru-token": TB, "x-context-guru-session": "same"}

    await served.post(body, x_context_guru_session="same")
    await served.send("POST", "/v1/messages", content=body, headers=birch)
    other = with_output("x" * 4000).replace(b"Fix the test.", b"Another task.")
    await served.post(other, x_context_guru_session="another")

    assert [served.stats(slug)["stash_live"] for slug in ("acme", "birch")] == [2, 1]
    miss = await served.send("GET", "/expand?id=91c9568c40c8d8d1", headers=birch)
    mine = AGENT | {"x-context-guru-session": "another"}
    hit = await served.send("GET", "/expand?id=91c9568c40c8d8d1", headers=mine)
    assert miss.status_code == 404
    assert (hit.status_code, hit.text) == (200, "x" * 4000)


async def test_case_52_a_subagent_has_a_boundary_of_its_own(served: Served) -> None:
    session = {"x_context_guru_session": "s"}

    await served.post(talk(20), **session)
    await served.post(talk(2), **session, x_claude_code_agent_id="sub1")

    main, sub = await recorded(served, "s"), await recorded(served, "s", "a:sub1")
    assert main is not None
    assert sub is not None
    assert (main.messages, sub.messages) == (20, 2)
    assert served.stats()["compaction_resets"] == 0


async def test_a_subagent_without_a_header_has_a_boundary_of_its_own(served: Served) -> None:
    session = {"x_context_guru_session": "s"}

    await served.post(talk(20), **session)
    await served.post(with_output("short"), **session)
    await served.post(talk(22), **session)

    main = await recorded(served, "s")
    assert main is not None
    assert main.messages == 22
    assert served.stats()["compaction_resets"] == 0


async def test_case_53_a_shorter_transcript_is_a_new_beginning(served: Served) -> None:
    shorter = [talk_messages(1)[0], *json.loads(with_output(LONG))["messages"][1:]]

    await served.post(with_output("short", messages=talk_messages(10)), x_context_guru_session="s")
    await served.post(with_output("short", messages=shorter), x_context_guru_session="s")

    assert served.stats()["compaction_resets"] == 1
    assert MASKED in served.sent[-1]  # nothing of the shorter transcript counts as cached


async def test_case_54_the_longest_cache_lifetime_of_a_session_counts(served: Served) -> None:
    hour = {"type": "ephemeral", "ttl": "1h"}
    body = with_output("short")
    nested = json.loads(body)
    nested["messages"][2]["content"][0]["content"] = [
        {"type": "text", "text": "short", "cache_control": hour}
    ]

    await served.post(json.dumps(nested).encode(), x_context_guru_session="s")
    first = await recorded(served, "s")
    await served.post(body, x_context_guru_session="s")
    second = await recorded(served, "s")

    assert first is not None
    assert second is not None
    assert (first.ttl_s, second.ttl_s) == (3600, 3600)


async def test_case_55_the_word_in_a_text_is_not_a_breakpoint(served: Served) -> None:
    text = '"cache_control":{"type":"ephemeral","ttl":"1h"}'

    await served.post(with_output(text), x_context_guru_session="s")

    found = await recorded(served, "s")
    assert found is not None
    assert found.ttl_s == 300


def talk_messages(count: int) -> list[dict[str, Any]]:
    return [
        {"role": ("user", "assistant")[number % 2], "content": f"message {number}"}
        for number in range(count)
    ]


def talk(count: int) -> bytes:
    return with_output("", messages=talk_messages(count))


def marked(text: str) -> bytes:
    """One whose client has the provider cache it."""
    return with_output(text, cache_control={"type": "ephemeral"})


def chat(text: str, model: str) -> bytes:
    """An OpenAI request with one tool output."""
    call = {"id": "c", "type": "function", "function": {"name": "bash", "arguments": "{}"}}
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": "Fix the test."},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": text},
    ]
    tools = [{"type": "function", "function": {"name": "bash", "parameters": {"type": "object"}}}]
    return json.dumps({"model": model, "messages": messages, "tools": tools}).encode()


@pytest.mark.parametrize(
    ("path", "body", "idle_s", "masks"),
    [
        pytest.param("/v1/messages", marked(LONG), 361, True, id="56-cold"),
        pytest.param("/v1/messages", marked(LONG), 359, False, id="56-within-the-margin"),
        pytest.param("/v1/messages", marked(LONG), 10, False, id="56-warm"),
        pytest.param("/v1/messages", with_output(LONG), 10, True, id="nothing asks for a cache"),
        pytest.param(
            "/v1/chat/completions", chat(LONG, "gpt-5.6"), 361, False, id="56-minimum-lifetime"
        ),
        pytest.param(
            "/v1/chat/completions", chat(LONG, "gpt-5.6"), 80_000, False, id="56-never-certain"
        ),
        pytest.param(
            "/v1/chat/completions", chat(LONG, "gpt-4o"), 80_000, False, id="56-unknown-lifetime"
        ),
    ],
)
async def test_at_depth_is_masked_only_when_the_cache_has_certainly_expired(
    serve: Serve, path: str, body: bytes, idle_s: float, *, masks: bool
) -> None:
    async with serve(COLD, test_clock=True) as served:
        bypassed = {"x_context_guru_bypass": "true", "x_headrace_now": str(FROM)}
        await served.post(body, path=path, **bypassed)
        await served.post(body, path=path, x_headrace_now=str(FROM + idle_s))

        assert served.sent[0] == body
        assert (MASKED in served.sent[1]) is masks


@pytest.mark.parametrize(
    ("idle_s", "masks"),
    [pytest.param(10, False, id="still held"), pytest.param(361, True, id="certainly expired")],
)
async def test_what_an_answer_reported_as_cached_is_left_alone_while_it_may_be_held(
    serve: Serve, idle_s: float, *, masks: bool
) -> None:
    held = LONG * 16  # enough that the provider keeps it
    async with serve(MASK_ALL, test_clock=True) as served:
        bypassed = {"x_context_guru_bypass": "true", "x_headrace_now": str(FROM)}
        await served.post(marked(held), **bypassed)
        await served.post(with_output(held), x_headrace_now=str(FROM + idle_s))

        assert (MASKED in served.sent[1]) is masks


async def test_a_restarted_node_knows_that_a_thread_is_cached(
    tmp_path: Path, simulator: Simulator
) -> None:
    place, held = tmp_path / "kept", LONG * 16
    for turn in range(2):
        async with serving(place, simulator)(MASK_ALL) as served:
            headers = {"x_context_guru_bypass": "true"} if turn == 0 else {}
            await served.post((marked, with_output)[turn](held), **headers)

    assert MASKED not in served.sent[1]


async def test_case_56_the_first_request_of_a_session_is_not_cold(serve: Serve) -> None:
    async with serve(COLD, test_clock=True) as served:
        await served.post(with_output(LONG), x_headrace_now=str(FROM))

        assert MASKED in served.sent[0]  # it is all tail, whatever the clock says
        assert served.simulator.requests[0].header("x-headrace-now") == str(FROM)


async def test_case_56_a_restarted_node_keeps_the_boundary(
    tmp_path: Path, simulator: Simulator
) -> None:
    place = tmp_path / "kept"
    for turn in range(2):
        async with serving(place, simulator)(MASK_ALL) as served:
            headers = {"x_context_guru_bypass": "true"} if turn == 0 else {}
            await served.post(marked(LONG), **headers)
            gates = served.stats()["components"].get("mask", {}).get("gates", {})

    assert gates == {"cached_prefix": 1}
    assert MASKED not in simulator.requests[-1].body


async def test_the_clock_header_is_neither_read_nor_forwarded_outside_test_mode(
    served: Served,
) -> None:
    await served.post(with_output("short"), x_headrace_now="5", x_context_guru_session="s")

    found = await recorded(served, "s")
    assert found is not None
    assert found.at > FROM
    assert served.simulator.requests[-1].header("x-headrace-now") is None


async def test_case_57_a_bypassed_request_is_not_changed_but_recorded(served: Served) -> None:
    body = with_output(LONG)

    await served.post(body, x_context_guru_bypass="TRUE", x_context_guru_session="s")

    assert served.sent == [body]
    assert served.stats()["bypassed"] == {"header": 1}
    found = await recorded(served, "s")
    assert found is not None
    assert found.messages == 3
    assert found.at > FROM


def ending_in(content: Any) -> bytes:
    body = json.loads(with_output(LONG))
    body["messages"][2]["content"].append(content)
    return json.dumps(body).encode()


@pytest.mark.parametrize(
    ("body", "bypassed"),
    [
        pytest.param(
            with_output("", messages=[*talk_messages(2), {"role": "user", "content": SUMMARY}]),
            {"agent_compaction": 1},
            id="58-text",
        ),
        pytest.param(
            ending_in({"type": "text", "text": SUMMARY}),
            {"agent_compaction": 1},
            id="58-text-beside-a-tool-result",
        ),
        pytest.param(with_output(SUMMARY + LONG), {}, id="58-tool-result"),
        pytest.param(
            with_output(LONG, compaction={"type": "auto"}),
            {"agent_compaction": 1},
            id="59-compaction-object",
        ),
    ],
)
async def test_an_agent_that_compacts_its_own_transcript_is_left_alone(
    served: Served, body: bytes, bypassed: dict[str, int]
) -> None:
    await served.post(body)

    assert served.stats()["bypassed"] == bypassed
    assert (served.sent == [body]) is bool(bypassed)
