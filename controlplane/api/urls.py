"""Below /api: version 1, and a refusal in its shape for whatever else is asked (04 §6.1)."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from http import HTTPStatus
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.urls import URLPattern, path, re_path
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_safe

from controlplane.api.application import api
from controlplane.api.operations import LARGEST_BODY, too_large
from controlplane.api.refusals import RefusedError, answer, not_found

View = Callable[..., HttpResponse]


def enveloped(view: View) -> View:
    """What is refused before an operation is found looks like every other refusal."""

    @csrf_exempt
    @wraps(view)
    def shaped(request: HttpRequest, **kwargs: Any) -> HttpResponse:
        if int(request.headers.get("content-length") or 0) > LARGEST_BODY:
            return answer(request, too_large())
        try:
            response = view(request, **kwargs)
        except Http404:
            return answer(request, not_found())
        if response.status_code != HTTPStatus.METHOD_NOT_ALLOWED:
            return response
        detail = f"Use {response.headers['Allow']}."
        refused = RefusedError(HTTPStatus.METHOD_NOT_ALLOWED, "request.method", detail)
        refused.headers["Allow"] = response.headers["Allow"]
        return answer(request, refused)

    return shaped


@csrf_exempt
def unknown(request: HttpRequest) -> HttpResponse:
    return answer(request, not_found())


def patterns() -> list[URLPattern]:
    found = [one for one in api.urls[0] if isinstance(one, URLPattern)]
    for pattern in found:
        is_operation = pattern.name not in ("openapi-json", "api-root")
        pattern.callback = enveloped(
            pattern.callback if is_operation else require_safe(pattern.callback)
        )
    return found


urlpatterns = [
    path("v1/", (patterns(), *api.urls[1:])),
    re_path(r"^.*$", unknown),
]
