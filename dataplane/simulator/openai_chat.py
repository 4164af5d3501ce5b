"""The OpenAI Chat Completions dialect, in JSON and SSE."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from dataplane.simulator import answer as say
from dataplane.simulator.answer import Answer, Asked
from dataplane.simulator.cache import CacheUse, StepCache, tokens_of
from dataplane.simulator.openai_prompt import Prompt, read_chat
from dataplane.simulator.problem import SERVER_FAULT, ProviderError
from dataplane.simulator.script import Json, Round, markers_in

FINISH_REASONS = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "refusal": "content_filter",
}
_KINDS = {429: "rate_limit_error"}
_CODES = {429: "rate_limit_exceeded"}
_DONE = b"data: [DONE]\n\n"


def error_answer(error: ProviderError) -> Answer:
    """An error in the provider's shape."""
    fallback = "server_error" if error.status >= SERVER_FAULT else "invalid_request_error"
    shape = {
        "message": error.message,
        "type": error.kind or _KINDS.get(error.status, fallback),
        "param": error.param,
        "code": error.code or _CODES.get(error.status),
    }
    return say.json_answer({"error": shape}, status=error.status)


def chat_completions(asked: Asked, cache: StepCache) -> Answer:
    """POST /v1/chat/completions."""
    prompt = read_chat(asked.body)
    content = say.content_of(
        asked.wanted,
        say.default_text(prompt.messages, tokens_of(len(prompt.rendered))),
        lambda: _markers(asked.body),
    )
    choices = asked.wanted.n or prompt.choices
    use = cache.use(
        asked.owner(prompt.model), prompt.rendered, asked.now, lifetime_s=prompt.lifetime_s
    )
    usage = say.with_override(_usage(use, content, choices), asked.wanted.usage)
    reply = _Reply(asked, prompt, content, choices, usage)
    if prompt.stream:
        return say.sse_answer(list(reply.events()))
    return say.json_answer(reply.completion())


def _markers(body: bytes) -> list[str]:
    return markers_in(msgspec.json.decode(body, type=dict[str, msgspec.Raw])["messages"])


def _usage(use: CacheUse, content: list[Json], choices: int) -> Json:
    output = say.output_tokens(content) * choices
    return {
        "prompt_tokens": use.total,
        "completion_tokens": output,
        "total_tokens": use.total + output,
        "prompt_tokens_details": {
            "cached_tokens": use.read,
            "cache_write_tokens": use.written,
            "audio_tokens": 0,
        },
        "completion_tokens_details": {"reasoning_tokens": 0, "audio_tokens": 0},
    }


class _Reply:
    """One completion, spelled whole or as chunks."""

    def __init__(
        self, asked: Asked, prompt: Prompt, content: list[Json], choices: int, usage: Json
    ) -> None:
        self._wanted: Round = asked.wanted
        self._prompt = prompt
        self._choices = choices
        self._usage = usage
        self._shell: Json = {
            "id": f"chatcmpl-sim-{asked.serial:08d}",
            "created": int(asked.now),
            "model": prompt.model,
            "system_fingerprint": "fp_sim",
        }
        self._text = "".join(block["text"] for block in content if block.get("type") == "text")
        self._calls = [
            _call(block, f"call_sim_{asked.serial:08d}_{n}")
            for n, block in enumerate(content)
            if block.get("type") == "tool_use"
        ]
        reason = say.stop_reason_of(asked.wanted, content)
        self._finish = FINISH_REASONS.get(reason, reason)

    def completion(self) -> Json:
        message: Json = {
            "role": "assistant",
            "content": self._text or None,
            "refusal": None,
            "annotations": [],
        }
        if self._calls:
            message["tool_calls"] = self._calls
        rest = {"message": message, "logprobs": None, "finish_reason": self._finish}
        choices = [{"index": index, **rest} for index in range(self._choices)]
        return {
            **self._shell,
            "object": "chat.completion",
            "choices": choices,
            "usage": self._usage,
        }

    def events(self) -> Iterator[bytes]:
        body = [self._chunk(index, delta) for index, delta in self._deltas()]
        error = self._wanted.error_event
        if error is not None:
            yield from body[: error.after]
            shape = {"message": error.message, "type": error.type, "param": None, "code": None}
            yield _event({"error": shape})
            return
        yield from body
        for index in range(self._choices):
            yield self._chunk(index, {}, finish=self._finish)
        if self._prompt.includes_usage:
            yield _event(self._shelled([], usage=self._usage))
        yield _DONE

    def _deltas(self) -> Iterator[tuple[int, Json]]:
        opening = None if self._calls and not self._text else ""
        for index in range(self._choices):
            yield index, {"role": "assistant", "content": opening}
        pieces = say.text_pieces(self._text, self._wanted) if self._text else []
        for piece in pieces:
            for index in range(self._choices):
                yield index, {"content": piece}
        for number, call in enumerate(self._calls):
            for index in range(self._choices):
                for part in self._call_parts(call):
                    yield index, {"tool_calls": [{"index": number, **part}]}

    def _call_parts(self, call: Json) -> Iterator[Json]:
        function = call["function"]
        yield {**call, "function": {"name": function["name"], "arguments": ""}}
        for piece in say.slices(function["arguments"], self._wanted.delta_chars):
            yield {"function": {"arguments": piece}}

    def _chunk(self, index: int, delta: Json, *, finish: str | None = None) -> bytes:
        choice = {"index": index, "delta": delta, "logprobs": None, "finish_reason": finish}
        return _event(self._shelled([choice], usage=None))

    def _shelled(self, choices: list[Json], *, usage: Json | None) -> Json:
        chunk = {**self._shell, "object": "chat.completion.chunk", "choices": choices}
        return {**chunk, "usage": usage} if self._prompt.includes_usage else chunk


def _call(block: Json, call_id: str) -> Json:
    arguments = msgspec.json.encode(block.get("input", {})).decode()
    function = {"name": block["name"], "arguments": arguments}
    return {"id": block.get("id", call_id), "type": "function", "function": function}


def _event(value: Any) -> bytes:
    return b"data: %s\n\n" % msgspec.json.encode(value)
