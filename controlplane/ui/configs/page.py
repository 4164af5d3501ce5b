"""What every page of one document has: its name, its state, its tabs (04 §5.9)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus

from django.http import HttpResponse
from django.urls import reverse

from controlplane.fleet.queries import acknowledgement
from controlplane.ui.configs.answers import Answer, answer_of
from controlplane.ui.configs.opened import Opened
from controlplane.ui.frame.page import PersonRequest, page

TABS = (
    ("Text", "ui:config-text"),
    ("Form", "ui:config-form"),
    ("Effective", "ui:config-effective"),
    ("Versions", "ui:config-versions"),
    ("Diff", "ui:config-diff"),
)


@dataclass(frozen=True, slots=True)
class Tab:
    name: str
    href: str
    is_current: bool


def document_page(
    request: PersonRequest,
    opened: Opened,
    template: str,
    context: Mapping[str, object],
    *,
    tab: str,
    status: int = HTTPStatus.OK,
) -> HttpResponse:
    """tab: its name, "" for a page that belongs to none."""
    whole = {
        "opened": opened,
        "tabs": tabs(opened, tab),
        "answer": answer(opened),
        **context,
    }
    here = "ui:presets" if opened.is_preset else "ui:config"
    return page(request, template, whole, here=here, status=status)


def tabs(opened: Opened, current: str) -> tuple[Tab, ...]:
    return tuple(
        Tab(name, reverse(view, args=[opened.handle]), is_current=name == current)
        for name, view in TABS
    )


def answer(opened: Opened) -> Answer | None:
    """What the nodes say; of a tenant's document only, the others reach them through tenants."""
    if opened.tenant is None:
        return None
    said, version = acknowledgement(opened.tenant), opened.version
    return answer_of(
        said,
        opened.tenant,
        own=version.number if version else None,
        source=version.source if version else "",
    )
