"""An agent whose model asks for an original that somebody took out of the store meanwhile."""

from __future__ import annotations

import json
import sqlite3
import threading
import time
import urllib.request
from contextlib import closing
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


def ask_and_expand(url: str, key: str) -> None:
    """A request whose model asks, after a moment, for the first text that was taken out."""
    expand = {
        "type": "tool_use",
        "id": "toolu_expand",
        "name": "context_guru_expand",
        "input": {"id": {"$marker": 0}},
    }
    first = {"content": [expand], "stop_reason": "tool_use", "head_delay_ms": 3_000}
    body = {
        "model": "claude-sonnet-5",
        "max_tokens": 64,
        "tools": [{"name": "bash", "description": "Run.", "input_schema": {"type": "object"}}],
        "messages": conversation(8),
    }
    headers = {
        "x-context-guru-token": key,
        "x-context-guru-session": SESSION,
        "x-api-key": "sk-test",
        "anthropic-version": "2023-06-01",
        "content-type": "application/json",
        "x-sim-script": script_header(first, {"content": "Done."}, id="loss"),
    }
    to = f"{url}/anthropic/v1/messages"
    request = urllib.request.Request(to, json.dumps(body).encode(), headers)  # noqa: S310
    with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:  # noqa: S310  our own address
        assert answer.status == 200


def stored(folder: Path) -> dict[str, Path]:
    """The ids of what the stores below the folder hold, and where."""
    found: dict[str, Path] = {}
    for store in folder.glob("**/tenants/*/store.db"):
        with closing(sqlite3.connect(store, timeout=5)) as connection:
            found |= {str(row[0]): store for row in connection.execute("SELECT k FROM stash")}
    return found


def remove_originals(folder: Path, kept: dict[str, Path]) -> list[str]:
    """Take away under its hands what a store holds besides `kept`, as soon as there is any."""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        new = {k: store for k, store in stored(folder).items() if k not in kept}
        for store in set(new.values()):
            with closing(sqlite3.connect(store, timeout=5)) as connection, connection:
                connection.executemany("DELETE FROM stash WHERE k = ?", [(k,) for k in new])
        if new:
            return list(new)
        time.sleep(0.05)
    raise AssertionError("nothing was stored")


def lose_an_original(url: str, key: str, folder: Path) -> list[str]:
    """The ids that are gone, of which the model has asked for one."""
    kept = stored(folder)
    asking = threading.Thread(target=ask_and_expand, args=[url, key])
    asking.start()
    lost = remove_originals(folder, kept)
    asking.join()
    return lost
