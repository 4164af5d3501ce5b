"""A pipeline that one request asks for in place of the configured one, where policy allows it.

What cannot be honoured is ignored by name and the configured pipeline runs.
Source: 03-proxy-and-recovery.md 2.6.
"""

from __future__ import annotations

import enum
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, NamedTuple

from dataplane.core.config.check import check, check_document
from dataplane.core.config.layers import Context
from dataplane.core.config.presets import BUILT_IN, find
from dataplane.core.config.problems import ConfigError
from dataplane.core.port.declaration import Declaration
from dataplane.core.resource import TenantBody, Variant
from dataplane.core.serving.plan import Plan, plan_of

KEPT_PLANS = 64


class Wish(NamedTuple):
    """What a request asks for. pipeline: names between commas; both "" for nothing."""

    pipeline: str = ""
    preset: str = ""


class Ignored(enum.Enum):
    """Why a wish is not honoured; the value is the reason in the response header."""

    NOT_ALLOWED = "not_allowed"
    UNKNOWN_PRESET = "unknown_preset"
    UNKNOWN_COMPONENT = "unknown_component"
    COMPONENT_NOT_ALLOWED = "component_not_allowed"
    INVALID = "invalid_pipeline"

    @property
    def header(self) -> tuple[bytes, bytes]:
        return b"x-context-guru-override", b"ignored; reason=" + self.value.encode()


class Overrides:
    """The override plans of one tenant at one version; the latest KEPT_PLANS stay compiled."""

    def __init__(
        self, body: TenantBody, variant: Variant | None, components: Mapping[str, Declaration]
    ) -> None:
        self._body = body
        self._variant = variant
        self._components = components
        self._plans: OrderedDict[Wish, Plan | Ignored] = OrderedDict()

    def plan(self, wish: Wish, *, allowed: bool = False) -> Plan | Ignored:
        """The plan for a wish that is not empty, or why there is none.

        allowed: whatever the policy says.
        """
        if not (allowed or self._body.policy.allow_request_overrides):
            return Ignored.NOT_ALLOWED
        found = self._plans.pop(wish, None) or self._compiled(wish)
        self._plans[wish] = found
        while len(self._plans) > KEPT_PLANS:
            self._plans.popitem(last=False)
        return found

    def _compiled(self, wish: Wish) -> Plan | Ignored:
        document: dict[str, Any] = dict(self._variant.document) if self._variant else {}
        if wish.preset:
            preset = self._preset(wish.preset)
            if preset is None:
                return Ignored.UNKNOWN_PRESET
            document |= {name: preset[name] for name in ("pipeline", "components")}
        if wish.pipeline:
            document["pipeline"] = [name.strip() for name in wish.pipeline.split(",")]
        return self._closed(document["pipeline"]) or self._built(document)

    def _preset(self, name: str) -> Mapping[str, Any] | None:
        preset = find(BUILT_IN, name)
        if preset is None:
            return None
        checked = check(preset.text, context=Context(self._components))
        return checked.effective.document if checked.effective else None

    def _closed(self, names: list[str]) -> Ignored | None:
        allowed = self._body.policy.allowed_components
        if any(name not in self._components for name in names):
            return Ignored.UNKNOWN_COMPONENT
        if allowed is not None and any(name not in allowed for name in names):
            return Ignored.COMPONENT_NOT_ALLOWED
        return None

    def _built(self, document: dict[str, Any]) -> Plan | Ignored:
        try:
            compiled = check_document(document, self._components)
        except ConfigError:
            return Ignored.INVALID
        host = self._variant.host if self._variant else compiled.host
        return plan_of(compiled, host, self._body.kill)
