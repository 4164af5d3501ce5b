"""A recorded session goes through the whole product: command, gateway, simulated provider."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests import house
from tests.databases import migrated
from tests.journeys.deployment import wait_for
from tests.patience import PATIENCE_S
from tests.servers import free_port

SESSIONS = sorted((house.ROOT / "tests/data/sessions").glob("*.json"))


@dataclass(frozen=True)
class Served:
    """A gateway of the test's own and the key of its first tenant."""

    url: str
    key: str


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("served")) as running:
        yield running


@pytest.fixture
def untouched(tmp_path: Path) -> Iterator[Served]:
    """One that has not seen these conversations: their first words are enough to be known again."""
    with serving(tmp_path) as running:
        yield running


@contextlib.contextmanager
def serving(folder: Path) -> Iterator[Served]:
    """`make run` on databases without a row, where requests may name their own time."""
    bind = f"127.0.0.1:{free_port()}"
    printed = folder / "printed"
    migrated(folder / "var")
    environment = {
        "PATH": os.defpath,
        "HEADRACE_BIND": bind,
        "HEADRACE_DATA_DIR": str(folder / "var"),
        "HEADRACE_TEST_CLOCK": "1",
    }
    with printed.open("wb") as output:
        server = subprocess.Popen(
            [sys.executable, "manage.py", "serve"],
            cwd=house.ROOT, env=environment, stdout=output, stderr=subprocess.STDOUT,
        )  # fmt: skip
    try:
        wait_for(f"http://{bind}/readyz", server, printed)
        keys = re.findall(r"cg_live_[A-Z2-7]{26}", printed.read_text(encoding="utf-8"))
        yield Served(f"http://{bind}", keys[0])
    finally:
        server.terminate()
        server.wait(PATIENCE_S)


def compared(served: Served, recording: Path, *options: str) -> dict[str, Any]:
    headrace = str(Path(sys.executable).parent / "headrace")
    command = [headrace, "replay", str(recording), "--url", served.url]
    more = ["--key", served.key, "--compressed", "--compare", "--json", *options]
    ran = subprocess.run([*command, *more], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    value: dict[str, Any] = json.loads(ran.stdout)
    return value


def claimed_usd(served: Served) -> float:
    """What the gateway says that it has saved."""
    stats = httpx.get(f"{served.url}/stats", headers={"x-context-guru-token": served.key}).json()
    return float(stats["baseline_usd"] or 0) - float(stats["billed_usd"] or 0)


@pytest.mark.parametrize("recording", SESSIONS, ids=lambda path: path.stem)
def test_a_long_session_saves_tokens_and_money_and_still_reads_the_providers_cache(
    served: Served, recording: Path
) -> None:
    before = claimed_usd(served)

    value = compared(served, recording)

    with_, without = value["runs"]
    assert with_["totals"]["failed"] == without["totals"]["failed"] == 0
    assert with_["totals"]["saved"] > 0
    assert with_["totals"]["cache_read"] > with_["totals"]["cache_write"]
    assert value["difference"]["cache_write"] < 0
    assert float(value["difference"]["usd"]) < 0
    # What is claimed is an estimate, near what the same session costs more without.
    claimed, measured = claimed_usd(served) - before, -float(value["difference"]["usd"])
    assert claimed == pytest.approx(measured, rel=0.15)


def test_a_client_that_asks_for_no_cache_saves_at_any_depth(untouched: Served) -> None:
    """Its provider holds nothing, so nothing is spared: every turn would be paid in full."""
    with_, without = compared(untouched, SESSIONS[0], "--cache-ttl", "none")["runs"]

    assert with_["totals"]["failed"] == 0
    assert without["totals"]["cache_read"] == without["totals"]["cache_write"] == 0
    assert float(with_["totals"]["usd"]) < 0.1 * float(without["totals"]["usd"])


def test_what_the_gateway_counted_is_what_the_answers_said(served: Served) -> None:
    with_, without = compared(served, SESSIONS[0], "--stream")["runs"]

    sums, counted = with_["totals"], with_["stats"]
    assert counted["requests"] == sums["turns"]
    assert counted["tokens_before"] == sums["before"]
    assert counted["tokens_after"] == sums["after"]
    assert counted["cache_read_tokens"] == sums["cache_read"]
    assert counted["cache_write_tokens"] == sums["cache_write"]
    assert without["stats"]["bypassed.header"] == without["totals"]["turns"]


def test_an_unknown_key_is_refused_on_every_turn(served: Served) -> None:
    recording = house.ROOT / "tests/data/claude-code/rewound.jsonl"
    command = [sys.executable, "-m", "dataplane.replay", str(recording), "--url", served.url]
    wrong = ["--key", f"cg_live_{'A' * 26}", "--compressed", "--json"]

    ran = subprocess.run([*command, *wrong], capture_output=True, text=True, check=False)

    assert ran.returncode == 1
    assert {turn["status"] for turn in json.loads(ran.stdout)["runs"][0]["turns"]} == {401}
