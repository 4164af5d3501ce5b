"""What a node is made of before anything serves."""

from __future__ import annotations

from typing import NamedTuple

from dataplane.adapters.door.admission import Door
from dataplane.adapters.door.credentials import Credentials
from dataplane.adapters.drive import Driver
from dataplane.adapters.figures.books import Books
from dataplane.adapters.figures.telemetry import Telemetry
from dataplane.adapters.serving.snapshots import Snapshots
from dataplane.adapters.stores import StoreSet
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
