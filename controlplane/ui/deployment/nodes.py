"""Is every node running what I think it runs? (04 §5.11)."""

from __future__ import annotations

from collections.abc import Sequence

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db.models import Q
from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_safe

from controlplane.accounts.scopes import Scope
from controlplane.arrivals import scope_of_request
from controlplane.fleet import running
from controlplane.fleet.models import NodeAck, PublishedResource
from controlplane.release import release
from controlplane.telemetry import queries as telemetry
from controlplane.telemetry.actions import remove_node
from controlplane.telemetry.queries.windows import now_ms
from controlplane.ui.deployment.node_rows import headline_of, node_rows, resource_rows
from controlplane.ui.frame.access import deployment_scope
from controlplane.ui.frame.asking import Crumb, Question, ask
from controlplane.ui.frame.page import PersonRequest, page
from controlplane.ui.frame.panels import notes_of
from dataplane.core import resource

HERE = "ui:nodes"


@login_required
@require_safe
def nodes(request: PersonRequest) -> HttpResponse:
    found = telemetry.nodes()
    rows = node_rows(found, _here(), now_ms())
    context = {
        "rows": rows,
        "headline": headline_of(found),
        "notes": notes_of(),
        "refusing": [row for row in rows if row.state.word == "refused"],
        "silent": [row for row in rows if row.state.word == "offline"],
    }
    return page(request, "nodes/nodes.html", context, here=HERE)


@login_required
@require_safe
def node(request: PersonRequest, node: str) -> HttpResponse:
    """What it holds, resource by resource; tenants of others are not named."""
    found = next((row for row in telemetry.nodes() if row.node_id == node), None)
    if found is None:
        raise Http404
    scope = scope_of_request(request)
    row = node_rows([found], _here(), now_ms())[0]
    context = {
        "row": row,
        "imposed": running.imposed() if row.is_here else (),
        "resources": _resources(scope, node),
        "is_whole": scope.may("telemetry:read", None),
        "may_remove": row.is_gone and scope.may("node:write", None),
    }
    return page(request, "nodes/node.html", context, here=HERE)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def remove(request: PersonRequest, node: str) -> HttpResponse:
    """GET asks, POST does. A node that is heard again is there again."""
    deployment_scope(request, "node:write")
    reported = next((row for row in telemetry.nodes() if row.node_id == node), None)
    if reported is None:
        raise Http404
    if request.method == "POST" and reported.is_gone:
        remove_node(node, by=request.user)
        messages.success(request, f"The node {node} is removed.", "ok")
        return redirect(HERE)
    question = Question(
        title=f"Remove {node}?",
        lede="It is no longer listed, and nothing waits for it. What it reported stays in every "
        "figure. If it is heard again, it is listed again.",
        act="Remove the node",
        already="" if reported.is_gone else "It is online; stop it first.",
        crumbs=(Crumb("Nodes", reverse(HERE)), Crumb(node, reverse("ui:node", args=[node]))),
        leave=reverse("ui:node", args=[node]),
        here=HERE,
    )
    return ask(request, question)


def _resources(scope: Scope, node: str) -> Sequence[object]:
    labels = dict(scope.tenants("telemetry:read").values_list("uid", "label"))
    seen = Q(type=resource.TENANT, name__in=labels)
    if scope.may("telemetry:read", None):
        seen = Q()
    published = list(PublishedResource.objects.filter(seen).defer("body"))
    acks: dict[tuple[str, str], NodeAck] = {}
    for ack in NodeAck.objects.filter(seen, node_id=node).order_by("epoch", "version"):
        acks[ack.type, ack.name] = ack
    return resource_rows(published, acks, labels)


def _here() -> dict[str, object]:
    """What is known of the node in this process, which is of our own build."""
    stats = running.stats(None)
    return {**stats, "build": release()} if stats else {}
