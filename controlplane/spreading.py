"""A change answers when the nodes that report have it, or says which have not (04 §6.6).

Whatever a page or a call of the API published, whichever it was: no view waits by itself.
"""

from __future__ import annotations

from collections.abc import Callable

from django.contrib import messages
from django.http import HttpRequest, HttpResponse

from controlplane.fleet.spreading import Spread, collecting, until_served

Answer = Callable[[HttpRequest], HttpResponse]
API = "/api/"
# Ids of nodes by what they are to the change, in a header of its own each.
HEADERS = {
    "waiting": "X-Headrace-Waiting",
    "refused": "X-Headrace-Refused",
    "apart": "X-Headrace-Apart",
}
SENTENCES = {
    "waiting": "Not in force everywhere yet: {nodes} did not answer in time. Agents there are "
    "served as before until it has.",
    "refused": "Refused by {nodes}: agents there are served as before.",
    "apart": "Not in force on {nodes}, which serves what is in its own bundle: give it a new one.",
}


class ChangesReachNodes:
    """Stands inside the messages, so that a page can say it at its next answer."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer

    def __call__(self, request: HttpRequest) -> HttpResponse:
        with collecting() as published:
            response = self._answer(request)
            found = until_served(published.newest.values())
        if not found.is_whole:
            _say(request, response, found)
        return response


def _say(request: HttpRequest, response: HttpResponse, found: Spread) -> None:
    for state, header in HEADERS.items():
        nodes = ", ".join(getattr(found, state))
        if not nodes:
            continue
        response.headers[header] = nodes
        if not request.path.startswith(API):
            messages.warning(request, SENTENCES[state].format(nodes=nodes), "watch")
