"""An OpenAI request, Chat or Responses, as the provider sees it: one rendered run of bytes.

Refuses what the provider refuses and gateways get wrong: tool calls without their results,
results without their calls, repeated ids.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import msgspec

from dataplane.simulator import parse
from dataplane.simulator.cache import BYTES_PER_TOKEN, THIRTY_MINUTES_S
from dataplane.simulator.parse import Members
from dataplane.simulator.problem import ProviderError

IMAGE_BYTES = 765 * BYTES_PER_TOKEN  # an image is counted by its pixels, not by its base64
_LIFETIMES = {"30m": THIRTY_MINUTES_S, "12h": 12 * 3600}
_RETENTION_24H_S = 24 * 3600
_IMAGES = {"image_url", "input_image"}
_CALLS = {"function_call", "custom_tool_call"}
_OUTPUTS = {"function_call_output", "custom_tool_call_output"}


@dataclass(frozen=True, slots=True)
class Prompt:
    """What the model is given. rendered: tools, then instructions or messages."""

    model: str
    messages: int
    rendered: bytes
    stream: bool
    includes_usage: bool
    choices: int
    lifetime_s: float


def read_chat(body: bytes) -> Prompt:
    """The prompt of a Chat Completions body, or the provider's refusal."""
    top = parse.top_members(body)
    _require(top, "model", "messages")
    messages = _each(top["messages"], "messages")
    if not messages:
        raise ProviderError("[] is too short - 'messages'", param="messages", code="empty_array")
    _check_chat_tools(messages)
    return _prompt(top, messages)


def read_responses(top: Members, earlier: Sequence[Members] = ()) -> Prompt:
    """The prompt of a Responses body with these members, or the provider's refusal.

    earlier: the items of the conversation that it goes on with.
    """
    _require(top, "model", "input")
    if parse.is_string(top["input"]):
        return _prompt(top, [*earlier, {"content": top["input"]}])
    items = [*earlier, *_each(top["input"], "input")]
    _check_items(items)
    return _prompt(top, items)


def _require(top: Members, *names: str) -> None:
    for name in names:
        if name not in top:
            raise ProviderError(
                f"Missing required parameter: '{name}'.",
                param=name,
                code="missing_required_parameter",
            )


def _each(raw: msgspec.Raw, where: str) -> list[Members]:
    elements = parse.elements(raw, where)
    return [parse.members(element, f"{where}[{n}]") for n, element in enumerate(elements)]


def _prompt(top: Members, messages: list[Members]) -> Prompt:
    parts: list[bytes | memoryview] = []
    for tool in _each(top["tools"], "tools") if "tools" in top else []:
        parts.extend(_rendered(tool))
    if instructions := top.get("instructions"):
        parts.append(memoryview(instructions))
    for message in messages:
        parts.extend(_rendered(message))
    return Prompt(
        model=parse.text_of(top["model"]),
        messages=len(messages),
        rendered=b"".join(parts),
        stream=parse.is_true(top.get("stream")),
        includes_usage=_includes_usage(top),
        choices=_choices(top),
        lifetime_s=_lifetime(top),
    )


def _rendered(fields: Members) -> Iterator[bytes | memoryview]:
    """The bytes of an object without the white space between its members."""
    if parse.text_of(fields.get("type")) in _IMAGES:
        digest = hashlib.sha256(b"".join(memoryview(raw) for raw in fields.values()))
        yield (digest.hexdigest().encode() * IMAGE_BYTES)[:IMAGE_BYTES]
        return
    for name, raw in fields.items():
        yield name.encode()
        if name == "content" and parse.is_list(raw):
            for part in parse.elements(raw, name):
                yield from _rendered(parse.members(part, name))
        else:
            yield memoryview(raw)


def _includes_usage(top: Members) -> bool:
    options = top.get("stream_options")
    if options is None or parse.is_null(options):
        return False
    return parse.is_true(parse.members(options, "stream_options").get("include_usage"))


def _choices(top: Members) -> int:
    raw = top.get("n")
    if raw is None or parse.is_null(raw):
        return 1
    try:
        return max(1, msgspec.json.decode(raw, type=int))
    except msgspec.DecodeError:
        raise ProviderError("Invalid type for 'n': expected an integer.", param="n") from None


def _lifetime(top: Members) -> float:
    """Seconds that the cached prompt lives after its last use."""
    lifetime = THIRTY_MINUTES_S
    options = top.get("prompt_cache_options")
    if options is not None and not parse.is_null(options):
        ttl = parse.text_of(parse.members(options, "prompt_cache_options").get("ttl"))
        lifetime = _LIFETIMES.get(ttl, lifetime)
    if parse.text_of(top.get("prompt_cache_retention")) == "24h":
        lifetime = max(lifetime, _RETENTION_24H_S)
    return lifetime


def _check_chat_tools(messages: list[Members]) -> None:
    """Every tool call is answered by the tool messages right after it, and nothing else is."""
    open_ids: list[str] = []
    asked_ids: set[str] = set()
    for index, message in enumerate(messages):
        role = parse.text_of(message.get("role"))
        if role == "tool":
            _close_call(message, index, open_ids, asked_ids)
            continue
        _require_closed(open_ids, index)
        asked_ids = set()
        if role == "assistant" and "tool_calls" in message:
            open_ids = _call_ids(message["tool_calls"], index)
            asked_ids = set(open_ids)
    _require_closed(open_ids, len(messages))


def _call_ids(raw: msgspec.Raw, index: int) -> list[str]:
    where = f"messages[{index}].tool_calls"
    ids = [parse.text_of(call.get("id")) for call in _each(raw, where)]
    if len(set(ids)) < len(ids):
        repeated = next(call_id for call_id in ids if ids.count(call_id) > 1)
        raise ProviderError(
            f"Duplicate value for 'id' of '{repeated}' in 'messages[{index}].tool_calls'.",
            param=f"messages.[{index}].tool_calls",
        )
    return ids


def _close_call(message: Members, index: int, open_ids: list[str], asked_ids: set[str]) -> None:
    call_id = parse.text_of(message.get("tool_call_id"))
    if call_id in open_ids:
        open_ids.remove(call_id)
        return
    if call_id in asked_ids:
        raise ProviderError(
            f"Duplicate value for 'tool_call_id' of '{call_id}' in 'message[{index}]'.",
            param=f"messages.[{index}].tool_call_id",
        )
    raise ProviderError(
        "Invalid parameter: messages with role 'tool' must be a response to a preceeding "
        "message with 'tool_calls'.",
        param=f"messages.[{index}].role",
    )


def _require_closed(open_ids: list[str], index: int) -> None:
    if open_ids:
        raise ProviderError(
            "An assistant message with 'tool_calls' must be followed by tool messages responding "
            "to each 'tool_call_id'. The following tool_call_ids did not have response messages: "
            f"{', '.join(open_ids)}",
            param=f"messages.[{index}].role",
        )


def _check_items(items: list[Members]) -> None:
    """Every call among the items has one output after it, and every output its call before."""
    open_ids: list[str] = []
    for item in items:
        kind, call_id = parse.text_of(item.get("type")), parse.text_of(item.get("call_id"))
        if kind in _CALLS:
            if call_id in open_ids:
                raise ProviderError(f"Duplicate call_id '{call_id}' in input.", param="input")
            open_ids.append(call_id)
        elif kind in _OUTPUTS:
            if call_id not in open_ids:
                raise ProviderError(
                    f"No tool call found for function call output with call_id {call_id}.",
                    param="input",
                )
            open_ids.remove(call_id)
    if open_ids:
        raise ProviderError(f"No tool output found for function call {open_ids[0]}.", param="input")
