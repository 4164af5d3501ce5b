"""Responses that the provider keeps, continued through a node (00-start-here.md 2 (row 26))."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from dataplane.simulator import Simulator
from tests.dataplane.gateway import TA, gateway, tenants
from tests.dataplane.gateway_cases.served import LONG, MASK_ALL, Serve, Served
from tests.dataplane.gateway_cases.test_responses import (
    EXPAND,
    MASKED,
    TOOLS,
    asked,
    client,
    history,
    names,
    post,
)
from tests.patience import PATIENCE_S

BASH = {"type": "tool_use", "name": "bash", "id": "call_b", "input": {}}
OUTPUT: Any = {"type": "function_call_output", "call_id": "call_b", "output": "short"}
SESSION = {"x_context_guru_session": "s1"}


def sent(served: Served) -> list[dict[str, Any]]:
    return [json.loads(body) for body in served.sent]


def kinds(body: dict[str, Any]) -> list[str]:
    return [item.get("type", "message") for item in body["input"]]


async def test_a_later_turn_of_the_chain_asks_back_what_an_earlier_one_removed(
    served: Served,
) -> None:
    served.simulator.script({"content": [BASH]}, {"content": [EXPAND]}, {"content": "It says so."})

    async with client(served) as package:
        first = await package.responses.create(model="gpt-5.6", input=history(), tools=TOOLS)
        last = await package.responses.create(
            model="gpt-5.6", input=[OUTPUT], tools=TOOLS, previous_response_id=first.id
        )

    assert last.output_text == "It says so."
    begun, going_on, continued = sent(served)
    assert MASKED in begun["input"][3]["output"]
    assert names(served.sent[1]) == names(served.sent[0])
    assert going_on["input"] == [OUTPUT]
    assert kinds(continued) == ["function_call_output", "function_call", "function_call_output"]
    assert continued["input"][2]["output"] == LONG
    assert continued["previous_response_id"] == first.id
    await served.settled()
    assert served.stats()["bounces"] == 1
    assert served.stats()["compaction_resets"] == 0


async def test_the_tool_is_there_again_although_the_client_brings_none_this_time(
    served: Served,
) -> None:
    served.simulator.script({"content": [BASH]})
    first = (await post(served, asked())).json()

    await post(served, asked(input=[OUTPUT], tools=[], previous_response_id=first["id"]))

    assert names(served.sent[1]) == ["context_guru_expand"]


@pytest.mark.parametrize("streams", [True, False])
async def test_the_id_that_a_client_was_shown_can_be_continued(
    served: Served, *, streams: bool
) -> None:
    served.simulator.script({"content": [EXPAND]}, {"content": "It says so."}, {"content": "Yes."})
    more: Any = {"role": "user", "content": "Sure?"}
    shown: Any

    async with client(served) as package:
        if streams:
            async with package.responses.stream(
                model="gpt-5.6", input=history(), tools=TOOLS
            ) as opened:
                shown = await opened.get_final_response()
        else:
            shown = await package.responses.create(model="gpt-5.6", input=history(), tools=TOOLS)
        last = await package.responses.create(
            model="gpt-5.6", input=[more], tools=TOOLS, previous_response_id=shown.id
        )

    continued = sent(served)[2]["previous_response_id"]
    assert (continued == shown.id) is not streams  # the stream had begun under another id
    assert last.previous_response_id == shown.id
    assert last.output_text == "Yes."


async def test_a_hidden_round_of_a_conversation_sends_only_the_outputs(serve: Serve) -> None:
    async with serve(responses_partial=True) as served:
        served.simulator.script({"content": [EXPAND]}, {"content": [EXPAND]}, {"content": "Done."})

        answer = await post(served, asked(conversation="conv_1"))

        first, second, third = sent(served)
        assert MASKED in first["input"][3]["output"]
        for hidden in (second, third):
            assert kinds(hidden) == ["function_call_output"]
            assert hidden["input"][0]["output"] == LONG
            assert hidden["conversation"] == "conv_1"
        assert answer.json()["output"][-1]["content"][0]["text"] == "Done."


async def test_what_a_conversation_may_not_keep_is_not_removed(serve: Serve) -> None:
    async with serve(responses_partial=True) as served:
        await post(served, asked(conversation="conv_1", store=False))

        assert sent(served)[0]["input"][3]["output"] == LONG


async def test_a_background_answer_has_no_tool_and_no_new_removal(served: Served) -> None:
    await post(served, asked(), **SESSION)
    later = [*history(), {**history()[2], "call_id": "c2"}]
    later.append({"type": "function_call_output", "call_id": "c2", "output": LONG + "more"})

    await post(served, asked(input=later, background=True), **SESSION)

    first, second = sent(served)
    assert names(served.sent[1]) == ["bash"]
    assert second["input"][3] == first["input"][3]
    assert second["input"][5]["output"] == LONG + "more"
    assert served.stats()["components"]["mask"]["gates"]["no_recovery_path"] == 1


@pytest.mark.parametrize("streams", [True, False])
async def test_a_call_that_the_client_had_to_answer_is_put_right_in_the_chain(
    served: Served, *, streams: bool
) -> None:
    served.simulator.script({"content": [EXPAND | {"id": "call_x"}, BASH]}, {"content": "Done."})
    answer = await post(served, asked(stream=streams))
    first = last_response(answer.text) if streams else answer.json()
    assert [item["name"] for item in first["output"]] == ["context_guru_expand", "bash"]
    failed = {"type": "function_call_output", "call_id": "call_x", "output": "unknown tool"}

    await post(served, asked(input=[failed, OUTPUT], previous_response_id=first["id"]))

    assert sent(served)[1]["input"] == [{**failed, "output": LONG}, OUTPUT]


def last_response(events: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(events.rpartition("data: ")[2])["response"]
    return found


async def test_what_is_fetched_by_the_id_that_was_shown_is_the_round_that_ended_the_answer(
    served: Served,
) -> None:
    served.simulator.script({"content": [EXPAND]}, {"content": "It says so."})
    events = (await post(served, asked(stream=True))).text
    shown = json.loads(events.partition("data: ")[2].partition("\n")[0])["response"]["id"]

    async with client(served) as package:
        found = await package.responses.retrieve(shown)
        listed = await package.responses.input_items.list(shown)
        cancelled = await package.responses.cancel(shown)
        await package.responses.delete(shown)

    assert (found.id, found.output_text) == (shown, "It says so.")
    assert [tool.name for tool in found.tools if tool.type == "function"] == ["bash"]
    called = [item for item in listed.data if item.type == "function_call"]
    assert [call.name for call in called] == ["bash"]
    assert len(listed.data) == len(history())
    assert (cancelled.id, cancelled.status) == (shown, "cancelled")
    paths = [request.path for request in served.simulator.requests[2:]]
    assert len({path.split("/")[3].partition("?")[0] for path in paths}) == 1
    assert not any(shown in path for path in paths)


async def test_a_call_in_an_answer_that_is_fetched_never_reaches_the_client(
    served: Served,
) -> None:
    served.simulator.script({"content": "Hi."}, {"content": [EXPAND | {"input": {}}, BASH]})
    first = (await post(served, asked())).json()
    begun = await post(
        served, asked(input="Go on.", previous_response_id=first["id"], background=True)
    )

    async with client(served) as package:
        polled = await package.responses.retrieve(begun.json()["id"])
        streamed = await post(served, asked(stream=True, background=True))

    assert (begun.json()["status"], polled.status) == ("queued", "completed")
    assert [item.type for item in polled.output] == ["function_call"]
    assert "context_guru" not in begun.text + str(polled) + streamed.text
    await served.settled()
    assert served.stats()["recovery_endings"]["call_fetched"] == 1


async def test_another_process_knows_which_round_ended_the_answer(
    tmp_path: Path, simulator: Simulator
) -> None:
    headers = {"x-context-guru-token": TA, "authorization": "Bearer sk-agent"}
    simulator.script({"content": [EXPAND]}, {"content": "It says so."}, {"content": "Yes."})
    async with httpx.AsyncClient(trust_env=False, timeout=PATIENCE_S) as http:
        async with gateway(tmp_path, tenants(MASK_ALL), simulator.url) as first:
            address = first.url + "/v1/responses"
            events = (await http.post(address, content=asked(stream=True), headers=headers)).text
        shown = json.loads(events.partition("data: ")[2].partition("\n")[0])["response"]["id"]
        more = asked(input="Sure?", previous_response_id=shown)
        async with gateway(tmp_path, tenants(MASK_ALL), simulator.url) as second:
            address = second.url + "/v1/responses"
            answer = (await http.post(address, content=more, headers=headers)).json()

    assert answer["output"][0]["content"][0]["text"] == "Yes."
    assert answer["previous_response_id"] == shown


@pytest.mark.parametrize("what", ["input_tokens", "compact"])
async def test_what_else_is_asked_about_a_response_is_asked_of_the_round_that_ended_it(
    served: Served, what: str
) -> None:
    served.simulator.script({"content": [EXPAND]}, {"content": "It says so."})
    events = (await post(served, asked(stream=True))).text
    shown = json.loads(events.partition("data: ")[2].partition("\n")[0])["response"]["id"]
    body = {"model": "gpt-5.6", "input": "?", "previous_response_id": shown}

    await served.post(json.dumps(body).encode(), path=f"/v1/responses/{what}")

    asked_of = json.loads(served.sent[-1]).pop("previous_response_id")
    assert asked_of.startswith("resp_sim_")
    assert asked_of != shown
