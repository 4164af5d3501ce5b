"""A page that asks before something is done: GET asks, POST does (04 §5.0)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from http import HTTPStatus

from django.http import HttpResponse

from controlplane.ui.frame.forms import DesignedForm
from controlplane.ui.frame.page import PersonRequest, page


@dataclass(frozen=True, slots=True)
class Crumb:
    label: str
    href: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """crumbs: the way here. act: what the button says. leave: where "keep it" leads.

    here: the place in the navigation. already: why there is nothing to do any more.
    """

    title: str
    lede: str
    act: str
    leave: str
    crumbs: Sequence[Crumb]
    here: str
    keep: str = "Keep it"
    is_danger: bool = True
    already: str = ""


def ask(
    request: PersonRequest,
    question: Question,
    form: DesignedForm | None = None,
    status: HTTPStatus | None = None,
) -> HttpResponse:
    """The question, with the form that its answer fills in.

    status: 422 where that was not right, unless the caller knows better.
    """
    if status is None:
        status = HTTPStatus.UNPROCESSABLE_ENTITY if form and form.errors else HTTPStatus.OK
    context = {"question": question, "form": form}
    return page(request, "ask.html", context, here=question.here, status=status)
