"""What the C cases of 08-field-cases.md ask for beyond their files: the provider's prompt cache."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dataplane.core.components import components
from dataplane.core.config.check import check
from dataplane.core.config.layers import Context
from dataplane.core.config.presets import BUILT_IN
from dataplane.core.tools.tool import EXPAND_ANTHROPIC
from dataplane.simulator import Simulator
from tests.dataplane.core.build import anthropic_body
from tests.dataplane.field_cases import casefile
from tests.dataplane.field_cases.checks import CHECKS, undeclared
from tests.dataplane.field_cases.playing import staged
from tests.dataplane.gateway import TB
from tests.dataplane.gateway_cases.served import AGENT, MASK_ALL, Serve, Served, serving
from tests.dataplane.recovery_cases.scripted import items, member

SUMMARY = "Your task is to create a detailed summary of the conversation so far."
OUTPUTS = [f"{number}: a line of output\n" * 60 for number in range(10)]
RUNNABLE = [
    preset.name
    for preset in BUILT_IN
    if check(f"preset: {preset.name}\n", context=Context(components())).effective is not None
]


@pytest.mark.parametrize("preset", RUNNABLE)
async def test_case_c_05_no_preset_adds_a_fifth_mark_or_moves_one(
    serve: Serve, preset: str
) -> None:
    asked = casefile.load("C-05").turns[0].asked
    async with serve(f"preset: {preset}\n") as served:
        await served.post(asked.body)

    assert undeclared(served.sent[0]) == asked.body


async def test_case_c_09_a_changed_nonce_is_no_other_conversation(
    tmp_path: Path, simulator: Simulator
) -> None:
    config = {
        "pipeline": ["mask"],
        "inject_expand": "always",
        "components": {"mask": {"keep_recent": 1, "min_tokens": 50}},
        "cache": {"mode": "off"},
    }
    case = replace(casefile.load("C-09"), setup={"config": config})
    async with staged(case, tmp_path, simulator) as stage:
        played = [await stage.play(turn) for turn in case.turns]

    first, second = (turn.record for turn in played)
    assert first is not None
    assert second is not None
    assert (first.session, first.thread) == (second.session, second.thread)
    assert not second.compacted
    assert played[0].gained("components", "mask", "acted") == 1
    assert played[1].gained("frozen_hits") > 0
    CHECKS["reduced_messages_stable"](stage, played, True)  # noqa: FBT003


# ---- C-10: the declaration of the recovery tool -----------------------------------------------


async def session(served: Served, session: str, key: str) -> list[bytes]:
    """Ten turns, each with one output more; the exact bytes of `tools` on every one of them."""
    known = len(served.sent)
    for turn in range(len(OUTPUTS)):
        body = anthropic_body(*OUTPUTS[: turn + 1])
        headers = AGENT | {"x-context-guru-token": key, "x-context-guru-session": session}
        await served.send("POST", "/v1/messages", content=body, headers=headers)
    tools = [member(body, "tools") for body in served.sent[known:]]
    return [each for each in tools if each is not None]


async def test_case_c_10_the_declaration_is_the_same_bytes_everywhere_and_never_leaves(
    tmp_path: Path, simulator: Simulator
) -> None:
    """Markers come from the second turn on; with 03 §4.2 the tool is there from the first.

    Sessions, tenants and nodes must not differ either.
    """
    found: list[bytes] = []
    for process in ("first", "second"):
        async with serving(tmp_path / process, simulator)(
            "pipeline: [mask]\ncomponents: {mask: {keep_recent: 1}}\n"
        ) as served:
            found += await session(served, "s1", AGENT["x-context-guru-token"])
            found += await session(served, "s2", TB)

    assert len(found) == 4 * len(OUTPUTS)
    assert len(set(found)) == 1
    assert found[0].endswith(b"," + EXPAND_ANTHROPIC + b"]")
    assert any(b"<<cg:" in body for body in served.sent)


async def test_case_c_10_the_clients_mark_on_its_last_tool_stays_there(served: Served) -> None:
    body = json.loads(anthropic_body(OUTPUTS[0]))
    body["tools"][-1]["cache_control"] = {"type": "ephemeral", "ttl": "1h"}

    await served.post(json.dumps(body).encode())

    tools = [json.loads(each) for each in items(served.sent[0], "tools")]
    assert tools[:-1] == body["tools"]
    assert "cache_control" not in tools[-1]


# ---- C-13: the agent compacts its own conversation --------------------------------------------


def summarising(*outputs: str) -> bytes:
    body: dict[str, Any] = json.loads(anthropic_body(*outputs))
    body["messages"] += [
        {"role": "assistant", "content": [{"type": "text", "text": "Done so far."}]},
        {"role": "user", "content": SUMMARY},
    ]
    return json.dumps(body).encode()


async def test_case_c_13_the_agents_summary_request_is_not_compacted(served: Served) -> None:
    asked = summarising(*OUTPUTS)

    await served.post(asked)

    assert served.sent == [asked]
    assert served.stats()["bypassed"] == {"agent_compaction": 1}


async def test_case_c_13_markers_that_stand_in_a_summary_request_can_still_be_opened(
    served: Served,
) -> None:
    """A client that keeps what it was shown sends markers; the summary may need what they hide."""
    await served.post(anthropic_body(OUTPUTS[0]), x_context_guru_session="s")
    (message,) = [json.loads(each) for each in items(served.sent[0], "messages")[2:]]
    marked = message["content"][0]["content"]
    asked = summarising(marked)
    call = {"type": "tool_use", "name": "context_guru_expand", "input": {"id": {"$marker": 0}}}
    served.simulator.script({"content": [call]}, {"content": "summary"})

    answer = await served.post(asked, x_context_guru_session="s")

    assert [json.loads(each)["messages"][-1] for each in served.sent[2:]] == [
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": json.loads(served.sent[2])["messages"][-2]["content"][0]["id"],
                    "content": OUTPUTS[0],
                }
            ],
        }
    ]
    assert answer.json()["content"][0]["text"] == "summary"


async def test_case_c_13_after_the_shrink_the_boundary_starts_again(serve: Serve) -> None:
    async with serve(MASK_ALL) as served:
        for count in (3, 9):
            await served.post(anthropic_body(*OUTPUTS[:count]), x_context_guru_session="s")
        before = served.stats()["compaction_resets"]

        await served.post(anthropic_body(*OUTPUTS[7:9]), x_context_guru_session="s")

        sent = served.sent[-1]
        assert (before, served.stats()["compaction_resets"]) == (0, 1)
        assert sent.count(b"<<cg:") == 2 + EXPAND_ANTHROPIC.count(b"<<cg:")
        assert served.stats()["frozen_flips"] == 0


async def test_an_agent_that_begins_anew_with_a_summary_is_counted_as_a_reset(serve: Serve) -> None:
    """As Claude Code 2.1 does it: the session's name stays, the first message is the summary."""
    summary = "This session is being continued from a previous conversation. They counted."
    anew = {
        **json.loads(anthropic_body(OUTPUTS[0])),
        "messages": [
            {"role": "user", "content": summary},
            {"role": "assistant", "content": [{"type": "text", "text": "done"}]},
            {"role": "user", "content": [{"type": "text", "text": "go on"}]},
        ],
    }
    async with serve(MASK_ALL) as served:
        await served.post(anthropic_body(*OUTPUTS[:9]), x_context_guru_session="s")
        before = served.stats()["compaction_resets"]

        await served.post(json.dumps(anew).encode(), x_context_guru_session="s")

        assert (before, served.stats()["compaction_resets"]) == (0, 1)


