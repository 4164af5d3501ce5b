"""What a tenant's effective revision means for a request: the compiled form of one variant."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import msgspec

from dataplane.core.config.check import Compiled
from dataplane.core.config.document import Cache, Observe
from dataplane.core.config.recovery_keys import Recovery
from dataplane.core.port.declaration import Kind, PipelineStep
from dataplane.core.resource import Host, Kill

NOTHING_STOPPED = Kill()


@dataclass(frozen=True)
class Plan:
    """steps: the pipeline in order. host: keys that the proxy itself obeys.

    kill: switches that act whatever the document says. cache, observe, recovery: blocks of the
    document.
    """

    steps: tuple[PipelineStep, ...] = ()
    host: Host = field(default_factory=Host)
    kill: Kill = field(default_factory=Kill)
    cache: Cache = field(default_factory=Cache)
    observe: Observe = field(default_factory=Observe)
    recovery: Recovery = field(default_factory=Recovery)

    def stopped_by(self, kill: Kill) -> Plan:
        """The same with these switches on, too."""
        both = {
            name: getattr(self.kill, name) or getattr(kill, name) for name in Kill.__struct_fields__
        }
        return replace(self, kill=Kill(**both))

    @cached_property
    def only_measures(self) -> bool:
        """True when requests go as they came and their compaction is measured beside them."""
        return self.host.mode == "observe" or self.kill.observe

    @cached_property
    def enforcing(self) -> Plan:
        """The same in mode sync: what is measured while only_measures."""
        host = msgspec.structs.replace(self.host, mode="sync")
        return replace(self, host=host, kill=msgspec.structs.replace(self.kill, observe=False))

    @cached_property
    def is_shared(self) -> bool:
        """True when any key of the tenant may open what was removed for another."""
        return self.recovery.sharing == "tenant"

    @cached_property
    def offloads_in_full(self) -> bool:
        """True when some component leaves resolvable markers."""
        return any(
            step.declaration.kind is Kind.OFFLOAD
            and getattr(step.config, "marker_mode", "full") == "full"
            for step in self.steps
        )

    @cached_property
    def offers_recovery(self) -> bool:
        """True when the recovery tool is declared where that can be."""
        wanted = self.host.inject_expand
        return wanted == "always" or (wanted == "auto" and self.offloads_in_full)

    @cached_property
    def decides(self) -> bool:
        """True when some component may decide about a message."""
        return any(step.declaration.decide is not None for step in self.steps)


def plan_of(compiled: Compiled, host: Host, kill: Kill) -> Plan:
    """The plan of a document that was checked and built."""
    document = compiled.effective.document
    return Plan(
        compiled.steps,
        host,
        kill,
        cache=msgspec.convert(document.get("cache", {}), Cache),
        observe=msgspec.convert(document.get("observe", {}), Observe),
        recovery=msgspec.convert(document.get("recovery", {}), Recovery),
    )
