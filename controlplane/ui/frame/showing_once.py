"""A page with something that is never shown again: a link or a token (04 §8.3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.http import HttpResponse

from controlplane.ui.frame.asking import Crumb
from controlplane.ui.frame.page import PersonRequest, page


@dataclass(frozen=True, slots=True, kw_only=True)
class Once:
    """what: names the text for a reader. facts: name and value. done: what the way back says."""

    title: str
    lede: str
    what: str
    plaintext: str
    leave: str
    done: str
    crumbs: Sequence[Crumb]
    here: str
    facts: Sequence[tuple[str, str]] = ()


def show_once(request: PersonRequest, shown: Once) -> HttpResponse:
    """Answers with the text itself instead of a redirect, because nothing may keep it."""
    response = page(request, "once.html", {"shown": shown}, here=shown.here)
    response.headers["Cache-Control"] = "no-store"
    return response
