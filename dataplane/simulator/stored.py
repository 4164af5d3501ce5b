"""Responses and conversations that the simulated provider keeps, each for the credential it was
made with.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field

import msgspec

from dataplane.simulator.answer import Answer, json_answer
from dataplane.simulator.parse import Members, elements, is_null, is_string, text_of
from dataplane.simulator.problem import ProviderError
from dataplane.simulator.script import Json

_KEPT_MAX = 10_000
_NOT_FOUND = 404
_object = msgspec.json.Decoder(Members)
Key = tuple[str, str]


@dataclass(slots=True)
class Kept:
    """One response. before: the items of the conversation up to and with its input. response: as
    it will be fetched.
    """

    before: list[Members]
    sent: list[Members]
    response: Json
    fetched: bool = False


@dataclass(slots=True)
class Stored:
    """responses: by credential and id. conversations: their items."""

    responses: OrderedDict[Key, Kept] = field(default_factory=OrderedDict)
    conversations: dict[Key, list[Members]] = field(default_factory=dict)

    def clear(self) -> None:
        self.responses.clear()
        self.conversations.clear()

    def before(self, credential: str, top: Members) -> list[Members]:
        """The items that a request goes on with. ProviderError for an id that is not known."""
        if earlier := text_of(top.get("previous_response_id")):
            kept = self.responses.get((credential, earlier))
            if kept is None:
                raise _not_found(earlier)
            return [*kept.before, *items_of(kept.response["output"])]
        return list(self.conversations.get((credential, conversation_of(top)), ()))

    def keep(self, credential: str, top: Members, sent: list[Members], response: Json) -> None:
        """Keep an answer, as the request wants it kept."""
        if text_of_literal(top.get("store")) == "false":
            return
        before = self.before(credential, top)
        self.responses[credential, response["id"]] = Kept([*before, *sent], sent, response)
        if len(self.responses) > _KEPT_MAX:
            self.responses.popitem(last=False)
        if name := conversation_of(top):
            items = [*before, *sent, *items_of(response["output"])]
            self.conversations[credential, name] = items

    def answer(self, method: str, path: str, credential: str) -> Answer | None:
        """GET and DELETE of a response, its input items and its cancellation; None for another."""
        name, _, what = path.removeprefix("/v1/responses/").partition("/")
        if not path.startswith("/v1/responses/") or (method, what) not in _FETCHES:
            return None
        kept = self.responses.get((credential, name))
        if kept is None:
            raise _not_found(name, status=_NOT_FOUND)
        if method == "DELETE":
            del self.responses[credential, name]
            return json_answer({"id": name, "object": "response", "deleted": True})
        if what == "input_items":
            data = [*kept.before]
            return json_answer({"object": "list", "data": data, "has_more": False})
        if what == "cancel":
            kept.response = {**kept.response, "status": "cancelled"}
        return json_answer(kept.response)


_FETCHES = frozenset({("GET", ""), ("DELETE", ""), ("GET", "input_items"), ("POST", "cancel")})


def items_of(written: list[Json]) -> list[Members]:
    return [_object.decode(msgspec.json.encode(item)) for item in written]


def conversation_of(top: Members) -> str:
    """The id of the conversation that a request is a turn of, "" for none."""
    raw = top.get("conversation")
    if raw is None or is_null(raw):
        return ""
    return text_of(raw) if is_string(raw) else text_of(_object.decode(raw).get("id"))


def text_of_literal(raw: msgspec.Raw | None) -> str:
    return "" if raw is None else bytes(raw).decode()


def input_of(top: Members) -> list[Members]:
    """What a request brings, a text as the message that it stands for."""
    if is_string(top["input"]):
        return items_of([{"role": "user", "content": text_of(top["input"])}])
    return [_object.decode(item) for item in elements(top["input"], "input")]


def _not_found(name: str, *, status: int = 400) -> ProviderError:
    return ProviderError(
        f"Previous response with id '{name}' not found.",
        status=status,
        param="previous_response_id",
        code="previous_response_not_found",
    )
