"""Run every scenario and print the table; `--json FILE` writes it for machines."""

from __future__ import annotations

import argparse
import asyncio
import datetime
import json
import platform
import sys
from pathlib import Path

import psutil

from tools.bench import holding, passing, scenarios, streams
from tools.bench.scenarios import Row, servers

SCENARIOS = (
    passing.pass_through,
    scenarios.streaming,
    streams.many_streams,
    scenarios.compaction,
    streams.beside_large_bodies,
    streams.beside_one_result,
    holding.holding,
    scenarios.store_commits,
    scenarios.telemetry,
    scenarios.saving,
    scenarios.editing,
    scenarios.at_rest,
    scenarios.many_tenants,
)


def machine() -> str:
    """The machine the figures belong to."""
    memory = psutil.virtual_memory().total >> 30
    return (
        f"{psutil.cpu_count()} cores, {memory} GiB, {platform.machine()}, "
        f"Python {platform.python_version()}"
    )


def table(rows: list[Row]) -> str:
    marks = {True: "yes", False: "**no**", None: ""}
    lines = ["| what | measured | must reach | reached |", "|---|---|---|---|"]
    lines += [f"| {r.what} | {r.value} | {r.bound} | {marks[r.reached]} |" for r in rows]
    return "\n".join(lines)


async def measure(only: str) -> list[Row]:
    with servers() as bench:
        rows: list[Row] = []
        for scenario in SCENARIOS:
            if only not in scenario.__name__:
                continue
            sys.stderr.write(f"{scenario.__name__}\n")
            rows += await scenario(bench)
        return rows


def main() -> int:
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("--json", type=Path, help="write the figures to this file as well")
    parser.add_argument("--only", default="", help="run the scenarios whose name contains this")
    options = parser.parse_args()
    rows = asyncio.run(measure(options.only))
    today = datetime.datetime.now(tz=datetime.UTC).date().isoformat()
    sys.stdout.write(f"{today}, {machine()}\n\n{table(rows)}\n")
    if options.json:
        figures = {"date": today, "machine": machine(), "rows": [vars(row) for row in rows]}
        options.json.write_text(json.dumps(figures, indent=1, ensure_ascii=False) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
