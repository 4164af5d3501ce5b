"""Django's last word on a request that failed: what is said of it, to people and to programs."""

from __future__ import annotations

import logging
import sys

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.defaults import server_error

from controlplane.api.refusals import answer, storage_refusal
from controlplane.storage import trouble_of

log = logging.getLogger("headrace.requests")
API = "/api/"


def failed(request: HttpRequest) -> HttpResponse:
    """handler500: called while the exception is handled, wherever it was raised."""
    problem = sys.exc_info()[1]
    trouble = trouble_of(problem)
    if trouble is None:
        return server_error(request)
    log.error("cp.%s %s", trouble.code.replace(".", "_"), problem)
    if request.path.startswith(API):
        return answer(request, storage_refusal(trouble))
    return render(request, "storage.html", {"trouble": trouble}, status=trouble.status)
