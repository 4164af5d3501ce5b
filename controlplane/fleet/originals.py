"""Open an original for a person, from the store of the node in this process (04 §5.7, 8.7).

Every reading leaves a line in the trail, also one that found nothing; the text does not.
"""

from __future__ import annotations

from typing import Protocol

from controlplane.audit.actions import Actor, Subject, record
from controlplane.fleet import running
from dataplane.core.effects import Recalled


class Owner(Protocol):
    """A tenant, as far as its originals are concerned."""

    @property
    def uid(self) -> str: ...

    @property
    def label(self) -> str: ...

    @property
    def organisation(self) -> running.Uid: ...


def read(tenant: Owner, session: str, marker_id: str, *, by: Actor) -> Recalled | None:
    """The original of a marker of that session; None without a node that could be asked.

    The caller has checked that `by` may read content of the tenant.
    """
    found = running.original(tenant.uid, session, marker_id)
    record(
        "content.read",
        Subject(tenant.uid, tenant.label, tenant.organisation.uid),
        by,
        after={
            "session": session,
            "marker": marker_id,
            "found": found.found.value if found else "no node",
        },
    )
    return found
