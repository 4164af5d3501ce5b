"""What a response says it cost in tokens.

Values of one response are cumulative: a later figure replaces an earlier one, field by field, and
one that is absent erases nothing. Responses of several rounds are separate bills and add up.
Source: 03-proxy-and-recovery.md 2.9, 4.7.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, NamedTuple

import msgspec
from msgspec import Raw

# No provider reads or writes more in one answer; a larger figure is a fault of whoever sent it, and
# sums of it would not fit where figures are kept.
TOKENS_MAX = 10**8
Count = Annotated[int, msgspec.Meta(ge=0, le=TOKENS_MAX)]


@dataclass(frozen=True, slots=True)
class Usage:
    """Billed tokens. cache_write includes cache_write_1h, the part that was kept for an hour."""

    fresh_input: int = 0
    cache_read: int = 0
    cache_write: int = 0
    cache_write_1h: int = 0
    output: int = 0

    @property
    def tokens(self) -> dict[str, int]:
        """By name, every field."""
        return {
            "fresh_input": self.fresh_input,
            "cache_read": self.cache_read,
            "cache_write": self.cache_write,
            "cache_write_1h": self.cache_write_1h,
            "output": self.output,
        }

    @property
    def prompt(self) -> int:
        """Input tokens, however they were billed."""
        return self.fresh_input + self.cache_read + self.cache_write

    @property
    def is_cached(self) -> bool:
        """The provider read some of the prompt from its cache, or wrote it there."""
        return self.cache_read > 0 or self.cache_write > 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.fresh_input + other.fresh_input,
            self.cache_read + other.cache_read,
            self.cache_write + other.cache_write,
            self.cache_write_1h + other.cache_write_1h,
            self.output + other.output,
        )


class Reading(enum.Enum):
    """How much of a response's usage is known. Only READ may be priced: unknown is not free."""

    ABSENT = "usage_absent"  # the response carried no usage
    READ = "usage_read"
    UNPARSED = "usage_unparsed"  # there was a usage, in a form nobody knows
    UNREADABLE = "usage_unreadable"  # its bytes, or a figure in it, could not be read


class RoundUsage(NamedTuple):
    """The usage of one upstream response. estimated: it was cut; output is what was delivered."""

    usage: Usage
    reading: Reading
    estimated: bool = False

    def with_output(self, delivered: int) -> RoundUsage:
        """Of a response that was cut. delivered: tokens of what came of it."""
        output = max(self.usage.output, delivered)
        return RoundUsage(replace(self.usage, output=output), self.reading, estimated=output > 0)

    def with_input(self, sent: int) -> RoundUsage:
        """Where its end would have told the input, too. sent: tokens of what was asked."""
        if not self.estimated or self.reading is not Reading.ABSENT:
            return self
        usage = replace(self.usage, fresh_input=sent)
        return self._replace(usage=usage, reading=Reading.READ)


def total(rounds: Sequence[RoundUsage]) -> Usage:
    """What one client request was billed, all its rounds together."""
    if len(rounds) == 1:
        return rounds[0].usage
    return sum((each.usage for each in rounds), Usage())


class _Fields(msgspec.Struct, frozen=True):
    """The numbers as reported; None for one that was not."""

    input: int | None = None
    cache_read: int | None = None
    cache_write: int | None = None
    cache_write_1h: int | None = None
    output: int | None = None


class _CacheCreation(msgspec.Struct):
    ephemeral_5m_input_tokens: Count | None = None
    ephemeral_1h_input_tokens: Count | None = None


class _Anthropic(msgspec.Struct):
    input_tokens: Count | None = None
    cache_read_input_tokens: Count | None = None
    cache_creation_input_tokens: Count | None = None
    cache_creation: _CacheCreation | None = None
    output_tokens: Count | None = None

    def fields(self) -> _Fields:
        created = self.cache_creation or _CacheCreation()
        return _Fields(
            self.input_tokens,
            self.cache_read_input_tokens,
            self.cache_creation_input_tokens,
            created.ephemeral_1h_input_tokens,
            self.output_tokens,
        )


class _InputDetails(msgspec.Struct):
    cached_tokens: Count | None = None
    cache_write_tokens: Count | None = None


class _OpenAiChat(msgspec.Struct):
    prompt_tokens: Count | None = None
    prompt_tokens_details: _InputDetails | None = None
    completion_tokens: Count | None = None

    def fields(self) -> _Fields:
        return _with_details(self.prompt_tokens, self.prompt_tokens_details, self.completion_tokens)


class _Responses(msgspec.Struct):
    input_tokens: Count | None = None
    input_tokens_details: _InputDetails | None = None
    output_tokens: Count | None = None

    def fields(self) -> _Fields:
        return _with_details(self.input_tokens, self.input_tokens_details, self.output_tokens)


def _with_details(prompt: int | None, details: _InputDetails | None, output: int | None) -> _Fields:
    known = details or _InputDetails()
    return _Fields(prompt, known.cached_tokens, known.cache_write_tokens, None, output)


_Decoder = (
    msgspec.json.Decoder[_Anthropic]
    | msgspec.json.Decoder[_OpenAiChat]
    | msgspec.json.Decoder[_Responses]
)
_DECODERS: dict[str, _Decoder] = {
    "anthropic": msgspec.json.Decoder(_Anthropic),
    "openai-chat": msgspec.json.Decoder(_OpenAiChat),
    "responses": msgspec.json.Decoder(_Responses),
}
_NOTHING = _Fields()


class UsageMeter:
    """Collects the usage of one response; the dialect comes from the route.

    Anthropic counts what was read from the cache beside the input, OpenAI inside it.
    """

    __slots__ = ("_decoder", "_input_includes_cache", "_latest", "_lost", "_reading")

    def __init__(self, dialect: str) -> None:
        """dialect: "anthropic", "openai-chat" or "responses"."""
        self._decoder = _DECODERS[dialect]
        self._input_includes_cache = dialect != "anthropic"
        self._latest = [0, 0, 0, 0, 0]
        self._reading = Reading.ABSENT
        self._lost = False

    def offer(self, block: Raw | bytes) -> None:
        """Take the JSON value of one `usage` member; null and an empty value say nothing.

        A figure that is no whole number from 0 to TOKENS_MAX makes the usage unreadable.
        """
        written = bytes(block)
        if written in (b"", b"null"):
            return
        try:
            fields = self._decoder.decode(written).fields()
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            is_object = written.startswith(b"{")
            self._reading = Reading.UNREADABLE if is_object else Reading.UNPARSED
            return
        if fields == _NOTHING:
            self._reading = Reading.UNPARSED
            return
        if self._reading is Reading.ABSENT:
            self._reading = Reading.READ
        numbers = msgspec.structs.astuple(fields)
        known = zip(self._latest, numbers, strict=True)
        self._latest = [was if now is None else now for was, now in known]

    def unreadable(self) -> None:
        """Bytes that might have carried the usage could not be read; what was read still counts."""
        self._lost = True

    def result(self) -> RoundUsage:
        prompt, read, write, write_1h, output = self._latest
        if self._input_includes_cache:
            # Whether written tokens lie inside the prompt's is not documented: never below 0.
            prompt = max(0, prompt - read - write)
        usage = Usage(prompt, read, max(write, write_1h), write_1h, output)
        if self._lost and self._reading is Reading.ABSENT:
            return RoundUsage(usage, Reading.UNREADABLE)
        return RoundUsage(usage, self._reading)
