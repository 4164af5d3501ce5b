"""Files that a command is given."""

from __future__ import annotations

from pathlib import Path


class FileError(Exception):
    """A file that cannot be read, in words for whoever named it."""


def bytes_of(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as problem:
        raise FileError(f"{file}: {problem.strerror}") from problem


def text_of(file: Path) -> str:
    """A document, with the line ends that documents are kept with."""
    try:
        return bytes_of(file).decode().replace("\r\n", "\n")
    except UnicodeDecodeError:
        raise FileError(f"{file}: not UTF-8 text; headrace validate says where") from None
