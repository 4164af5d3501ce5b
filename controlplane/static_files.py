"""Scripts and styles, served by the process itself."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from whitenoise.middleware import WhiteNoiseMiddleware


class StaticFiles(WhiteNoiseMiddleware):  # type: ignore[misc]  # it has no types
    """Whole answers: a synchronous stream cannot be sent under ASGI without being collected."""

    @staticmethod
    def serve(static_file: Any, request: HttpRequest) -> HttpResponse:
        found = WhiteNoiseMiddleware.serve(static_file, request)
        try:
            return HttpResponse(b"".join(found), status=found.status_code, headers=found.headers)
        finally:
            found.close()
