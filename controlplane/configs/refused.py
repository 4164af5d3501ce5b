"""Where a value was written that a node refuses: a node sees the merged document, without lines.

Source: 04-controlplane-and-dashboard.md 2.4, 3.4.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from controlplane.accounts.models import Tenant
from controlplane.configs.models import ConfigDocument
from controlplane.configs.queries import current_revision
from dataplane.core.config.problems import DocumentRef
from dataplane.core.config.resolve import Origin

Problems = Sequence[Mapping[str, Any]]


def placed(problems: Problems, tenant: Tenant, *, own: int | None = None) -> list[dict[str, Any]]:
    """The problems of a node's answer, each with the line that wrote its value.

    own: the number of the version that is read beside them: what stands in it gets `line`, any
    other place is named in `written` ("preset:lean@v2:line 3"). A default has neither.
    """
    revision = current_revision(tenant) if problems else None
    origins = revision.origins if revision else {}
    return [_placed(problem, origins, own) for problem in problems]


def _placed(
    problem: Mapping[str, Any], origins: Mapping[str, Any], own: int | None
) -> dict[str, Any]:
    found = _origin(str(problem.get("path") or ""), origins)
    if problem.get("line") is not None or found is None or found["line"] is None:
        return dict(problem)
    if found["layer"] == ConfigDocument.Kind.TENANT and found["version"] == own:
        return {**problem, "line": found["line"]}
    ref = DocumentRef(found["layer"], found["name"], found["version"])
    return {**problem, "written": str(Origin(ref, found["line"]))}


def _origin(path: str, origins: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Of the value, or of the nearest one around it."""
    while path:
        if path in origins:
            found: Mapping[str, Any] = origins[path]
            return found
        path = path.rpartition("/")[0]
    return None
