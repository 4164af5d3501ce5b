"""Markers leave only with durable originals, and the tool is declared by one rule.

Source: 03-proxy-and-recovery.md 10.5. Case 76 needs extract_llm_sweep, which is not part of this
build; case 77 is in gateway_cases/test_responses.py.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
import time
from pathlib import Path

import pytest

from dataplane.adapters.stores.sqlite_file import store_path
from dataplane.core.effects import Commit, Payload, Scope
from dataplane.core.tools.tool import EXPAND_ANTHROPIC, EXPAND_OPENAI_CHAT
from dataplane.simulator.server import Recorded
from tests.dataplane.core.build import anthropic_body
from tests.dataplane.gateway import TA, TB
from tests.dataplane.gateway_cases.served import LONG, MASK_ALL, MASKED, Serve, Served
from tests.dataplane.recovery_cases.scripted import (
    PLACEHOLDER,
    X4000,
    X4000_ID,
    items,
    member,
    results,
    x,
)
from tests.patience import until

CHAT = "/v1/chat/completions"


def file_of(served: Served) -> Path:
    return store_path(served.gateway.node.settings.state_dir, "ten_acme")


def stashed(served: Served) -> list[str]:
    """Ids whose originals another process would find now."""
    with contextlib.closing(sqlite3.connect(f"file:{file_of(served)}?mode=ro", uri=True)) as file:
        return [row[0] for row in file.execute("SELECT k FROM stash ORDER BY k")]


def run_in_store(served: Served, sql: str) -> None:
    with contextlib.closing(sqlite3.connect(file_of(served))) as file:
        file.executescript(sql)


def gates(served: Served) -> dict[str, int]:
    found: dict[str, int] = served.stats()["components"]["mask"]["gates"]
    return found


def outputs_at_provider(served: Served) -> list[str]:
    """The tool outputs of the newest request, as the provider got them."""
    messages = json.loads(served.sent[-1])["messages"]
    blocks = (b for m in messages if isinstance(m["content"], list) for b in m["content"])
    return [block["content"] for block in blocks if block["type"] == "tool_result"]


# ---- markers --------------------------------------------------------------------------------


@pytest.mark.parametrize("_", [pytest.param(None, id="03-case-62")])
async def test_an_original_is_durable_before_the_provider_sees_its_marker(
    served: Served, _: None
) -> None:
    found: list[list[str]] = []

    def look(recorded: Recorded) -> None:
        found.append(stashed(served))

    served.simulator.on_request = look
    await served.post(anthropic_body(X4000))

    assert outputs_at_provider(served) == [MASKED.format(id=X4000_ID)]
    assert found == [[X4000_ID]]


@pytest.mark.parametrize("_", [pytest.param(None, id="03-case-63")])
async def test_an_original_shorter_than_its_marker_stays(served: Served, _: None) -> None:
    await served.post(anthropic_body("forty characters of output, and no more."))

    assert outputs_at_provider(served) == ["forty characters of output, and no more."]
    assert gates(served) == {"marker_no_win": 1}


@pytest.mark.parametrize(
    ("spelling", "is_marker"),
    [
        pytest.param(r"\u003C\u003ccg:91c9568c40c8d8d1\u003e\u003E", True, id="03-case-64-mixed"),
        pytest.param(r"\u003c\u003cCG:91c9568c40c8d8d1\u003e\u003e", False, id="03-case-64-CG"),
    ],
)
async def test_a_marker_of_the_session_is_recognised_however_json_spells_it(
    served: Served, spelling: str, *, is_marker: bool
) -> None:
    await served.post(anthropic_body(X4000))
    body = anthropic_body(X4000, "SPELLING" + "y" * 300).replace(b"SPELLING", spelling.encode())

    await served.post(body)

    assert ("marker_or_kept_verbatim" in gates(served)) is is_marker
    assert outputs_at_provider(served)[1].endswith("y" * 300) is is_marker


@pytest.mark.parametrize(
    "_", [pytest.param(None, id="03-case-65"), pytest.param(None, id="03-case-73")]
)
async def test_a_client_that_declares_our_tool_gets_no_second_copy_and_no_marker_from_it(
    served: Served, _: None
) -> None:
    tools = [json.loads(EXPAND_ANTHROPIC), {"name": "b", "input_schema": {"type": "object"}}]
    body = anthropic_body(LONG, tools=(), metadata={"user_id": "s"})[:-1]
    body += b', "tools": ' + json.dumps(tools).encode() + b"}"

    await served.post(body)

    assert member(served.sent[0], "tools") == member(body, "tools")
    assert gates(served) == {}
    assert "<<cg:" in outputs_at_provider(served)[0]


@pytest.mark.parametrize("_", [pytest.param(None, id="03-case-66")])
async def test_another_tenants_marker_keeps_nothing_from_compaction_and_opens_nothing(
    served: Served, _: None
) -> None:
    await served.post(anthropic_body(X4000), x_context_guru_token=TB)
    assert "<<cg:" + X4000_ID in outputs_at_provider(served)[0]
    served.simulator.requests.clear()
    served.simulator.script({"content": [x(X4000_ID)]}, {"content": "done"})

    await served.post(anthropic_body(f"pasted <<cg:{X4000_ID}>> " + "z" * 300))

    assert "pasted" not in outputs_at_provider(served)[0]
    assert results(served.sent) == [PLACEHOLDER.format(id=X4000_ID)]
    assert served.stats()["expand_unresolved_missing"] == 0
    assert served.stats("birch")["expand_unresolved_missing"] == 0
    await foreign(served, 1)
    assert served.stats()["expand_unresolved_foreign_tenant"] == 0
    assert served.stats()["expand_unresolved_never_minted"] == 1


async def foreign(served: Served, count: int) -> None:
    """Wait until the process has counted so many ids of other tenants, which it does behind."""
    node, name = served.gateway.node, "expand_unresolved_foreign_tenant"
    await until(lambda: node.stats()[name] == count)


async def test_an_id_that_nobody_minted_and_one_of_its_own_are_no_foreign_ones(
    served: Served,
) -> None:
    await served.post(anthropic_body(X4000), x_context_guru_token=TB)
    for wanted in ("f" * 16, X4000_ID):
        served.simulator.script({"content": [x(wanted)]}, {"content": "done"})
        await served.post(anthropic_body("short"))

    await foreign(served, 1)


async def test_what_cannot_be_told_apart_costs_no_request(serve: Serve, tmp_path: Path) -> None:
    async with serve() as served:
        minted = served.gateway.node.store.minted
        assert minted is not None
        minted._path = tmp_path  # a directory is no file
        served.simulator.script({"content": [x("f" * 16)]}, {"content": "done"})

        answer = await served.post(anthropic_body(X4000))

        assert answer.status_code == 200
        assert results(served.sent) == [PLACEHOLDER.format(id="f" * 16)]


@pytest.mark.parametrize("_", [pytest.param(None, id="03-case-67")])
async def test_a_marker_inside_a_head_peek_is_made_harmless(serve: Serve, _: None) -> None:
    document = "pipeline: [mask]\ncomponents: {mask: {keep_recent: 0, min_tokens: 1}}\n"
    async with serve(document) as served:
        await served.post(anthropic_body(f"<<cg:{X4000_ID}>> " + "z " * 900))

        assert f"starts: << cg:{X4000_ID}>>" in outputs_at_provider(served)[0]


@pytest.mark.parametrize("_", [pytest.param(None, id="03-case-68")])
async def test_without_a_store_what_is_removed_is_gone_and_nothing_offers_it(
    served: Served, _: None
) -> None:
    served.gateway.node.store.configure("ten_acme", "off")

    await served.post(anthropic_body(X4000), x_context_guru_session="s1")
    expanded = await served.send(
        "GET", f"/expand?id={X4000_ID}&session=s1", headers={"x-context-guru-token": TA}
    )

    assert outputs_at_provider(served) == ["[older tool output masked] "]
    assert b"context_guru_expand" not in served.sent[0]
    assert expanded.status_code == 404


REFUSES = "CREATE TRIGGER refuses BEFORE INSERT ON stash BEGIN SELECT RAISE(ABORT, 'no'); END;"
IS_SLOW = """\
CREATE TRIGGER is_slow BEFORE INSERT ON stash BEGIN SELECT count(*) FROM (
  WITH RECURSIVE c(n) AS (VALUES(0) UNION ALL SELECT n + 1 FROM c WHERE n < 9000000) SELECT n FROM c
); END;"""


@pytest.mark.parametrize(
    "trigger",
    [
        pytest.param(REFUSES, id="03-case-69-raises"),
        pytest.param(IS_SLOW, id="03-case-69-slow"),
    ],
)
async def test_what_the_store_cannot_keep_is_not_removed(serve: Serve, trigger: str) -> None:
    async with serve(store_commit_timeout_ms=250) as served:
        await served.post(b'{"messages": [{"role": "user", "content": "another session"}]}')
        run_in_store(served, trigger)

        answer = await served.post(anthropic_body(X4000), x_context_guru_session="s1")

        assert answer.status_code == 200
        assert outputs_at_provider(served) == [X4000]
        assert gates(served)["stash_unavailable"] == 1


@pytest.mark.parametrize("_", [pytest.param(None, id="03-case-70")])
async def test_two_originals_never_share_an_id(served: Served, _: None) -> None:
    scope = Scope("ten_acme", "pa", "s1")
    other = Commit(scope, time.time(), (Payload(X4000_ID, b"another original"),), ())
    await served.gateway.node.store.commit(other)

    await served.post(anthropic_body(X4000), x_context_guru_session="s1")

    assert outputs_at_provider(served) == [X4000]
    assert gates(served) == {"stash_collision": 1}


@pytest.mark.parametrize("_", [pytest.param(None, id="03-case-70-owned")])
async def test_nor_do_they_when_the_session_itself_minted_the_id(served: Served, _: None) -> None:
    """The first commit above was by the same principal: owning an id is no proof of its text."""
    await served.post(anthropic_body(X4000), x_context_guru_session="s1")
    run_in_store(served, "UPDATE stash SET sha = x'00' || substr(sha, 2);")

    await served.post(anthropic_body(X4000, model="m"), x_context_guru_session="s2")

    assert outputs_at_provider(served) == [X4000]


# ---- the tool -------------------------------------------------------------------------------


def document(**keys: str) -> str:
    return MASK_ALL + "".join(f"{name}: {value}\n" for name, value in keys.items())


@pytest.mark.parametrize("_", [pytest.param(None, id="03-case-71")])
async def test_the_tool_stands_last_and_the_tools_never_change_from_turn_to_turn(
    served: Served, _: None
) -> None:
    outputs = []
    for turn in range(11):
        outputs += [f"output {turn} " * 40] * bool(turn)
        body = anthropic_body(*outputs, tools=("a", "b"))
        await served.post(body, x_context_guru_session="s1")

        assert items(served.sent[-1], "tools") == [*items(body, "tools"), EXPAND_ANTHROPIC]
    assert len({member(sent, "tools") for sent in served.sent}) == 1


@pytest.mark.parametrize(
    ("inject", "members", "expected"),
    [
        pytest.param("auto", b"", [], id="03-case-72-auto-without-tools"),
        pytest.param("auto", b', "tools": []', [], id="03-case-72-auto-empty-tools"),
        pytest.param("always", b"", [EXPAND_ANTHROPIC], id="03-case-72-always"),
    ],
)
async def test_without_tools_of_its_own_a_client_gets_ours_only_if_always_asked(
    serve: Serve, inject: str, members: bytes, expected: list[bytes]
) -> None:
    async with serve(document(inject_expand=inject)) as served:
        body = anthropic_body(LONG, tools=())[:-1] + members + b"}"
        await served.post(body)

        assert items(served.sent[0], "tools") == expected


ANY, NAMED, NONE = {"type": "any"}, {"type": "tool", "name": "bash"}, {"type": "none"}


@pytest.mark.parametrize(
    ("choice", "redeems"),
    [
        pytest.param(ANY, True, id="03-case-74-any"),
        pytest.param(NAMED, False, id="03-case-74-named"),
        pytest.param(NONE, False, id="03-case-74-none"),
        pytest.param({"type": "auto"}, True, id="03-case-74-auto"),
    ],
)
async def test_the_tool_stands_whatever_the_choice_and_no_marker_leaves_that_could_not_be_opened(
    served: Served, choice: dict[str, str], *, redeems: bool
) -> None:
    await served.post(anthropic_body(LONG, tool_choice=choice), x_context_guru_session="s1")

    assert EXPAND_ANTHROPIC in items(served.sent[-1], "tools")
    assert ("<<cg:" in outputs_at_provider(served)[0]) is redeems
    assert gates(served) == ({} if redeems else {"no_recovery_path": 1})


async def test_what_was_removed_before_stays_removed_under_a_choice_that_excludes_the_tool(
    served: Served,
) -> None:
    await served.post(anthropic_body(LONG), x_context_guru_session="s1")
    before = outputs_at_provider(served)[0]

    chosen = anthropic_body(LONG, X4000, tool_choice=NONE)
    await served.post(chosen, x_context_guru_session="s1")

    assert outputs_at_provider(served) == [before, X4000]
    assert member(served.sent[0], "tools") == member(served.sent[1], "tools")


@pytest.mark.parametrize(
    "choice",
    [
        pytest.param("none", id="03-case-74-openai-none"),
        pytest.param("required", id="03-case-74-openai-required"),
    ],
)
async def test_the_same_holds_for_the_string_forms_of_openai(served: Served, choice: str) -> None:
    body = {
        "model": "gpt-5.6",
        "messages": [{"role": "user", "content": "Fix the test."}],
        "tools": [{"type": "function", "function": {"name": "bash"}}],
        "tool_choice": choice,
    }

    sent = json.dumps(body).encode()
    await served.post(sent, path=CHAT, authorization="Bearer sk-agent")

    assert EXPAND_OPENAI_CHAT in items(served.sent[-1], "tools")


async def test_an_offer_to_another_session_of_the_same_first_words_opens_nothing(
    serve: Serve,
) -> None:
    """The client of the second session brings no tools, so that its model cannot ask."""
    async with serve() as served:
        await served.post(anthropic_body(LONG), x_context_guru_session="s1")
        await served.post(anthropic_body(LONG, tools=()), x_context_guru_session="s2")

        assert outputs_at_provider(served) == [LONG]
        assert gates(served)["no_recovery_path"] == 1


@pytest.mark.parametrize(
    ("text", "headers"),
    [
        pytest.param("pipeline: [format]\n", {}, id="03-case-75-format-only"),
        pytest.param(document(inject_expand="never"), {}, id="03-case-75-never"),
        pytest.param(document(mode="observe"), {}, id="03-case-75-observe"),
        pytest.param(MASK_ALL, {"x_context_guru_bypass": "true"}, id="03-case-75-bypass"),
    ],
)
async def test_where_nothing_can_be_recovered_no_tool_is_declared(
    serve: Serve, text: str, headers: dict[str, str]
) -> None:
    async with serve(text) as served:
        body = anthropic_body(LONG)
        await served.post(body, **headers)

        assert member(served.sent[0], "tools") == member(body, "tools")
