"""The marker: how it is written, found and made harmless (03-proxy-and-recovery.md 3)."""

from __future__ import annotations

import re

MARKER = re.compile(r"<<cg:([A-Za-z0-9_-]{1,64})>>")
