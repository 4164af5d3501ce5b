"""An agent whose model asks for an original that somebody took out of the store meanwhile."""

from __future__ import annotations

import json
import sqlite3
import urllib.request
import uuid
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from dataplane.simulator.script import script_header
from tests.patience import PATIENCE_S

SESSION = "8f14e45fceea167a"


def conversation(outputs: int, about: str = "refund") -> list[dict[str, Any]]:
    """A task and so many long outputs of a tool, each its own text."""
    said: list[dict[str, Any]] = [{"role": "user", "content": f"Fix the {about} test."}]
    for n in range(outputs):
        call = {"type": "tool_use", "id": f"toolu_{n:02}", "name": "bash", "input": {"n": n}}
        log = "\n".join(f"run {n} line {line}: {about}_{line} passed" for line in range(120))
        result = {"type": "tool_result", "tool_use_id": call["id"], "content": log}
        said += [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
    return said


# Takes each original away as soon as it is stored, and remembers which.
TAKES = """
CREATE TABLE taken (k);
CREATE TRIGGER takes AFTER INSERT ON stash BEGIN
  INSERT INTO taken VALUES (NEW.k);
  DELETE FROM stash WHERE k = NEW.k;
END;
"""
TAKES_NO_MORE = "DROP TRIGGER takes; DROP TABLE taken;"


def ask(url: str, key: str, messages: list[dict[str, Any]], *rounds: dict[str, Any]) -> None:
    """A request of the session; rounds: what the model answers."""
    body = {
        "model": "claude-sonnet-5",
        "max_tokens": 64,
        "tools": [{"name": "bash", "description": "Run.", "input_schema": {"type": "object"}}],
        "messages": messages,
    }
    headers = {
        "x-context-guru-token": key,
        "x-context-guru-session": SESSION,
        "x-api-key": "sk-test",
        "anthropic-version": "2023-06-01",
        "content-type": "application/json",
        "x-sim-script": script_header(*rounds, id=str(uuid.uuid4())),
    }
    to = f"{url}/anthropic/v1/messages"
    request = urllib.request.Request(to, json.dumps(body).encode(), headers)  # noqa: S310
    with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:  # noqa: S310  our own
        assert answer.status == 200


@contextmanager
def opened(store: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(store, timeout=PATIENCE_S)) as connection, connection:
        yield connection


def lose_an_original(url: str, key: str, folder: Path) -> list[str]:
    """The ids that are gone, of which the model has asked for one."""
    done = {"content": "Done."}
    ask(url, key, conversation(0), done)  # so that there is a store
    stores = list(folder.glob("**/tenants/*/store.db"))
    for store in stores:
        with opened(store) as connection:
            connection.executescript(TAKES)

    expand = {
        "type": "tool_use",
        "id": "toolu_expand",
        "name": "context_guru_expand",
        "input": {"id": {"$marker": 0}},
    }
    asks = {"content": [expand], "stop_reason": "tool_use"}
    ask(url, key, conversation(8), asks, done)

    lost: list[str] = []
    for store in stores:
        with opened(store) as connection:
            lost += [str(row[0]) for row in connection.execute("SELECT k FROM taken")]
            connection.executescript(TAKES_NO_MORE)
    return lost
