"""One page per code of a problem, from the table of wordings (04 §2.4 and 2.9)."""

from __future__ import annotations

import re
from dataclasses import dataclass

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpResponse
from django.views.decorators.http import require_safe

from controlplane.refusal_codes import CODES
from controlplane.ui.configs.problem_rows import SIGNS
from controlplane.ui.frame.page import PersonRequest, page
from dataplane.core.components import components
from dataplane.core.config.document import REMOVED
from dataplane.core.config.phrases import Wording
from dataplane.core.config.wording import WORDINGS

_SLOT = re.compile(r"\{(\w+)[^{}]*\}")
BLOCKS = {
    "error": "An error blocks saving, and a node refuses the document.",
    "warning": "A warning does not block saving; look at it before you go on.",
    "advice": "Advice never blocks; it is worth knowing.",
}


@dataclass(frozen=True, slots=True)
class Piece:
    """slot: a place where the problem names what it found."""

    text: str
    is_slot: bool


@dataclass(frozen=True, slots=True)
class Entry:
    code: str
    severity: str
    icon: str
    tone: str
    blocks: str
    message: tuple[Piece, ...]
    reason: tuple[Piece, ...]
    fix: tuple[Piece, ...]


@dataclass(frozen=True, slots=True)
class Refused:
    """A key of a component that is answered with the code, why, and what to write instead."""

    key: str
    reason: str
    replacement: str


@login_required
@require_safe
def error(request: PersonRequest, code: str) -> HttpResponse:
    wording = WORDINGS.get(code)
    if wording is None:
        return _refusal(request, code)
    context = {"entry": entry(code, wording), "refused": refused(code)}
    return page(request, "configs/error.html", context, here="ui:config")


def _refusal(request: PersonRequest, code: str) -> HttpResponse:
    """A code that is about a request and not about a document."""
    if code not in CODES:
        raise Http404
    context = {"code": code, "meaning": CODES[code]}
    return page(request, "refusal.html", context, here="ui:config")


@login_required
@require_safe
def errors(request: PersonRequest) -> HttpResponse:
    entries = [entry(code, wording) for code, wording in sorted(WORDINGS.items())]
    return page(request, "configs/errors.html", {"entries": entries}, here="ui:config")


def entry(code: str, wording: Wording) -> Entry:
    icon, tone = SIGNS[wording.severity]
    return Entry(
        code=code,
        severity=wording.severity.capitalize(),
        icon=icon,
        tone=tone,
        blocks=BLOCKS[wording.severity],
        message=pieces(wording.message),
        reason=pieces(wording.reason),
        fix=pieces(wording.fix),
    )


def refused(code: str) -> tuple[Refused, ...]:
    """Every key, of the top level and of the components, that is answered with this code."""
    of_components = (
        (f"{name}.{key}", why)
        for name, declared in components().items()
        for key, why in declared.refusals.items()
    )
    return tuple(
        Refused(name, why.reason, why.replacement)
        for name, why in (*REMOVED.items(), *of_components)
        if why.code == code
    )


def pieces(sentence: str) -> tuple[Piece, ...]:
    """Text and slots in turn; a sentence that is one slot says nothing by itself."""
    parts = _SLOT.split(sentence)
    if not sentence or parts == ["", parts[1] if len(parts) > 1 else "", ""]:
        return ()
    found = [Piece(text, is_slot=index % 2 == 1) for index, text in enumerate(parts) if text]
    return tuple(found)
