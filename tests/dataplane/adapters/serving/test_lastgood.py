"""What a node starts from when nobody answers (03 §9.5)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from dataplane.adapters.serving.lastgood import KEPT, LastGood
from dataplane.core.resource import TENANT, Envelope, Resource, hash_of
from tests.dataplane.adapters.stores.durable import found_below

TENANTS = 1000


def saved(name: str, version: int) -> Resource:
    body = f'{{"{name}": {version}}}'.encode()
    return Resource(Envelope(TENANT, name, 1, version, hash_of(body)), body)


def test_the_newest_version_of_every_resource_is_loaded(tmp_path: Path) -> None:
    last_good = LastGood(tmp_path)
    for version in (9, 10, 11):
        for name in ("a", "b"):
            last_good.save(saved(name, version))

    assert list(LastGood(tmp_path).load()) == [saved("a", 11), saved("b", 11)]


@pytest.mark.parametrize("is_known", [True, False])
def test_three_versions_are_kept_also_of_an_earlier_process(
    tmp_path: Path, *, is_known: bool
) -> None:
    for version in range(1, 4):
        LastGood(tmp_path).save(saved("a", version))
    last_good = LastGood(tmp_path)
    if is_known:
        list(last_good.load())
    for version in range(4, 8):
        last_good.save(saved("a", version))

    assert found_below(tmp_path / TENANT, "a.*") == ["a.1.5", "a.1.6", "a.1.7"]
    assert KEPT == 3


def test_a_damaged_file_gives_way_to_an_older_version(tmp_path: Path) -> None:
    last_good = LastGood(tmp_path)
    for version in (1, 2):
        last_good.save(saved("a", version))
    (tmp_path / TENANT / "a.1.2").write_bytes(b"half of")

    assert list(LastGood(tmp_path).load()) == [saved("a", 1)]


def test_a_resource_that_was_forgotten_is_gone_and_may_come_back(tmp_path: Path) -> None:
    last_good = LastGood(tmp_path)
    for name in ("a", "b"):
        last_good.save(saved(name, 1))

    last_good.forget(TENANT, "a")
    assert list(LastGood(tmp_path).load()) == [saved("b", 1)]
    last_good.save(saved("a", 2))
    assert list(last_good.load()) == [saved("a", 2), saved("b", 1)]


def test_a_folder_is_listed_once_and_not_once_for_each_of_a_thousand_tenants(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dataplane.adapters.serving.lastgood.os.fsync", lambda _: None)
    last_good = LastGood(tmp_path)
    for number in range(TENANTS):
        last_good.save(saved(f"t{number}", 1))
    listed = []
    listing = Path.iterdir

    def noted(path: Path) -> Iterator[Path]:
        listed.append(path)
        return listing(path)

    monkeypatch.setattr(Path, "iterdir", noted)

    assert len(list(LastGood(tmp_path).load())) == TENANTS
    assert listed == [tmp_path, tmp_path / TENANT]
