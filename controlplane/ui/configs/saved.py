"""What is said once a version is saved (04 §5.9; 08 §K-19)."""

from __future__ import annotations

from django.contrib import messages

from controlplane.configs.models import ConfigVersion
from controlplane.ui.configs.opened import Opened
from controlplane.ui.frame.page import PersonRequest

OVERRIDDEN = "config.overridden_by_environment"


def tell_saved(
    request: PersonRequest, opened: Opened, version: ConfigVersion, before: ConfigVersion | None
) -> None:
    """before: the newest version until then, which stays so where the text is its own."""
    if before is not None and version.pk == before.pk:
        said = f"Nothing was saved: this is the text of version {version.number} already."
        messages.info(request, said, "accent")
        return
    works = "It works for nobody until it is promoted." if opened.is_preset else ""
    said = f"Version {version.number} is saved{'.' if works else ' and published.'} {works}"
    messages.success(request, said.strip(), "ok")
    tell_overridden(request, version)


def tell_overridden(request: PersonRequest, version: ConfigVersion) -> None:
    """What of it has no effect, because the environment of the node counts instead."""
    for problem in version.warnings:
        if problem["code"] == OVERRIDDEN:
            said = f"{problem['message']} {problem['reason']}"
            messages.warning(request, said, "watch")
