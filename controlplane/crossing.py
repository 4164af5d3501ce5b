"""What no page and no program of ours sends is turned away at once (04 §8.2, 8.3)."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from http import HTTPStatus

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils.encoding import escape_uri_path

log = logging.getLogger("headrace.requests")
Answer = Callable[[HttpRequest], HttpResponse]
SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
OWN_SITE = frozenset({"same-origin", "none"})
CREDENTIAL = re.compile(r"cg_(?:api|live|test)_[A-Za-z2-7]{6}")
IN_URL = "request.token_in_url: send a credential in a header. This one is in logs now: rotate it."
FROM_ELSEWHERE = "auth.csrf: this change was asked for by a page of another site."


class Crossing:
    """A change that another site made a browser ask for, and a credential in an address.

    The token in a form guards against the first as well; what the browser itself says about a
    request needs none.
    """

    def __init__(self, answer: Answer) -> None:
        self._answer = answer

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if CREDENTIAL.search(request.get_full_path()):
            log.warning("cp.token_in_url method=%s", request.method)
            return _refused(HTTPStatus.BAD_REQUEST, IN_URL)
        if _is_from_elsewhere(request):
            path = escape_uri_path(request.path)  # decoded, it may hold a line of its own
            log.warning("cp.cross_site_write method=%s path=%s", request.method, path)
            return _refused(HTTPStatus.FORBIDDEN, FROM_ELSEWHERE)
        return self._answer(request)


def _is_from_elsewhere(request: HttpRequest) -> bool:
    """Browsers say it themselves; what sends no such header is no browser of these days."""
    site = request.headers.get("sec-fetch-site", "none")
    has_session = settings.SESSION_COOKIE_NAME in request.COOKIES
    return has_session and request.method not in SAFE and site not in OWN_SITE


def _refused(status: HTTPStatus, said: str) -> HttpResponse:
    return HttpResponse(f"{said}\n", status=status, content_type="text/plain; charset=utf-8")
