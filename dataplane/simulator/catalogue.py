"""The small routes: models in both dialects, and embeddings."""

from __future__ import annotations

import base64
import hashlib
import struct
from collections.abc import Callable

import msgspec

from dataplane.simulator.answer import Answer, Asked, json_answer
from dataplane.simulator.cache import tokens_of
from dataplane.simulator.parse import top_members
from dataplane.simulator.problem import ProviderError
from dataplane.simulator.script import Json

ANTHROPIC_MODELS = ("claude-opus-5", "claude-sonnet-5", "claude-haiku-5")
OPENAI_MODELS = ("gpt-5.6", "gpt-5.6-mini", "text-embedding-3-small")
_DIMENSIONS = 8


def models(path: str, *, is_anthropic: bool) -> Answer:
    """GET /v1/models and /v1/models/{id}; any id is a model."""
    known = ANTHROPIC_MODELS if is_anthropic else OPENAI_MODELS
    spell: Callable[[str], Json] = _anthropic_model if is_anthropic else _openai_model
    name = path.removeprefix("/v1/models").strip("/")
    if name:
        return json_answer(spell(name))
    listed = {"data": [spell(model) for model in known]}
    if is_anthropic:
        return json_answer(
            {**listed, "has_more": False, "first_id": known[0], "last_id": known[-1]}
        )
    return json_answer({"object": "list", **listed})


def _anthropic_model(name: str) -> Json:
    return {
        "type": "model",
        "id": name,
        "display_name": name,
        "created_at": "2026-01-01T00:00:00Z",
        "lifecycle": "active",
        "max_input_tokens": 200_000,
        "max_tokens": 64_000,
    }


def _openai_model(name: str) -> Json:
    return {"id": name, "object": "model", "created": 1_767_225_600, "owned_by": "simulator"}


class _EmbeddingsBody(msgspec.Struct):
    model: str
    input: str | list[str]
    encoding_format: str = "float"


def embeddings(asked: Asked) -> Answer:
    """POST /v1/embeddings: eight numbers per text, made from its hash."""
    top_members(asked.body)
    try:
        body = msgspec.json.decode(asked.body, type=_EmbeddingsBody)
    except msgspec.ValidationError as error:
        raise ProviderError(str(error)) from None
    texts = [body.input] if isinstance(body.input, str) else body.input
    listed = [
        {"object": "embedding", "index": n, "embedding": _vector(text, body.encoding_format)}
        for n, text in enumerate(texts)
    ]
    tokens = sum(tokens_of(len(text.encode())) for text in texts)
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    return json_answer({"object": "list", "data": listed, "model": body.model, "usage": usage})


def _vector(text: str, encoding: str) -> list[float] | str:
    digest = hashlib.sha256(text.encode()).digest()
    numbers = [byte / 127.5 - 1.0 for byte in digest[:_DIMENSIONS]]
    if encoding == "base64":
        return base64.b64encode(struct.pack(f"<{_DIMENSIONS}f", *numbers)).decode()
    return numbers
