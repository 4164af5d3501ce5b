"""An Anthropic request as the provider sees it: cacheable blocks in order tools, system, messages.

Refuses what the provider refuses and gateways get wrong: tool calls without their results, results
without their calls, repeated ids, more than four cache marks, altered thinking.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field

import msgspec

from dataplane.simulator import parse
from dataplane.simulator.answer import SIGNATURE_PREFIX, signature_of
from dataplane.simulator.cache import (
    BYTES_PER_TOKEN,
    DIGEST_BYTES,
    FIVE_MINUTES_S,
    ONE_HOUR_S,
    Block,
    tokens_of,
)
from dataplane.simulator.parse import Members
from dataplane.simulator.problem import ProviderError

MOST_MARKS = 4
IMAGE_BYTES = 1600 * BYTES_PER_TOKEN  # an image is counted by its pixels, not by its base64
_LIFETIMES = {"5m": FIVE_MINUTES_S, "1h": ONE_HOUR_S}
_TEXT_MEMBERS = {"type", "text", "cache_control"}


@dataclass(frozen=True, slots=True)
class ToolBlock:
    """A tool_use or tool_result block. where: messages.N.content.M."""

    where: str
    tool_id: str
    is_use: bool


@dataclass(slots=True)
class Prompt:
    """What the model is given. turns: role, index of the first message, tool blocks; neighbours
    of one role are one turn.
    """

    model: str = ""
    messages: int = 0
    thinks: bool = False
    stream: bool = False
    blocks: list[Block] = field(default_factory=list)
    turns: list[tuple[str, int, list[ToolBlock]]] = field(default_factory=list)

    @property
    def tokens(self) -> int:
        return sum(block.tokens for block in self.blocks)


def read_prompt(body: bytes, *, needs_max_tokens: bool = True) -> Prompt:
    """The prompt of a request body, or the provider's refusal."""
    top = parse.top_members(body)
    for name in ("model", "max_tokens", "messages"):
        if name not in top and (needs_max_tokens or name != "max_tokens"):
            raise ProviderError(f"{name}: Field required")
    reader = _Reader(top)
    prompt = reader.read()
    _check_marks(reader.marks)
    _check_tools(prompt)
    return prompt


class _Reader:
    """Collects blocks, tool blocks and cache marks in prompt order."""

    def __init__(self, top: Members) -> None:
        self._top = top
        self._prompt = Prompt(
            model=parse.text_of(top["model"]), stream=parse.is_true(top.get("stream"))
        )
        self.marks: list[tuple[str, int]] = []

    def read(self) -> Prompt:
        top, prompt = self._top, self._prompt
        for index, raw in enumerate(parse.elements(top.get("tools"), "tools")):
            where = f"tools.{index}"
            self._add(b"tools", parse.members(raw, where), where)
        self._content(b"system", top.get("system"), "system")
        thinking = top.get("thinking")
        prompt.thinks = thinking is not None and _kind(thinking, "thinking") in {
            "enabled",
            "adaptive",
        }
        section = b"messages" + self._choices()
        messages = parse.elements(top["messages"], "messages")
        if not messages:
            raise ProviderError("messages: at least one message is required")
        prompt.messages = len(messages)
        for index, raw in enumerate(messages):
            self._message(section, raw, index)
        self._automatic_mark()
        return prompt

    def _choices(self) -> bytes:
        """Settings that are rendered before the messages: changing one rewrites them all."""
        choice, thinking = self._top.get("tool_choice"), self._top.get("thinking")
        is_default = choice is None or bytes(choice).replace(b" ", b"") == b'{"type":"auto"}'
        return (b"" if is_default else bytes(choice or b"")) + bytes(thinking or b"")

    def _message(self, section: bytes, raw: msgspec.Raw, index: int) -> None:
        where = f"messages.{index}"
        fields = parse.members(raw, where)
        role = parse.text_of(fields.get("role"))
        for name in ("role", "content"):
            if name not in fields:
                raise ProviderError(f"{where}.{name}: Field required")
        turns = self._prompt.turns
        if not turns or turns[-1][0] != role:
            turns.append((role, index, []))
        self._content(section + role.encode(), fields["content"], f"{where}.content")

    def _content(self, section: bytes, raw: msgspec.Raw | None, where: str) -> None:
        if raw is not None and parse.is_string(raw):
            self._add(section, {"type": msgspec.Raw(b'"text"'), "text": raw}, where)
            return
        for index, element in enumerate(parse.elements(raw, where)):
            path = f"{where}.{index}"
            self._add(section, parse.members(element, path), path)

    def _add(self, section: bytes, fields: Members, where: str) -> None:
        known = len(self.marks)
        block_hash = hashlib.blake2b(section + b"\0", digest_size=DIGEST_BYTES)
        size = sum(self._feed(block_hash, fields, where))
        mark_s = max((lifetime for _, lifetime in self.marks[known:]), default=0)
        self._prompt.blocks.append(Block(block_hash.digest(), tokens_of(size), mark_s))
        if self._prompt.turns:
            self._note_tool(fields, where)

    def _feed(self, block_hash: hashlib.blake2b, fields: Members, where: str) -> Iterator[int]:
        """Hash a block without its cache mark; yields the bytes that count as tokens."""
        if mark := fields.get("cache_control"):
            self._mark(mark, fields, f"{where}.cache_control")
        kind = parse.text_of(fields.get("type"))
        if kind == "text" and fields.keys() <= _TEXT_MEMBERS and "text" in fields:
            block_hash.update(b"text")
            block_hash.update(fields["text"])
            yield parse.size_of(fields["text"]) - len('""')
            return
        if kind == "thinking":
            _check_signature(fields, where)
        is_image = kind == "image"
        yield IMAGE_BYTES if is_image else 0
        for name, raw in fields.items():
            if name == "cache_control":
                continue
            block_hash.update(name.encode() + b"\0")
            if name == "content" and parse.is_list(raw):
                for index, nested in enumerate(parse.elements(raw, where)):
                    path = f"{where}.content.{index}"
                    yield from self._feed(block_hash, parse.members(nested, path), path)
            else:
                block_hash.update(raw)
                yield 0 if is_image else parse.size_of(raw)

    def _mark(self, raw: msgspec.Raw, fields: Members, where: str) -> None:
        if parse.is_null(raw):
            return
        if parse.text_of(fields.get("type")) == "text" and not parse.text_of(fields.get("text")):
            raise ProviderError(f"{where}: cache_control cannot be set for empty text blocks")
        self.marks.append((where, _lifetime(raw, where)))

    def _automatic_mark(self) -> None:
        """The mark of the whole request goes to its last block."""
        raw = self._top.get("cache_control")
        if raw is None or parse.is_null(raw) or not self._prompt.blocks:
            return
        last = self._prompt.blocks[-1]
        lifetime = _lifetime(raw, "cache_control")
        self.marks.append(("cache_control", lifetime))
        self._prompt.blocks[-1] = Block(last.digest, last.tokens, last.mark_s or lifetime)

    def _note_tool(self, fields: Members, where: str) -> None:
        kind = parse.text_of(fields.get("type"))
        if kind in {"tool_use", "tool_result"}:
            is_use = kind == "tool_use"
            name = "id" if is_use else "tool_use_id"
            if name not in fields:
                raise ProviderError(f"{where}.{kind}.{name}: Field required")
            tool = ToolBlock(where, parse.text_of(fields[name]), is_use)
            self._prompt.turns[-1][2].append(tool)


