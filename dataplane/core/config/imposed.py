"""What the environment of a node's process sets above every document (08-field-cases.md K-19)."""

from __future__ import annotations

from typing import Any

import msgspec


class Imposed(msgspec.Struct, frozen=True):
    """A setting that no document can change. said: its value as the environment writes it.

    path: JSON pointer of the key that it beats, and value what counts instead; "" and None where
    no key says the same.
    """

    variable: str
    said: str
    path: str = ""
    value: Any = None

    def __str__(self) -> str:
        return f"{self.variable}={self.said}"
