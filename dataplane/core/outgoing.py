"""What a request becomes: the body that is sent, and how the answer to it must be treated."""

from __future__ import annotations

from dataclasses import dataclass, field

from dataplane.core.expand.terms import Terms
from dataplane.core.pipeline.rewritten import Rewritten
from dataplane.core.port.report import RunReport
from dataplane.core.session import lifetime
from dataplane.core.session.naming import Identity


@dataclass(slots=True)
class Outgoing:
    """What is sent upstream and how its answer must be treated.

    intercepts: the answer may hold a recovery call. answers: it can be answered here; else it is
    only taken out. declares: the tool for it was added. stores: the provider keeps the answer.
    links: the answer may be gone on with by its id. continued: the response that the request goes
    on with, by its own id and by the one that the client knows. compacted: the agent shortened its
    transcript since the previous turn. rewritten: what was changed, for a tenant whose texts are
    kept.
    """

    body: bytes
    bypassed: str = ""
    identity: Identity = field(default_factory=Identity)
    model: str = ""
    streams: bool = False
    intercepts: bool = False
    declares: bool = False
    answers: bool = True
    links: bool = False
    continued: tuple[str, str] | None = None
    stores: bool = True
    compacted: bool = False
    cache_phase: str = lifetime.Phase.UNKNOWN.value
    report: RunReport | None = None
    emitted: frozenset[str] = frozenset()
    stash_refused: int = 0
    rewritten: tuple[Rewritten, ...] = ()

    @property
    def terms(self) -> Terms:
        """What the request fixed for its answer."""
        return Terms(self.stores, self.declares, self.answers, self.continued)
