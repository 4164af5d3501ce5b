"""Which deployment the online commands talk to, and as whom (04 section 4.9)."""

from __future__ import annotations

import os


def remote_api() -> tuple[str, str]:
    """HEADRACE_URL and HEADRACE_TOKEN, "" for what is not set."""
    url = os.environ.get("HEADRACE_URL", "").rstrip("/")
    return url, os.environ.get("HEADRACE_TOKEN", "")
