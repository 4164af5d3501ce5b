"""The page on which a text is edited, whatever was just done to it (04 §5.9)."""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus

from django.http import HttpResponse

from controlplane.configs import drafts
from controlplane.configs.checking import checked_as
from controlplane.configs.comparing import checked_side
from controlplane.configs.documents import tenants_below
from controlplane.configs.models import ConfigDraft
from controlplane.configs.queries import versions
from controlplane.digits import whole
from controlplane.figures.numerals import plural
from controlplane.ui.configs import problem_rows
from controlplane.ui.configs.changes import Summary, summary_of
from controlplane.ui.configs.opened import Kind, Opened
from controlplane.ui.configs.page import document_page
from controlplane.ui.configs.problem_groups import Group, grouped
from controlplane.ui.configs.problem_rows import ProblemRow
from controlplane.ui.frame.page import PersonRequest

VERSIONS_SHOWN = 8
WRITE = "config:write"


@dataclass(frozen=True, slots=True)
class Looked:
    """What is to be said of a text: its problems, and what it would change.

    reaches: how many tenants a default is a part of, None for another document.
    """

    problems: tuple[ProblemRow, ...]
    summary: Summary | None
    is_preset: bool = False
    reaches: int | None = None

    @property
    def groups(self) -> tuple[Group, ...]:
        return grouped(self.problems)

    @property
    def errors(self) -> int:
        return problem_rows.errors(self.problems)

    @property
    def tally(self) -> str:
        return problem_rows.tally(self.problems) if self.problems else "none found"

    @property
    def why(self) -> str:
        """Beside the button that saves: what happens, or why nothing can."""
        if not self.errors and self.is_preset:
            return "A saved version works for nobody until it is promoted."
        if not self.errors:
            of = "" if self.reaches is None else f" of {plural(self.reaches, 'tenant')}"
            return f"A valid text is published at once and works on the next request{of}."
        found = plural(self.errors, "error")
        return f"{found} {'blocks' if self.errors == 1 else 'block'} saving."


def looked(request: PersonRequest, opened: Opened, source: str) -> Looked:
    """The same check as saving makes."""
    checked = checked_as(opened.document, source, request.user)
    before = opened.version.source if opened.version else ""
    against = f"against version {opened.version.number}" if opened.version else ""
    if not opened.version and opened.below:
        against = f"against {opened.below_is}"
    after = checked_side(checked, source, "")
    said = summary_of(opened.document, before, after, request.user, against=against)
    is_default = opened.document.kind in (Kind.SERVER_DEFAULT, Kind.ORG_DEFAULT)
    return Looked(
        problem_rows.rows(checked.problems, source),
        said,
        opened.is_preset,
        tenants_below(opened.document).count() if is_default else None,
    )


def text_page(
    request: PersonRequest,
    opened: Opened,
    source: str | None = None,
    /,
    status: int = HTTPStatus.OK,
    **more: object,
) -> HttpResponse:
    """source: another text than the newest one; more: what was posted and what is said of it."""
    typed = opened.source if source is None else source
    shown = typed or (opened.below.source if opened.below and opened.follows else "")
    is_typed = source is not None
    reads_below = opened.follows and not is_typed
    look = None if reads_below else looked(request, opened, typed)
    context: dict[str, object] = {
        "source": shown,
        "reads_below": reads_below,
        "is_typed": is_typed,
        "look": look,
        "based_on": opened.based_on,
        "versions": versions(opened.document, limit=VERSIONS_SHOWN),
        "others": drafts.others_drafting(opened.document, request.user),
        "said": "",
        "not_done": "",
    }
    return document_page(
        request, opened, "configs/text.html", {**context, **more}, tab="Text", status=status
    )


def draft_shown(request: PersonRequest, opened: Opened) -> ConfigDraft | None:
    """What the reader typed last and did not save, where it is another text than the newest."""
    draft = drafts.draft_of(opened.document, request.user) if opened.may_write else None
    return None if draft is None or draft.source == opened.source else draft


def typed_source(request: PersonRequest) -> str:
    """Browsers send line ends as CR LF; documents are kept with LF."""
    return request.POST.get("source", "").replace("\r\n", "\n")


def typed_base(request: PersonRequest, opened: Opened) -> int:
    sent = request.POST.get("based_on", "")
    return whole(sent, opened.based_on)
