"""The hosts of data-plane processes; a manager's matter (04 §5.11)."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from django.http import HttpRequest
from ninja import Router, Status

from controlplane.api.access import deployment
from controlplane.api.operations import operation
from controlplane.api.refusals import RefusedError, not_found
from controlplane.telemetry import queries
from controlplane.telemetry.actions import remove_node

router = Router(tags=["nodes"])
WRITE = "node:write"


# Reports are in a database of their own, so half of a removal could not be undone.
@operation(
    router, "DELETE", "/nodes/{node_id}", scope=WRITE, tenancy="deployment", tried=False,
    response={204: None},
)  # fmt: skip
def end_node(request: HttpRequest, node_id: str) -> Any:
    """A node that left and does not come back. It is no longer listed, and nothing waits for it;
    what it reported stays in every figure. Refused while it is online.
    """
    by = deployment(request, WRITE).principal
    found = next((row for row in queries.nodes() if row.node_id == node_id), None)
    if found is None:
        raise not_found()
    if not found.is_gone:
        raise RefusedError(HTTPStatus.CONFLICT, "conflict.state", "It is online; stop it first.")
    remove_node(node_id, by=by)
    return Status(204, None)
