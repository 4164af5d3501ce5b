"""Refusals of the configs feature that an interface answers with a status (04 §6.2)."""

from __future__ import annotations

from http import HTTPStatus
from typing import ClassVar

from controlplane.configs.models import ConfigVersion


class StaleBaseError(Exception):
    """Somebody saved another version since the author opened the text; head: that version."""

    def __init__(self, head: ConfigVersion) -> None:
        super().__init__(f"version {head.number} was saved meanwhile")
        self.head = head


class ConfigsError(Exception):
    """A change that the state forbids; its text is a sentence for people."""

    code: ClassVar[str]
    status: ClassVar[HTTPStatus] = HTTPStatus.CONFLICT


class StateError(ConfigsError):
    """It cannot be done to the object as it is now."""

    code = "conflict.state"


class PlanStaleError(ConfigsError):
    """Something that the plan builds on was changed since."""

    code = "plan.stale"


class PlanExpiredError(ConfigsError):
    """A plan is good for a day."""

    code = "plan.expired"
