"""What a deployment cannot do is said in a line, and no trace of our code is shown for it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class UnusableError(Exception):
    """A database or a disk does not do what it must. The text names which, and what is wrong."""


@contextmanager
def said_in_a_line() -> Iterator[None]:
    """Raises UnusableError for a database that is damaged, locked, full, read-only or gone, and for
    a file or folder that cannot be used; what is a mistake of ours is raised as it is.
    """
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as problem:
        raise UnusableError(str(problem)) from problem
    except Exception as problem:
        from controlplane.storage import trouble_of  # not every command needs Django

        if trouble_of(problem) is None:
            raise
        said = " ".join(str(problem).split())
        raise UnusableError(f"A database cannot be used: {said}.") from problem
