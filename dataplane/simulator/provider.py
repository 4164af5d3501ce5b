"""The simulated provider without its sockets: a request in, an answer out."""

from __future__ import annotations

import base64
import binascii
import itertools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import msgspec

from dataplane.simulator import anthropic, catalogue, openai_chat, openai_responses, parse
from dataplane.simulator.answer import Answer, Asked
from dataplane.simulator.cache import BreakpointCache, StepCache
from dataplane.simulator.problem import ProviderError, ScriptError
from dataplane.simulator.script import Json, Round, Scripts, as_round
from dataplane.simulator.stored import Stored

_MODELS_PATH = "/v1/models"


@dataclass(frozen=True, slots=True)
class Request:
    """One request. headers: names in lower case. path: without the query. at: real seconds."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes
    at: float

    @property
    def is_anthropic(self) -> bool:
        """The dialect of its answer, errors included."""
        is_messages = self.path.startswith("/v1/messages")
        return is_messages or "anthropic-version" in self.headers

    @property
    def credential(self) -> str:
        """The caller's key, empty when there is none."""
        scheme, _, token = self.headers.get("authorization", "").partition(" ")
        bearer = token.strip() if scheme.lower() == "bearer" else ""
        return self.headers.get("x-api-key", "").strip() or bearer

    @property
    def now(self) -> float:
        """The time it claims to be sent at, else the real time."""
        try:
            claimed = float(self.headers["x-headrace-now"])
        except (KeyError, ValueError):
            return self.at
        return claimed if math.isfinite(claimed) else self.at


# What answers a request that carries no script; None leaves it to the provider.
Model = Callable[[Request], Json | Round | None]


class Provider:
    """State of one simulated provider: its caches and its scripts."""

    def __init__(self, *, minimum_tokens: int = 1024) -> None:
        """minimum_tokens: smallest prompt prefix that is cached."""
        self.scripts = Scripts()
        self.model: Model | None = None
        self._blocks = BreakpointCache(minimum=minimum_tokens)
        self._steps = StepCache(minimum=minimum_tokens)
        self._stored = Stored()
        self._serials = itertools.count(1)
        self._posts: dict[str, Callable[[Asked], Answer]] = {
            "/v1/messages": lambda asked: anthropic.messages(asked, self._blocks),
            "/v1/messages/count_tokens": anthropic.count_tokens,
            "/v1/chat/completions": lambda asked: openai_chat.chat_completions(asked, self._steps),
            "/v1/responses": lambda asked: openai_responses.responses(
                asked, self._steps, self._stored
            ),
            "/v1/embeddings": catalogue.embeddings,
        }

    def clear(self) -> None:
        """Forget every cached prompt and every script."""
        self.scripts.clear()
        self._blocks.clear()
        self._steps.clear()
        self._stored.clear()

    def answer(self, request: Request) -> tuple[Answer, Round]:
        """The answer, and the round that says how it is sent."""
        wanted = Round()
        try:
            wanted = self._scripted_round(request) or wanted
            answer = self._answer(request, wanted)
        except ProviderError as error:
            answer = error_answer(error, is_anthropic=request.is_anthropic)
        if answer.is_raw:
            return answer, wanted
        name = "request-id" if request.is_anthropic else "x-request-id"
        identity = (name, f"req_sim_{next(self._serials):08d}")
        return replace(answer, headers=(*answer.headers, identity)), wanted

    def _scripted_round(self, request: Request) -> Round | None:
        """Of the request's own script, else the queue, else the model that a test plays."""
        scripted = self.scripts.take(request.headers.get("x-sim-script"))
        if scripted is not None or self.model is None:
            return scripted
        wanted = self.model(request)
        return None if wanted is None else as_round(wanted)

    def _answer(self, request: Request, wanted: Round) -> Answer:
        if wanted.raw_b64 is not None:
            return _raw_answer(wanted.raw_b64, wanted.status)
        if not request.credential:
            raise _unauthenticated(is_anthropic=request.is_anthropic)
        if wanted.is_failure or wanted.body is not None:
            return _scripted(wanted)
        if request.method == "GET" and _is_models(request.path):
            return catalogue.models(request.path, is_anthropic=request.is_anthropic)
        fetched = self._stored.answer(request.method, request.path, request.credential)
        if fetched is not None:
            return fetched
        route = self._posts.get(request.path) if request.method == "POST" else None
        if route is None:
            raise _unknown_route(request)
        body = parse.plain(request.body, request.headers.get("content-encoding", ""))
        asked = Asked(body, request.credential, request.now, next(self._serials), wanted)
        return route(asked)


def error_answer(error: ProviderError, *, is_anthropic: bool) -> Answer:
    """The error in the shape of the dialect."""
    dialect = anthropic.error_answer if is_anthropic else openai_chat.error_answer
    answer = dialect(error)
    if isinstance(error, ScriptError):
        return replace(answer, headers=(("x-should-retry", "false"),))
    return answer


def _is_models(path: str) -> bool:
    return path == _MODELS_PATH or path.startswith(f"{_MODELS_PATH}/")


def _unauthenticated(*, is_anthropic: bool) -> ProviderError:
    if is_anthropic:
        return ProviderError("x-api-key header is required", status=401)
    return ProviderError(
        "You didn't provide an API key. You need to provide your API key in an Authorization "
        "header using Bearer auth (i.e. Authorization: Bearer YOUR_KEY).",
        status=401,
    )


def _unknown_route(request: Request) -> ProviderError:
    if request.is_anthropic:
        return ProviderError("Not found", status=404)
    return ProviderError(f"Invalid URL ({request.method} {request.path})", status=404)


def _scripted(wanted: Round) -> Answer:
    """The scripted body as it stands; without one, the scripted error in the dialect's shape."""
    if wanted.body is not None:
        return Answer([msgspec.json.encode(wanted.body)], wanted.status)
    error: Json = wanted.error or {}
    message = str(error.get("message", f"Scripted {wanted.status}."))
    raise ProviderError(
        message, status=wanted.status, kind=error.get("type"), code=error.get("code")
    )


def _raw_answer(chunks: list[str], status: int) -> Answer:
    """Exact bytes, each chunk one network write; type and every other header are the script's."""
    try:
        events = [base64.b64decode(chunk, validate=True) for chunk in chunks]
    except binascii.Error as error:
        raise ScriptError(f"raw_b64: {error}") from None
    return Answer(events, status, streamed=True, is_raw=True)
