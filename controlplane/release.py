"""Which release this process runs, in words for a page and as an identity for those left open."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

from controlplane.static_files import tree


def _installed() -> str:
    try:
        return version("headrace")
    except PackageNotFoundError:
        return ""


# Read once: an upgrade changes what is installed under a process that still runs the old code.
VERSION = _installed()


def release() -> str:
    return f"Headrace {VERSION}".rstrip()


def identity() -> str:
    """The same in every process of one release; a page of another one should be loaded anew."""
    return f"{VERSION}+{tree().digest}"
