"""Scripts and styles, served by the process itself at addresses that carry a hash of them.

The hash stands before the path and counts every file: what a file imports or names by a relative
address carries it too, no file is rewritten, and a page never mixes the files of two releases.
"""

from __future__ import annotations

import hashlib
import io
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from django.contrib.staticfiles import finders
from django.contrib.staticfiles.storage import StaticFilesStorage
from django.http import HttpRequest, HttpResponse
from whitenoise.middleware import WhiteNoiseMiddleware

HASHED = re.compile(r"(?:([0-9a-f]{12})/)?(.+)")
DIGITS = 12
FOREVER = "public, max-age=31536000, immutable"
NEVER = "no-store"


@dataclass(frozen=True, slots=True)
class Counted:
    """A file as it was when its bytes went into the hash; stamp: time of its change in ns, size."""

    path: Path
    stamp: tuple[int, int]

    def is_unchanged(self) -> bool:
        return _stamp(self.path) == self.stamp


@dataclass(frozen=True, slots=True)
class Tree:
    """digest: of every name and every byte, wherever they lie and whenever they were written."""

    digest: str
    files: Mapping[str, Counted]

    def has(self, name: str) -> bool:
        """Whether the hash still speaks for what the disk holds: an upgrade replaces files under
        a running process, and a browser would keep the new ones at the old address for a year.
        """
        return name in self.files and self.files[name].is_unchanged()


def counted(paths: Mapping[str, Path]) -> Tree:
    """paths: of the files by their names below /static/."""
    files = {name: Counted(path, _stamp(path)) for name, path in sorted(paths.items())}
    whole = hashlib.sha256()
    for name, file in files.items():
        whole.update(name.encode() + b"\0" + hashlib.sha256(file.path.read_bytes()).digest())
    return Tree(whole.hexdigest()[:DIGITS], files)


@cache
def tree() -> Tree:
    """The files of this process, as it found them when it started."""
    paths: dict[str, Path] = {}
    for finder in finders.get_finders():
        for name, storage in finder.list([]):
            paths.setdefault(name, Path(storage.path(name)))
    return counted(paths)


def _stamp(path: Path) -> tuple[int, int]:
    """(0, 0) for a file that is gone."""
    try:
        found = path.stat()
    except OSError:
        return (0, 0)
    return (found.st_mtime_ns, found.st_size)


class HashedAddresses(StaticFilesStorage):
    """What {% static %} asks."""

    def url(self, name: str | None) -> str:
        return super().url(f"{tree().digest}/{name}")


class StaticFiles(WhiteNoiseMiddleware):  # type: ignore[misc]  # it has no types
    """Answers to be kept for good at the address of this build, and not at all at any other.

    A page of another build still gets what there is: better a newer style than none.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        super().__init__(get_response)
        self._beyond = get_response
        tree()  # now, while the disk holds what whitenoise has just looked at

    def __call__(self, request: HttpRequest) -> HttpResponse:
        asked = HASHED.fullmatch(request.path_info.removeprefix(self.static_prefix))
        if asked is None or not request.path_info.startswith(self.static_prefix):
            return self._beyond(request)
        address = f"{self.static_prefix}{asked[2]}"
        file = self.find_file(address) if self.autorefresh else self.files.get(address)
        if file is None:
            return self._beyond(request)
        answer = self.serve(file, request)
        is_ours = asked[1] == tree().digest and tree().has(asked[2]) and not self.autorefresh
        answer["Cache-Control"] = FOREVER if is_ours else NEVER
        return answer

    @staticmethod
    def serve(static_file: Any, request: HttpRequest) -> HttpResponse:
        """Whole: a synchronous stream cannot be sent under ASGI without being collected."""
        found = static_file.get_response(request.method, request.META)
        with found.file or io.BytesIO() as file:
            answer = HttpResponse(file.read(), status=found.status)
        del answer["Content-Type"]  # a 304 has none
        for name, value in found.headers:
            answer[name] = value
        return answer
