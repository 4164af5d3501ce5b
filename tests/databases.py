"""Databases that are migrated already, for tests of what comes after that."""

from __future__ import annotations

import atexit
import functools
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MIGRATE = "from controlplane.cli.database import migrate_both; migrate_both()"


def migrated(data_dir: Path) -> None:
    """Put the two databases into this data directory as a first start leaves them before it makes
    anything else.
    """
    data_dir.mkdir(mode=0o700, exist_ok=True)
    for file in _made_once().glob("*.sqlite3*"):
        shutil.copy(file, data_dir)


@functools.cache
def _made_once() -> Path:
    """Migrating takes longer than the rest of a first start."""
    folder = Path(tempfile.mkdtemp(prefix="migrated-"))
    atexit.register(shutil.rmtree, folder)
    subprocess.run(
        [sys.executable, "manage.py", "shell", "-v", "0", "-c", MIGRATE],
        cwd=ROOT, env={"PATH": os.defpath, "HEADRACE_DATA_DIR": str(folder)}, check=True,
    )  # fmt: skip
    return folder
