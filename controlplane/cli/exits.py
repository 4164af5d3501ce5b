"""What the commands end with (04 §4.9)."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from typing import NoReturn

DONE = 0
UNEXPECTED = 1
PENDING = 2
INVALID = 3
CONFLICT = 4
TIMED_OUT = 7
NOT_PERMITTED = 9


class Parser(ArgumentParser):
    """Wrong usage is a failure: argparse's own 2 would say that a change is pending."""

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(UNEXPECTED, f"{self.prog}: error: {message}\n")
