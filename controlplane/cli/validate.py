"""headrace validate: check documents against the packaged registry, without a server."""

from __future__ import annotations


