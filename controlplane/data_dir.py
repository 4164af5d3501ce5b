"""Where a deployment keeps its files, for those who must know before Django's settings are read:
reading them makes what is missing.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

CONTROL_FILE = "control.sqlite3"
DATABASE_URL = "HEADRACE_DATABASE_URL"


def data_dir_of(env: Mapping[str, str]) -> Path:
    return Path(env.get("HEADRACE_DATA_DIR") or "var").absolute()


def has_deployment(env: Mapping[str, str]) -> bool:
    """Whether its database was made once, or is on a server."""
    return bool(env.get(DATABASE_URL)) or (data_dir_of(env) / CONTROL_FILE).is_file()
