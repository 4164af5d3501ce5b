"""What a tenant's effective revision means for a request: the compiled form of one variant."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from dataplane.core.config.resource import Host, Kill
from dataplane.core.declaration import Kind
from dataplane.core.pipeline import PipelineStep


@dataclass(frozen=True)
class Plan:
    """steps: the pipeline in order. host: keys that the proxy itself obeys.

    kill: switches that act whatever the document says.
    """

    steps: tuple[PipelineStep, ...] = ()
    host: Host = field(default_factory=Host)
    kill: Kill = field(default_factory=Kill)

    @cached_property
    def offloads_in_full(self) -> bool:
        """True when some component leaves resolvable markers."""
        return any(
            step.declaration.kind is Kind.OFFLOAD
            and getattr(step.config, "marker_mode", "full") == "full"
            for step in self.steps
        )

    @cached_property
    def decides(self) -> bool:
        """True when some component may decide about a message."""
        return any(step.declaration.decide is not None for step in self.steps)

    @cached_property
    def split_step(self) -> int | None:
        """The place of cachesplit in the pipeline, None when it is not in it."""
        return next(
            (n for n, step in enumerate(self.steps) if step.declaration.name == "cachesplit"), None
        )


PASS_THROUGH = Plan()
