"""What the nodes say about the newest version of a document (04 §2.9, 5.9)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from controlplane.accounts.models import Tenant
from controlplane.configs.refused import placed
from controlplane.figures.numerals import plural
from controlplane.fleet.queries import Acknowledgement
from controlplane.ui.configs import problem_rows


@dataclass(frozen=True, slots=True)
class Answer:
    """What the nodes say about the newest version: a chip, and problems when they refuse it.

    is_running: it may be called live.
    """

    word: str
    icon: str
    tone: str
    since: datetime | None = None
    sentence: str = ""
    problems: tuple[problem_rows.ProblemRow, ...] = ()

    @property
    def is_running(self) -> bool:
        return self.tone == "ok"


def answer_of(
    said: Acknowledgement, tenant: Tenant, *, own: int | None = None, source: str = ""
) -> Answer:
    """own, source: the version of its document that is read beside the answer, and its text."""
    if said.status == "ack":
        word = f"running on {plural(said.nodes, 'node')}"
        if said.apart:
            word += f", another version on {', '.join(said.apart)}"
        return Answer(word, "ok", "ok", said.answered_at)
    if said.status == "pending":
        named = ", ".join(said.waiting)
        return Answer(f"waiting for {named or 'a node'}", "wait", "quiet")
    serving = f"still serves version {said.serving}" if said.serving else "serves no version"
    return Answer(
        "refused by the node",
        "no",
        "alarm",
        said.answered_at,
        f"The node refused published version {said.version} and {serving}.",
        problem_rows.rows(placed(said.problems, tenant, own=own), source),
    )