def _kind(raw: msgspec.Raw, where: str) -> str:
    return parse.text_of(parse.members(raw, where).get("type"))


def _lifetime(raw: msgspec.Raw, where: str) -> int:
    """Seconds of a cache mark."""
    fields = parse.members(raw, where)
    if parse.text_of(fields.get("type")) != "ephemeral":
        raise ProviderError(f"{where}.type: Input should be 'ephemeral'")
    ttl = parse.text_of(fields["ttl"]) if "ttl" in fields else "5m"
    if ttl not in _LIFETIMES:
        raise ProviderError(f"{where}.ttl: Input should be '5m' or '1h'")
    return _LIFETIMES[ttl]


def _check_signature(fields: Members, where: str) -> None:
    """Thinking that we signed must come back as it was; other signatures are not ours to judge."""
    signature = parse.text_of(fields.get("signature"))
    ours = signature.startswith(f"{SIGNATURE_PREFIX}.")
    if ours and signature != signature_of(parse.text_of(fields.get("thinking"))):
        raise ProviderError(f"{where}: Invalid `signature` in `thinking` block")


def _check_marks(marks: list[tuple[str, int]]) -> None:
    if len(marks) > MOST_MARKS:
        raise ProviderError(
            f"A maximum of {MOST_MARKS} blocks with cache_control may be provided. "
            f"Found {len(marks)}."
        )
    shortest = ONE_HOUR_S
    for where, lifetime in marks:
        if lifetime > shortest:
            raise ProviderError(
                f"{where}.ttl: a ttl='1h' cache_control block must not come after a ttl='5m' "
                "cache_control block. Note that blocks are processed in the following order: "
                "`tools`, `system`, `messages`."
            )
        shortest = min(shortest, lifetime)


def _check_tools(prompt: Prompt) -> None:
    """Every call is answered in the very next turn, and every answer has its call there."""
    turns = [turn for turn in prompt.turns if turn[0] != "system"]
    seen: set[str] = set()
    asked: list[str] = []
    asked_at = 0
    for role, index, tools in [*turns, ("user", 0, [])]:
        _check_results(tools, asked, asked_at)
        uses = [tool for tool in tools if tool.is_use]
        for use in uses:
            if use.tool_id in seen:
                raise ProviderError(f"{use.where}: `tool_use` ids must be unique")
            seen.add(use.tool_id)
        asked, asked_at = [use.tool_id for use in uses] if role == "assistant" else [], index


def _check_results(tools: list[ToolBlock], asked: list[str], asked_at: int) -> None:
    answered: set[str] = set()
    for tool in tools:
        if tool.is_use:
            continue
        if tool.tool_id not in asked:
            raise ProviderError(
                f"{tool.where}: unexpected `tool_use_id` found in `tool_result` blocks: "
                f"{tool.tool_id}. Each `tool_result` block must have a corresponding `tool_use` "
                "block in the previous message."
            )
        if tool.tool_id in answered:
            raise ProviderError(
                f"{tool.where}: each tool_use must have a single result. Found multiple "
                f"`tool_result` blocks with id: {tool.tool_id}"
            )
        answered.add(tool.tool_id)
    if missing := [tool_id for tool_id in asked if tool_id not in answered]:
        raise ProviderError(
            f"messages.{asked_at}: `tool_use` ids were found without `tool_result` blocks "
            f"immediately after: {', '.join(missing)}. Each `tool_use` block must have a "
            "corresponding `tool_result` block in the next message."
        )
