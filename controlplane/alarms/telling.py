"""Every saved alarm is told of, whoever saved it: pages need not ask for them by the clock."""

from __future__ import annotations

from typing import Any

from controlplane.alarms.models import Alarm
from controlplane.topics import tell


def alarm_saved(instance: Alarm, created: bool, **_: Any) -> None:  # noqa: FBT001  a signal's form
    kind = "opened" if created else "changed" if instance.is_open else "resolved"
    data = {"rule": instance.rule, "severity": instance.severity, "state": instance.state}
    tenant = instance.tenant.uid if instance.tenant else ""
    tell("alarm", kind, instance.uid, tenant=tenant, data=data)


def silence_saved(**_: Any) -> None:
    """Of one fingerprint; the alarm itself stays as it was."""
    tell("alarm", "changed", "silence")
