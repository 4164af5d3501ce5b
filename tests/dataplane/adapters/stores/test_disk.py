"""A disk that fills up, a budget that is spent, a disk of another machine (03 §5.4, 5.6)."""

from __future__ import annotations

from pathlib import Path

import pytest

from dataplane.adapters.stores import SqliteStore
from dataplane.adapters.stores.disk import Disk, NetworkFileSystemError, file_system_of
from dataplane.core.effects import Found, Refused
from tests.dataplane.adapters.stores.builders import (
    ELSEWHERE,
    NOW,
    TTL_S,
    freeze,
    marker,
    recall,
    stash,
    turn,
)
from tests.dataplane.adapters.stores.durable import LONG, opened

MUCH = 2 * TTL_S / 3  # far more than the least distance of two renewals


@pytest.mark.parametrize(("used", "is_renewed"), [(0.94, True), (0.95, False)])
async def test_from_95_percent_on_not_even_a_renewal_is_written(
    tmp_path: Path, used: float, *, is_renewed: bool
) -> None:
    async with opened(tmp_path) as store:
        await freeze(store, "text")
        store.disk = Disk(tmp_path, used=lambda _: used)

        view = await turn(store, at=NOW + MUCH)
        replayed = await stash(store, "text", at=NOW + MUCH, renews=True)
        found = await recall(store, marker("text"), at=NOW + MUCH)
        later = await recall(store, marker("text"), at=NOW + TTL_S + MUCH / 2)

    assert view.frozen["mask"].keys() == {"text"}
    assert replayed.durable == {marker("text")}
    assert found.found is Found.RESOLVED
    assert later.found is (Found.RESOLVED if is_renewed else Found.EXPIRED)


async def test_what_is_refused_for_the_disk_is_told_from_what_is_refused_for_a_cap(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path) as store:
        await stash(store, "x" * (1 << 17))
        store.disk = Disk(tmp_path, used=lambda _: 0.9)
        await stash(store, "text1", "text2")

        assert store.stats().stash_refused == 3
        assert store.stats().refused_for_disk == 2


async def test_the_files_of_all_tenants_share_one_budget(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        await stash(store, LONG)
        store.disk = Disk(tmp_path, used=lambda _: 0.0, max_bytes=300_000, measured_every_s=0)

        refused = await stash(store, "text", scope=ELSEWHERE)
        store.disk = Disk(tmp_path, used=lambda _: 0.0, max_bytes=1 << 30)
        admitted = await stash(store, "text", scope=ELSEWHERE)

    assert refused.refused == {marker("text"): Refused.FULL}
    assert admitted.durable == {marker("text")}


MOUNTS = r"""
22 1 254:0 / / rw,relatime - ext4 /dev/root rw
31 22 0:27 / /mnt/share rw,relatime shared:5 - nfs4 server:/export rw,vers=4.2
32 22 0:28 / /mnt/with\040space rw - cifs //server/share rw
33 31 0:29 / /mnt/share/local rw - xfs /dev/sdb rw
""".strip()


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/var/lib/state", "ext4"),
        ("/mnt/share", "nfs4"),
        ("/mnt/share/state", "nfs4"),
        ("/mnt/shared", "ext4"),
        ("/mnt/with space/state", "cifs"),
        ("/mnt/share/local/state", "xfs"),
    ],
)
def test_a_path_lies_on_the_file_system_mounted_nearest_above_it(path: str, kind: str) -> None:
    assert file_system_of(Path(path), MOUNTS) == kind


@pytest.mark.parametrize("kind", ["nfs", "nfs4", "cifs", "smb3", "fuse.sshfs"])
async def test_a_state_directory_on_another_machine_stops_the_start_by_name(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(f"22 1 0:27 / / rw - {kind} server:/export rw")
    monkeypatch.setattr("dataplane.adapters.stores.disk._MOUNTS", mounts)

    with pytest.raises(NetworkFileSystemError, match=f"HEADRACE_STATE_DIR is on a {kind}"):
        await SqliteStore(tmp_path).start()
