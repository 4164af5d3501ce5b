"""Write a document of one's own, or follow the layer below again (04 §3.4)."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods, require_POST

from controlplane.configs.actions import follow_default, save_version
from controlplane.configs.models import ConfigVersion
from controlplane.configs.problems import StaleBaseError
from controlplane.configs.queries import starting_text
from controlplane.digits import whole
from controlplane.ui.configs.changes import summary
from controlplane.ui.configs.editor import WRITE
from controlplane.ui.configs.opened import NAMES, Kind, Opened, open_by_handle
from controlplane.ui.configs.page import document_page
from controlplane.ui.frame.page import PersonRequest

OWN = "# What is written here wins, key by key; everything else follows {below}.\n"


@login_required
@require_POST
def customise(request: PersonRequest, handle: str) -> HttpResponse:
    """The first version: it names the preset that is in force, so that nothing changes yet."""
    opened = open_by_handle(request, handle, WRITE)
    if opened.follows:
        message = "Customise: a document of its own that changes nothing yet"
        save_version(
            opened.document, first_text(opened), message, request.user,
            based_on=opened.based_on,
        )  # fmt: skip
        messages.success(request, "The document is its own now; nothing that runs changed.", "ok")
    return redirect("ui:config-text", handle)


def first_text(opened: Opened) -> str:
    """Of a tenant what keeps it where it is; of an organisation nothing but a comment."""
    below = NAMES[Kind(opened.below.document.kind)] if opened.below else "product"
    comment = OWN.format(below=f"the {below}")
    return comment + (starting_text(opened.tenant) if opened.tenant else "")


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def follow(request: PersonRequest, handle: str) -> HttpResponse:
    """GET asks and says what would change, POST does."""
    opened = open_by_handle(request, handle, WRITE)
    if opened.document.kind not in (Kind.TENANT, Kind.ORG_DEFAULT):
        raise PermissionDenied
    if request.method == "POST":
        return _followed(request, opened)
    head: ConfigVersion | None = opened.head
    said = summary(opened.document, head.source if head else "", "", request.user)
    context = {"summary": said, "based_on": opened.based_on}
    return document_page(request, opened, "configs/follow.html", context, tab="")


def _followed(request: PersonRequest, opened: Opened) -> HttpResponse:
    message = request.POST.get("message", "").strip() or "Follow the default again"
    sent = request.POST.get("based_on", "")
    based_on = whole(sent, opened.based_on)
    try:
        follow_default(opened.document, message, request.user, based_on=based_on)
    except StaleBaseError as race:
        said = f"Nothing was changed: version {race.head.number} was saved meanwhile."
        messages.warning(request, said, "watch")
        return redirect("ui:config-follow", opened.handle)
    messages.success(request, f"{opened.title} follows {opened.below_is} again.", "ok")
    return redirect("ui:config-text", opened.handle)
