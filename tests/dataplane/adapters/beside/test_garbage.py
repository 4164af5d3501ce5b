"""When everything that lives is gone through for garbage: never in the middle of a request."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from pathlib import Path

import pytest

from dataplane.adapters.beside import garbage
from dataplane.adapters.beside.garbage import Garbage
from tests.dataplane.gateway import gateway, tenants
from tests.patience import until

OLDEST = 2


@pytest.fixture
def collections() -> Iterator[list[int]]:
    """The generation of each collection from now on."""
    seen: list[int] = []

    def note(phase: str, told: dict[str, int]) -> None:
        if phase == "start":
            seen.append(told["generation"])

    gc.callbacks.append(note)
    yield seen
    gc.callbacks.remove(note)


async def test_however_many_objects_a_body_makes_the_old_ones_are_left_alone(
    tmp_path: Path, collections: list[int]
) -> None:
    async with gateway(tmp_path, tenants(), "http://127.0.0.1:9"):
        collections.clear()
        made = [[number] for number in range(300_000)]

        assert OLDEST not in collections
        assert collections.count(1) > 20
    assert len(made) == 300_000
    assert gc.get_threshold() == garbage._USUAL


async def test_garbage_that_grew_old_is_found_by_the_clock(
    monkeypatch: pytest.MonkeyPatch, collections: list[int]
) -> None:
    monkeypatch.setattr(garbage, "EVERY_S", 0.05)
    schedule = Garbage()
    schedule.start()
    try:
        circle: list[object] = [set()]
        circle.append(circle)
        gc.collect(1)  # it has come through both younger generations
        left = weakref.ref(circle[0])
        del circle

        await until(lambda: left() is None)
    finally:
        schedule.stop()

    assert OLDEST in collections
