"""The repository as the house rules see it: its files, modules and functions."""

from __future__ import annotations

import ast
import functools
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("dataplane", "controlplane")
CODE_FOLDERS = (*PACKAGES, "tests", "tools")
TEXT_SUFFIXES = frozenset(
    {".css", ".html", ".js", ".json", ".lock", ".md", ".mjs", ".py", ".sh", ".svg", ".toml", ".yml"}
)


@functools.cache
def files() -> tuple[Path, ...]:
    """Every file that is, or is about to be, under version control; relative to the root."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT, capture_output=True, check=True, text=True,
    )  # fmt: skip
    names = (Path(name) for name in listed.stdout.split("\0") if name)
    return tuple(sorted(name for name in names if (ROOT / name).is_file()))


def modules(*folders: str) -> list[Path]:
    """Python files below the folders that people write, so no migrations."""
    wanted = folders or CODE_FOLDERS
    return [
        name
        for name in files()
        if name.suffix == ".py" and name.parts[0] in wanted and "migrations" not in name.parts
    ]


def read(name: Path | str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


@functools.cache
def tree(name: Path) -> ast.Module:
    return ast.parse(read(name), filename=str(name))


def functions(name: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(tree(name)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def classes(name: Path) -> Iterator[ast.ClassDef]:
    for node in ast.walk(tree(name)):
        if isinstance(node, ast.ClassDef):
            yield node


def lines_of(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines from the def to the end; decorators do not count."""
    return (node.end_lineno or node.lineno) - node.lineno + 1


def last_word_of(name: str) -> str:
    """What a snake_case or CamelCase name calls its bearer, in lower case."""
    return re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", name).lower().rpartition("_")[2]


def names_any(name: Path) -> Iterator[int]:
    """Lines on which the module names typing.Any."""
    for node in ast.walk(tree(name)):
        if isinstance(node, ast.Name | ast.Attribute) and named(node) == "Any":
            yield node.lineno


def named(node: ast.Name | ast.Attribute) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr


def make_targets() -> set[str]:
    return set(re.findall(r"^([a-z][a-z-]*):", read("Makefile"), flags=re.MULTILINE))
