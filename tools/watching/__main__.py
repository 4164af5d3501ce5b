"""`make bench-watching`: print what reporting, pages and streams cost at the size of a busy fleet.

It makes a deployment of its own in a folder that is removed at the end; `--keep FOLDER` uses that
one and keeps it, so that its million rows need not be made again.
"""

from __future__ import annotations

import argparse
import asyncio
import datetime
import os
import sys
import tempfile
from pathlib import Path

import django

from tools.bench.__main__ import machine, table
from tools.bench.scenarios import Row
from tools.watching import pages, streams

PARTS = ("reports", "pages", "streams")
STREAM_S = 30


def main() -> int:
    parser = argparse.ArgumentParser(prog="make bench-watching", description=__doc__)
    parser.add_argument("--only", choices=PARTS, help="measure this part alone")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="the deployment's data folder")
    parser.add_argument("--requests", type=int, default=1_000_000, help="rows behind the pages")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="headrace-watching-") as made:
        folder = options.keep or Path(made)
        folder.mkdir(exist_ok=True)
        parts = [part for part in PARTS if options.only in (None, part)]
        found = [row for part in parts for row in _measured(part, folder, options.requests)]
    today = datetime.datetime.now(tz=datetime.UTC).date().isoformat()
    sys.stdout.write(f"{today}, {machine()}\n\n{table(found)}\n")
    return 0


def _measured(part: str, folder: Path, requests: int) -> list[Row]:
    sys.stderr.write(f"{part}\n")
    if part == "streams":
        return streams.rows(STREAM_S)
    if part == "pages":
        return pages.rows(folder, requests)
    return _reports(folder)


def _reports(folder: Path) -> list[Row]:
    """In this process, so that puts can be timed; Django is set up for a database of its own."""
    os.environ["HEADRACE_DATA_DIR"] = str(folder / "reports")
    os.environ["DJANGO_SETTINGS_MODULE"] = "controlplane.settings"
    django.setup()
    from controlplane.cli import database
    from tools.watching import reports

    database.migrate_both()
    found = asyncio.run(reports.rows(per_s=200, seconds=60, keeps_rows=True))
    return found + asyncio.run(reports.rows(per_s=1000, seconds=10, keeps_rows=False))


if __name__ == "__main__":
    sys.exit(main())
