"""K11: a node whose state lies on a disk that fills up and is freed again.

The disk is a small file system in a file; making one needs the right to mount, without which the
store's own tests under a file-size limit are what there is. Source: 03-proxy-and-recovery.md 5.10.
"""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import httpx

from dataplane.simulator import Simulator
from tests.dataplane.gateway import tenants
from tests.dataplane.gateway_cases.served import MASK_ALL
from tests.dataplane.recovery_cases.crash import (
    MUST_STAY_ZERO,
    Agent,
    Findings,
    Ordeal,
    ask_for,
    read_counters,
)
from tests.dataplane.recovery_cases.nodes import node_process

# A tenth of it, from which on originals are refused, is more than a cut write-ahead log gives back.
DISK_BYTES = 512 << 20
ORDEAL = Ordeal(seed=11, kills=0, sessions=6)
WORK_S = 2.0
EXPECTED = [True, False, True]


class CannotMountError(RuntimeError):
    """This user may not mount a file system."""


@contextlib.asynccontextmanager
async def small_disk(directory: Path) -> AsyncIterator[Path]:
    """An ext4 file system of DISK_BYTES below the directory. Raises CannotMountError."""
    image, mounted = directory / "image", directory / "mounted"
    await asyncio.to_thread(mounted.mkdir, parents=True)
    try:
        await _run("truncate", "-s", str(DISK_BYTES), str(image))
        await _run("mkfs.ext4", "-q", "-m", "0", str(image))
        await _run("mount", "-o", "loop", str(image), str(mounted))
    except (OSError, subprocess.CalledProcessError) as error:
        raise CannotMountError(str(error)) from error
    try:
        yield mounted
    finally:
        await _run("umount", "-l", str(mounted))


async def _run(*command: str) -> None:
    await asyncio.to_thread(subprocess.run, command, check=True, capture_output=True)


async def fill_and_free(directory: Path) -> str:
    """What went wrong, "" when nothing did, or why it could not be tried."""
    try:
        async with small_disk(directory) as disk:
            return await _work_on(disk, directory)
    except CannotMountError as error:
        return f"not tried: {error}"


async def _work_on(disk: Path, directory: Path) -> str:
    findings = Findings()
    async with Simulator(keep=1) as simulator, httpx.AsyncClient(trust_env=False) as http:
        simulator.on_request = findings.witness.see
        node = node_process(directory, tenants(MASK_ALL), simulator.url)
        node.state_dir = disk / "state"
        await node.start()
        await node.wait_until_ready()
        agents = [Agent(f"f{n}", [node], findings, ORDEAL) for n in range(ORDEAL.sessions)]
        minted = []
        async with asyncio.TaskGroup() as group:
            working = [group.create_task(agent.work(http)) for agent in agents]
            for change in (None, _fill, _free):
                if change is not None:
                    await asyncio.to_thread(change, disk)
                    await asyncio.sleep(0.5)
                before = len(findings.witness.minted)
                await asyncio.sleep(WORK_S)
                minted.append(len(findings.witness.minted) - before)
            for task in working:
                task.cancel()
        await ask_for(findings.witness.minted, [node], findings, http)
        await read_counters([node], findings, http)
        await node.kill()
    return _verdict(findings, minted)


def _fill(disk: Path) -> None:
    """Leave not one free block."""
    with (disk / "ballast").open("wb", buffering=0) as ballast, contextlib.suppress(OSError):
        while True:
            ballast.write(bytes(4096))


def _free(disk: Path) -> None:
    (disk / "ballast").unlink()
    subprocess.run(["sync", "-f", str(disk)], check=True)  # until then its blocks count as used


def _verdict(findings: Findings, minted: list[int]) -> str:
    """minted: how many markers were new before, while the disk was full, and after."""
    wrong = {
        "markers before, during, after": "" if [n > 0 for n in minted] == EXPECTED else minted,
        "unresolved": findings.wrong,
        "flips": findings.witness.changed,
        "refused": findings.refused,
        "counted": {n: c for n, c in findings.counted.items() if n in MUST_STAY_ZERO and c},
    }
    return "; ".join(f"{name}: {what}" for name, what in wrong.items() if what)
