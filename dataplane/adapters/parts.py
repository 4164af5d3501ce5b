"""What a node is made of before anything serves."""

from __future__ import annotations

from typing import NamedTuple

from dataplane.adapters.admission import Door
from dataplane.adapters.books import Books
from dataplane.adapters.credentials import Credentials
from dataplane.adapters.drive import Driver
from dataplane.adapters.snapshots import Snapshots
from dataplane.adapters.stores import StoreSet
from dataplane.adapters.telemetry import Telemetry
from dataplane.settings import Settings


class Parts(NamedTuple):
    """None of them knows who uses it; what serves is made of them. started_at: seconds."""

    settings: Settings
    node_id: str
    boot_id: str
    started_at: float
    store: StoreSet
    snapshots: Snapshots
    telemetry: Telemetry
    door: Door
    books: Books
    credentials: Credentials
    driver: Driver
