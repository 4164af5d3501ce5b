"""Commands as people and scripts run them: a process and a data directory."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]


class Deployment:
    """A data directory, settings of its own, and the commands that are run on it."""

    def __init__(self, data_dir: Path, **settings: str) -> None:
        self.data_dir = data_dir
        self.settings = settings

    def environment(self, **more: str) -> dict[str, str]:
        """The caller's, without what it says about a Headrace of its own."""
        kept = {key: value for key, value in os.environ.items() if "HEADRACE" not in key}  # noqa: TID251
        return {**kept, "HEADRACE_DATA_DIR": str(self.data_dir), **self.settings, **more}

    def run(self, *arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, *arguments],
            cwd=ROOT,
            env=self.environment(**env),
            capture_output=True,
            text=True,
            check=False,
        )

    def bootstrap(self, *arguments: str, **env: str) -> dict[str, Any]:
        done = self.run("manage.py", "bootstrap", *arguments, "--json", **env)
        assert done.returncode == 0, done.stderr
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    def rows(self, sql: str) -> list[Any]:
        database = sqlite3.connect(self.data_dir / "control.sqlite3")
        try:
            return database.execute(sql).fetchall()
        finally:
            database.close()