# As Codex 0.171 sends them, texts shortened; it names its session in a header of its own.
CODEX_SETS_OUT: list[dict[str, Any]] = [
    {"type": "message", "role": role, "content": [{"type": "input_text", "text": text}]}
    for role, text in (
        ("developer", "You are a coding agent running in the Codex CLI."),
        ("developer", "<permissions instructions>"),
        ("user", "<environment_context>"),
        ("user", "Count, and say when it is done."),
    )
]
CODEX_CALLED: list[dict[str, Any]] = [
    {"type": "function_call", "call_id": "c1", "name": "exec_command", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "c1", "output": "Output:\n1\n2\n3\n"},
]
CODEX_ASKS = "You are performing a CONTEXT CHECKPOINT COMPACTION."
CODEX_SUMMARY = (
    "Another language model started to solve this problem and produced a summary of its thinking "
    "process. They counted."
)


def said(text: str) -> dict[str, Any]:
    return {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}


SEALED = {"type": "compaction", "encrypted_content": "gAAAAABo"}


@pytest.mark.parametrize(
    "anew",
    [
        pytest.param([*CODEX_SETS_OUT, said(CODEX_SUMMARY)], id="a summary of its own"),
        pytest.param([CODEX_SETS_OUT[3], SEALED], id="an item of the provider"),
        pytest.param([SEALED, said("go on")], id="such an item alone"),
        pytest.param(
            [{**SEALED, "type": "compaction_summary"}, said("go on")], id="its earlier name"
        ),
    ],
)
async def test_codex_that_compacts_is_counted_as_a_reset_once(
    serve: Serve, anew: list[dict[str, Any]]
) -> None:
    async with serve(MASK_ALL) as served:
        counted = []
        for history in (
            CODEX_SETS_OUT,
            [*CODEX_SETS_OUT, *CODEX_CALLED],
            [*CODEX_SETS_OUT, *CODEX_CALLED, said(CODEX_ASKS)],
            anew,
            [*anew, *CODEX_CALLED],
        ):
            body = json.dumps({"model": "gpt-5.6", "store": False, "input": history}).encode()
            answer = await served.post(body, path="/v1/responses", session_id="01a23087-0274")
            assert answer.status_code == 200
            counted.append(served.stats()["compaction_resets"])

        assert counted == [0, 0, 0, 1, 1]
