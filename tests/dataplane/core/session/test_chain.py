"""By which names a client goes on with what its provider holds (ADR 0027)."""

from __future__ import annotations

import json
from collections.abc import Generator
from typing import Any

import pytest

from dataplane.core.effects import Commit, Committed, Found, Recall, Recalled, Refused, Scope
from dataplane.core.expand.relay import Call
from dataplane.core.session import chain
from dataplane.core.session.chain import ALONE, Asker, Chain, Link
from dataplane.core.session.naming import Identity
from dataplane.core.text.marker import is_minted_shape
from dataplane.core.wire.decode import decode
from dataplane.core.wire.message import Conversation, Dialect

SCOPE = Scope("t", "key", "s1")
ASKER = Asker(SCOPE, 2.0)
LINK = Link("resp_2", "s1", "p:1")
CALL = Call("call_1", "context_guru_expand", "0" * 16)


def turn(dialect: Dialect = Dialect.OPENAI_RESPONSES, **members: Any) -> Conversation:
    output = {"type": "function_call_output", "call_id": "call_1", "output": "unknown tool"}
    return decode(dialect, json.dumps({dialect.list_name: [output], **members}).encode())


def run(core: Generator[Any, Any, Any], known: dict[str, bytes]) -> Any:
    """Run a core over a store that is a dict."""
    answer: Any = None
    while True:
        try:
            effect = core.send(answer)
        except StopIteration as done:
            return done.value
        if isinstance(effect, Commit):
            known |= {each.marker_id: each.original for each in effect.payloads}
            answer = Committed(frozenset(each.marker_id for each in effect.payloads))
        else:
            assert isinstance(effect, Recall)
            assert not effect.keep
            original = known.get(effect.marker_id)
            answer = Recalled(Found.RESOLVED if original else Found.LOST, original)


def kept(answered: Chain, *calls: Call) -> dict[str, bytes]:
    known: dict[str, bytes] = {}
    assert run(chain.kept(SCOPE, 1.0, answered.links("resp_1", LINK, calls)), known)
    return known


def test_the_id_that_was_shown_goes_on_with_the_round_that_ended_the_answer() -> None:
    body = turn(previous_response_id="resp_1", store=True)

    found = run(chain.joined(ASKER, body), kept(ALONE))

    assert found.link == LINK
    assert found.renamed == ("resp_2", "resp_1")
    assert json.loads(chain.continuing(body, found))["previous_response_id"] == "resp_2"
    assert found.owner(Identity("derived")) == Identity("s1", thread="p:1")


def test_a_session_that_a_client_names_itself_stays_its_own() -> None:
    found = run(chain.joined(ASKER, turn(previous_response_id="resp_1")), kept(ALONE))

    assert found.owner(Identity("mine", alias="d")) == Identity("mine", alias="d")
    assert found.owner(Identity("s1", alias="d")) == Identity("s1", alias="d", thread="p:1")


@pytest.mark.parametrize("named", ["conv_1", {"id": "conv_1"}])
def test_a_conversation_is_known_by_its_id(named: object) -> None:
    found = run(chain.joined(ASKER, turn(conversation=named)), kept(Chain(conversation="conv_1")))

    assert (found.conversation, found.renamed, found.collects) == ("conv_1", None, True)
    assert found.link == Link(session="s1", thread="p:1")


def test_a_call_that_the_client_had_to_answer_is_known_where_its_turn_is_not_sent() -> None:
    found = run(chain.joined(ASKER, turn(previous_response_id="r")), kept(ALONE, CALL))

    assert found.calls == {"call_1": CALL}


@pytest.mark.parametrize(
    "body",
    [
        turn(),
        turn(previous_response_id=None, conversation=None),
        turn(previous_response_id=7, conversation=["conv_1"]),
        turn(conversation={"id": 7}),
        turn(Dialect.OPENAI_CHAT, previous_response_id="resp_1"),
    ],
)
def test_a_body_that_names_nothing_asks_for_nothing(body: Conversation) -> None:
    with pytest.raises(StopIteration) as done:
        next(chain.joined(ASKER, body))

    assert not done.value.value.is_partial
    assert chain.continuing(body, done.value.value) == body.body


def test_what_is_not_known_is_continued_by_its_own_name() -> None:
    body = turn(previous_response_id="resp_1")
    damaged = {chain.place_of("resp_1"): b"{"}

    for known in ({}, damaged):
        found = run(chain.joined(ASKER, body), known)
        assert chain.continuing(body, found) == body.body
        assert found.owner(Identity("derived")) == Identity("derived")


def test_a_store_that_does_not_answer_is_asked_once() -> None:
    core = chain.joined(ASKER, turn(previous_response_id="resp_1"))
    next(core)

    with pytest.raises(StopIteration) as done:
        core.send(Recalled(Found.STORE_ERROR))

    assert (done.value.value.link, done.value.value.calls) == (None, {})


def test_a_store_that_refuses_a_link_is_told() -> None:
    core = chain.kept(SCOPE, 1.0, [("resp_1", LINK)])
    next(core)

    with pytest.raises(StopIteration) as done:
        core.send(Committed(frozenset(), {chain.place_of("resp_1"): Refused.FULL}))

    assert done.value.value is False


def test_a_link_is_kept_where_every_backend_keeps_originals() -> None:
    assert is_minted_shape(chain.place_of("resp_1"))
    assert chain.place_of("resp_1") != chain.place_of("resp_2")
