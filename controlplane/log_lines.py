"""How a line of the log looks: never with a credential in it (04 §8.3)."""

from __future__ import annotations

import logging

from dataplane.core.text.redacted import scrubbed


class ScrubbedLines(logging.Formatter):
    """The whole line is scrubbed, its traceback included, whoever wrote the record."""

    def format(self, record: logging.LogRecord) -> str:
        return scrubbed(super().format(record))
