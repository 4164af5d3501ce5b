"""Which deployment the online commands talk to, and as whom (04 §4.9)."""

from __future__ import annotations

import os
import stat
import tomllib
from pathlib import Path

from controlplane.data_dir import data_dir_of, has_deployment
from dataplane.settings import SettingsError

PROFILE = "~/.config/headrace/profile.toml"
OTHERS = stat.S_IRWXG | stat.S_IRWXO


class ProfileError(Exception):
    """A profile that cannot be used, in words for whoever wrote it."""


def remote_api() -> tuple[str, str]:
    """Address and token, "" for what is not set: from the environment, else from the profile."""
    url, token = os.environ.get("HEADRACE_URL", ""), os.environ.get("HEADRACE_TOKEN", "")
    if not (url and token):
        kept = profile(Path(os.environ.get("HEADRACE_PROFILE", PROFILE)).expanduser())
        url, token = url or kept.get("url", ""), token or kept.get("token", "")
    return url.rstrip("/"), token


def profile(path: Path) -> dict[str, str]:
    """The lines `url = "…"` and `token = "…"` of a file that nobody else may read."""
    try:
        mode, text = path.stat().st_mode, path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    except OSError as problem:
        raise ProfileError(str(problem)) from problem
    if mode & OTHERS:
        raise ProfileError(f"{path} holds a token that others can read. Run: chmod 600 {path}")
    try:
        return {name: str(value) for name, value in tomllib.loads(text).items()}
    except tomllib.TOMLDecodeError as problem:
        raise ProfileError(f"{path} is no TOML: {problem}") from problem


def is_plain() -> bool:
    """Whether NO_COLOR asks for plain text."""
    return bool(os.environ.get("NO_COLOR"))


def refuse_nothing_here() -> None:
    """SettingsError where no deployment was made yet: a command that looks makes none."""
    if not has_deployment(os.environ):
        raise SettingsError(
            f"There is no deployment in {data_dir_of(os.environ)}. HEADRACE_DATA_DIR names its "
            "folder; `manage.py serve` makes one."
        )
