"""Several backends behind one store (03-proxy-and-recovery.md 5.4)."""

from __future__ import annotations

from pathlib import Path

import pytest

from dataplane.adapters.stores import StoreSet
from dataplane.adapters.stores.originals import Store
from dataplane.core.effects import Scope
from tests.dataplane.adapters.stores.builders import (
    LIMITS,
    freeze,
    limits,
    marker,
    recall,
    stash,
    turn,
)
from tests.dataplane.adapters.stores.durable import (
    found_below,
)
from tests.patience import PATIENCE_S

# -- several backends ----------------------------------------------------------------------------


async def test_a_set_of_stores_keeps_each_tenant_where_it_was_told_to(tmp_path: Path) -> None:
    stores = StoreSet(tmp_path, timeout_s=PATIENCE_S)
    stores.configure("acme", "memory", LIMITS)
    stores.configure("globex", "off")
    stores.configure("initech", "sqlite", limits(max_entries=2))
    await stores.start()
    tenants = ["acme", "globex", "initech", "unknown"]

    durable = {
        name: (await stash(stores, "a", "b", scope=Scope(name, "alice", "s1"))).durable
        for name in tenants
    }

    assert [len(durable[name]) for name in tenants] == [2, 0, 1, 2]
    assert [stores.backend_for(name).persists for name in tenants] == [True, False, True, True]
    assert found_below(tmp_path / "tenants", "store.db") == [
        "initech/store.db",
        "unknown/store.db",
    ]
    total = stores.stats()
    assert (total.stash_live, total.stash_refused, total.authoritative) == (5, 1, False)
    assert stores.stats("initech").stash_live == 1
    await stores.close()


async def test_a_set_of_stores_is_itself_a_store(tmp_path: Path) -> None:
    stores: Store = StoreSet(tmp_path, timeout_s=PATIENCE_S)
    await stores.start()

    await freeze(stores, "text")

    assert (await turn(stores)).frozen.keys() == {"mask"}
    assert (await recall(stores, marker("text"))).original == b"text"
    assert stores.stats().authoritative
    await stores.close()


def test_a_tenant_id_that_is_no_path_segment_cannot_be_configured(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="cannot name a directory"):
        StoreSet(tmp_path).configure("../acme", "sqlite")
