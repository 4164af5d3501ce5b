"""What an answer cost that nobody read to its end."""

from __future__ import annotations

from typing import Any

import pytest

from dataplane.simulator import script_header
from tests.dataplane.gateway_cases.served import AGENT, Served, with_output
from tests.patience import until

LONG = "This was said, and the provider bills it. " * 40


def streamed(**how: Any) -> dict[str, str]:
    return {**AGENT, "x-sim-script": script_header({"content": LONG, **how})}


@pytest.mark.parametrize("client_leaves", [True, False])
async def test_a_cut_answer_is_booked_with_what_was_delivered_of_it(
    served: Served, *, client_leaves: bool
) -> None:
    headers = streamed(gap_ms=30) if client_leaves else streamed(cut_after_events=20)
    body, url = with_output("short", stream=True), f"{served.gateway.url}/v1/messages"

    async with served.http.stream("POST", url, content=body, headers=headers) as answer:
        lines = answer.aiter_lines()
        async for line in lines:
            if client_leaves and "This was said" in line:
                break
    await until(lambda: served.stats()["all_requests"] == 1)

    said = served.stats()
    assert said["usage_estimated"] == 1
    assert said["output_tokens"] > 1
    assert said["cache_write_tokens"] + said["fresh_input_tokens"] > 0
    assert said["priced_requests"] == 1
