"""An address whose slug stands for several tenants: the person is asked which one is meant.

Nothing was read or changed for any of them (04 §1.1, 8.4).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from controlplane.accounts.models import Tenant
from controlplane.accounts.problems import AmbiguousNameError
from controlplane.ui.frame.page import PersonRequest, page

Answer = Callable[[HttpRequest], HttpResponse]


@dataclass(frozen=True, slots=True)
class Meant:
    """href: the same address with the uid in place of the slug."""

    label: str
    organisation: str
    href: str


class WhichTenant:
    """Turns the refusal of an ambiguous slug into a page of links that carry uids."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self._answer(request)

    def process_exception(self, request: PersonRequest, problem: Exception) -> HttpResponse | None:
        if not isinstance(problem, AmbiguousNameError):
            return None
        tenants = Tenant.objects.filter(uid__in=problem.uids).select_related("organisation")
        slug = tenants[0].slug
        context = {
            "slug": slug,
            "code": problem.code,
            "was_a_change": request.method not in ("GET", "HEAD"),
            "rows": [
                Meant(tenant.label, tenant.organisation.name, _meaning(request, slug, tenant.uid))
                for tenant in tenants.order_by("organisation__name")
            ],
        }
        status = HTTPStatus.CONFLICT
        return page(request, "tenants/which.html", context, here="ui:tenants", status=status)


def _meaning(request: HttpRequest, slug: str, uid: str) -> str:
    """The address of the request with the uid where the slug stood, in its path or its query."""
    if request.method not in ("GET", "HEAD") or request.resolver_match is None:
        return reverse("ui:tenant", args=[uid])
    matched = request.resolver_match
    path = reverse(matched.view_name, kwargs=_with_uid(matched.kwargs, slug, uid))
    query = urlencode(_with_uid(request.GET.dict(), slug, uid))
    return f"{path}?{query}" if query else path


def _with_uid(named: Mapping[str, object], slug: str, uid: str) -> dict[str, object]:
    return {key: uid if value == slug else value for key, value in named.items()}
