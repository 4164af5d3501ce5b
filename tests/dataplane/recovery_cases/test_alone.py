"""A node is complete without the control plane, without Django, and from one file."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from dataplane.simulator import Simulator
from tests.dataplane.core.build import anthropic_body
from tests.dataplane.gateway import tenants
from tests.dataplane.gateway_cases.served import AGENT, MASK_ALL
from tests.dataplane.recovery_cases.nodes import NodeProcess, node_process, write_snapshot
from tests.dataplane.recovery_cases.scripted import X4000, X4000_ID
from tests.servers import free_port

REFUSE_DJANGO = """\
import sys

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"django", "channels", "celery", "ninja", "controlplane"}:
            raise ImportError(f"{name} is not to be imported here")

sys.meta_path.insert(0, Refuse())
"""


@pytest.fixture
def without_django(tmp_path: Path) -> str:
    """A directory that, in PYTHONPATH, makes Django unimportable from the first line on."""
    place = tmp_path / "site"
    place.mkdir()
    (place / "sitecustomize.py").write_text(REFUSE_DJANGO)
    return str(place)


def test_django_cannot_be_imported_where_these_nodes_run(without_django: str) -> None:
    environment = {"PYTHONPATH": without_django}
    ran = subprocess.run(
        [sys.executable, "-c", "import django"], env=environment, capture_output=True, check=False
    )

    assert b"not to be imported" in ran.stderr


async def test_a_node_serves_from_a_snapshot_file_with_django_not_importable(
    tmp_path: Path, simulator: Simulator, without_django: str
) -> None:
    node = node_process(tmp_path, tenants(MASK_ALL), simulator.url, PYTHONPATH=without_django)
    await node.start()
    try:
        await node.wait_until_ready()
        async with httpx.AsyncClient(trust_env=False, base_url=node.url) as http:
            answer = await http.post("/v1/messages", content=anthropic_body(X4000), headers=AGENT)
            alive = await http.get("/healthz")
    finally:
        await node.kill()

    assert answer.status_code == 200
    assert X4000_ID.encode() in simulator.requests[0].body
    assert alive.text == "ok"


async def test_the_time_that_a_request_states_is_neither_read_nor_passed_on(
    tmp_path: Path, simulator: Simulator
) -> None:
    """Without HEADRACE_TEST_CLOCK a caller must not decide what time it is."""
    node = node_process(tmp_path, tenants(MASK_ALL), simulator.url)
    await node.start()
    try:
        await node.wait_until_ready()
        async with httpx.AsyncClient(trust_env=False, base_url=node.url) as http:
            headers = {**AGENT, "x-headrace-now": "not a number"}
            answer = await http.post("/v1/messages", content=anthropic_body(), headers=headers)
    finally:
        await node.kill()

    assert answer.status_code == 200
    assert simulator.requests[0].header("x-headrace-now") is None


async def test_a_node_refuses_the_stated_time_on_an_address_that_is_not_loopback(
    tmp_path: Path, simulator: Simulator
) -> None:
    port = free_port()
    node = NodeProcess(
        write_snapshot(tmp_path / "snapshot.json", tenants(MASK_ALL), simulator.url),
        tmp_path / "state",
        port,
        {"HEADRACE_TEST_CLOCK": "1", "HEADRACE_BIND": f"0.0.0.0:{port}"},
    )

    await node.start()
    assert node.process is not None
    code = await node.process.wait()

    assert code != 0
    assert "HEADRACE_TEST_CLOCK=1 needs a loopback address" in node.log.read_text()
