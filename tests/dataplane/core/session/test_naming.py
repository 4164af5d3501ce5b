"""Which conversation a request belongs to (03 §2.4, 10.4 (48 to 50))."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataplane.core.session.naming import ONLY_IDS, Identity, SessionKeys, identify, usable
from dataplane.core.wire.decode import decode
from dataplane.core.wire.message import Dialect

SYSTEM = {"role": "system", "content": "You are helpful."}
USER = {"role": "user", "content": "Fix the test."}
WITH_SYSTEM, WITHOUT = "b659ab2828b2c4c3", "d859a3c30263287b"


def identity(
    *messages: Any,
    dialect: Dialect = Dialect.OPENAI_CHAT,
    header: str = "",
    agent: str = "",
    **members: Any,
) -> Identity:
    body = json.dumps({"messages": messages or [USER], **members}).encode()
    return identify(decode(dialect, body), session_header=header, agent_header=agent)


@pytest.mark.parametrize(
    ("messages", "derived"),
    [
        pytest.param([SYSTEM, USER], WITH_SYSTEM, id="golden-with-system"),
        pytest.param([USER], WITHOUT, id="golden-without-system"),
        pytest.param(
            [SYSTEM, {"role": "system", "content": "More."}, USER, USER],
            WITH_SYSTEM,
            id="first-of-each",
        ),
        pytest.param(
            [{"role": "tool", "content": "out"}, USER], WITHOUT, id="tool-results-do-not-count"
        ),
    ],
)
@pytest.mark.parametrize("dialect", [Dialect.ANTHROPIC, Dialect.OPENAI_CHAT])
def test_the_derived_id_covers_the_first_system_and_the_first_user_text(
    dialect: Dialect, messages: list[Any], derived: str
) -> None:
    if dialect is Dialect.ANTHROPIC:
        messages = [
            message | {"role": "user", "content": [{"type": "tool_result", "content": "out"}]}
            if message["role"] == "tool"
            else message
            for message in messages
        ]

    assert identity(*messages, dialect=dialect) == Identity(derived)


def test_a_request_without_any_text_still_has_a_session() -> None:
    body = b'{"messages":[]}'

    found = identify(decode(Dialect.ANTHROPIC, body), session_header="", agent_header="")

    assert len(found.session) == 16


@pytest.mark.parametrize(
    "system", ["a", [{"type": "text", "text": "b"}], pytest.param(None, id="50-none")]
)
def test_case_50_the_top_level_system_prompt_does_not_matter(system: Any) -> None:
    assert identity(USER, dialect=Dialect.ANTHROPIC, system=system).session == WITHOUT


@pytest.mark.parametrize(
    ("candidate", "name"),
    [
        pytest.param("s.1:a", "s.1:a", id="48-usable"),
        pytest.param("  s_-9  ", "s_-9", id="48-trimmed"),
        pytest.param("s/1", "", id="48-slash"),
        pytest.param("..", "", id="48-dots"),
        pytest.param("s" * 128, "s" * 128, id="48-longest"),
        pytest.param("s" * 129, "", id="48-too-long"),
        pytest.param("s 1", "", id="48-space"),
        pytest.param("s\n", "s", id="48-newline"),
        pytest.param("ü", "", id="48-not-ascii"),
        pytest.param("", "", id="48-empty"),
    ],
)
def test_a_name_is_usable_or_passed_over(candidate: str, name: str) -> None:
    assert usable(candidate) == name
    found = identity(header=candidate)
    assert found == (Identity(name, alias=WITHOUT) if name else Identity(WITHOUT))


@given(candidate=st.text(max_size=140))
def test_what_is_usable_is_safe_in_a_key_and_stays_usable(candidate: str) -> None:
    found = usable(candidate)

    assert usable(found) == found
    assert set(found) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._:-")


CLAUDE_CODE = '{"device_id":"d","account_uuid":"u","session_id":"abc"}'


@pytest.mark.parametrize(
    ("metadata", "session"),
    [
        pytest.param({"user_id": CLAUDE_CODE}, "abc", id="49-object-in-a-string"),
        pytest.param({"user_id": f"  {CLAUDE_CODE} "}, "abc", id="49-trimmed"),
        pytest.param({"user_id": 17}, WITHOUT, id="49-number"),
        pytest.param(
            {"user_id": json.dumps({"session_id": "abc", "pad": "p" * 1100})},
            WITHOUT,
            id="49-too-long",
        ),
        pytest.param({"user_id": "{bad"}, WITHOUT, id="49-broken"),
        pytest.param({"user_id": '{"session_id":5}'}, WITHOUT, id="49-no-string-inside"),
        pytest.param({"user_id": "{" + "[" * 900}, WITHOUT, id="49-broken-deeply"),
        pytest.param({"user_id": "u-1", "taskId": "t-1"}, "u-1", id="user-before-task"),
        pytest.param({"user_id": "u/1", "taskId": "t-1"}, "t-1", id="task-when-user-is-unusable"),
        pytest.param({"taskId": "t-1"}, "t-1", id="task"),
        pytest.param("user", WITHOUT, id="no-object"),
        pytest.param(None, WITHOUT, id="null"),
    ],
)
def test_the_metadata_may_name_the_session(metadata: Any, session: str) -> None:
    assert identity(metadata=metadata).session == session


def test_the_header_comes_before_the_metadata_and_the_derived_id_stays_as_alias() -> None:
    found = identity(header="from-header", metadata={"user_id": "from-metadata"})

    assert found == Identity("from-header", alias=WITHOUT)


@pytest.mark.parametrize(("agent", "thread"), [("sub1", "a:sub1"), ("s/1", ""), ("", "")])
def test_a_subagent_is_a_thread_of_its_own(agent: str, thread: str) -> None:
    assert identity(agent=agent).thread == thread


# ---- what an operator may add ---------------------------------------------------------------


def named(keys: SessionKeys, **members: Any) -> Identity:
    body = json.dumps({"messages": [USER], **members}).encode()
    return identify(
        decode(Dialect.OPENAI_CHAT, body), session_header="", agent_header="", keys=keys
    )


def test_a_prompt_cache_key_names_a_session_only_where_it_is_allowed_to() -> None:
    key = {"prompt_cache_key": "codex-1"}

    assert named(ONLY_IDS, **key) == Identity(WITHOUT)
    assert named(SessionKeys(prompt_cache_key=True), **key) == Identity("codex-1", WITHOUT)


@pytest.mark.parametrize("key", [7, "not usable/", None, ["codex-1"]])
def test_a_prompt_cache_key_that_can_name_nothing_is_passed_over(key: object) -> None:
    assert named(SessionKeys(prompt_cache_key=True), prompt_cache_key=key) == Identity(WITHOUT)


def test_a_prompt_cache_key_comes_behind_the_ids_of_the_metadata() -> None:
    members = {"prompt_cache_key": "codex-1", "metadata": {"user_id": "u-1"}}

    assert named(SessionKeys(prompt_cache_key=True), **members).session == "u-1"


def test_the_system_prompt_is_part_of_the_second_form_of_the_derived_id() -> None:
    keys = SessionKeys(with_system=True)
    blocks = [{"type": "text", "text": "You are "}, {"type": "text", "text": "terse."}]
    digest = hashlib.sha256(b"You are terse.").digest()
    expected = hashlib.sha256(b"\x00Fix the test.\x00" + digest).hexdigest()[:16]

    assert named(keys, system="You are terse.").session == expected
    assert named(keys, system=blocks).session == expected
    assert named(keys, system="Other.").session != expected
    assert named(keys, system="x" * 512 + "a") == named(keys, system="x" * 512 + "b")
    assert named(ONLY_IDS, system="You are terse.").session == WITHOUT
