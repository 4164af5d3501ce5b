"""Whether a regular expression compiles, and whether it may run for ever.

A pattern is judged by its shape, so that the answer is the same everywhere and is given without
running it: the matcher can be interrupted by nothing. Source: 04 §2.5, values.
"""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass, field

_UNBOUNDED = re.compile(r"(?:[*+]|\{\d*,\})")
_QUANTIFIER = re.compile(r"(?:[*+?]|\{\d*,?\d*\})[?+]?")
_OPENER = re.compile(r"\((?:\?(?:P<\w+>|P=\w+|[:=!>]|<[=!]|[aiLmsux-]+[:)]|#[^)]*))?")
_CLASS = re.compile(r"\[\^?\]?(?:\\.|[^\]\\])*\]", re.DOTALL)
NESTED = "A repetition inside a repetition can be divided in so many ways that it never ends."
ALIKE = "Two repeated alternatives begin alike, so every text has more and more readings."


def compile_fault(pattern: str) -> str | None:
    """Why the pattern does not compile, None when it does."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            re.compile(pattern, re.MULTILINE)
    except (re.error, OverflowError, RecursionError) as error:
        return f"{error}"
    return None


def slow_fault(pattern: str) -> str | None:
    """Why a pattern that compiles may take exponential time, None when its shape is harmless."""
    scan = _Scan(pattern)
    scan.run()
    return scan.fault


@dataclass(slots=True)
class _Group:
    """What one group holds. unbounded: a repetition without end; hungry: one of any character;
    fixed: atoms of this alternative that must be there once; firsts: how alternatives begin;
    explodes: repeating the group without end would be fatal.
    """

    unbounded: bool = False
    hungry: bool = False
    fixed: int = 0
    firsts: list[str] = field(default_factory=list)
    begins: bool = True
    explodes: bool = False
    repeats: bool = False

    def end(self) -> None:
        """Behind an alternative."""
        self.explodes |= self.unbounded and (self.hungry or not self.fixed)
        self.repeats |= self.unbounded
        self.unbounded = self.hungry = False
        self.fixed = 0
        self.begins = True


class _Scan:
    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._at = 0
        self._open = [_Group()]
        self.fault: str | None = None

    def run(self) -> None:
        while self._at < len(self._pattern) and self.fault is None:
            self._step()

    def _step(self) -> None:
        char = self._pattern[self._at]
        if char == "(":
            opener = _OPENER.match(self._pattern, self._at)
            text = opener.group() if opener else "("
            self._at += len(text)
            if not text.endswith(")"):
                self._open.append(_Group())
        elif char == "|":
            self._at += 1
            self._open[-1].end()
        elif char == ")" and len(self._open) > 1:
            self._at += 1
            self._close(self._open.pop())
        else:
            self._atom(self._token())

    def _token(self) -> str:
        if self._pattern[self._at] == "\\":
            text = self._pattern[self._at : self._at + 2]
        elif found := _CLASS.match(self._pattern, self._at):
            text = found.group()
        else:
            text = self._pattern[self._at]
        self._at += len(text)
        return text

    def _atom(self, text: str) -> None:
        group, repeat = self._open[-1], self._repeat()
        self._begin(group, text)
        group.unbounded |= _is_unbounded(repeat)
        group.hungry |= _is_unbounded(repeat) and text == "."
        group.fixed += not repeat

    def _close(self, inner: _Group) -> None:
        must = bool(inner.fixed)
        inner.end()
        outer, repeat = self._open[-1], self._repeat()
        self._begin(outer, "(")
        if _is_unbounded(repeat) and inner.explodes:
            self.fault = NESTED
        elif _is_unbounded(repeat) and len(set(inner.firsts)) < len(inner.firsts):
            self.fault = ALIKE
        outer.unbounded |= inner.repeats or _is_unbounded(repeat)
        outer.explodes |= inner.explodes and not outer.fixed
        outer.fixed += not repeat and must

    def _begin(self, group: _Group, text: str) -> None:
        if group.begins and text not in ("^", "("):
            group.firsts.append(text)
        group.begins = False

    def _repeat(self) -> str:
        found = _QUANTIFIER.match(self._pattern, self._at)
        self._at += len(found.group()) if found else 0
        return found.group() if found else ""


def _is_unbounded(repeat: str) -> bool:
    return bool(_UNBOUNDED.match(repeat)) and not repeat.endswith("++")
