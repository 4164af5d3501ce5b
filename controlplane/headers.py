"""Response headers that Django has no setting for (04 §8.2)."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.utils.deprecation import MiddlewareMixin


class PermissionsPolicy(MiddlewareMixin):
    """The pages use none of the browser's devices, so nothing in them may ask."""

    POLICY = "camera=(), geolocation=(), microphone=(), payment=(), usb=()"

    def process_response(self, _request: HttpRequest, response: HttpResponse) -> HttpResponse:
        response.headers["Permissions-Policy"] = self.POLICY
        return response
