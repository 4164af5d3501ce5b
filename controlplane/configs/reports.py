"""What is to be said of a text, for editor, API and command line (04 §2.1, 2.4)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import msgspec

from controlplane.audit.actions import Actor
from controlplane.configs.checking import checked_as, context_of
from controlplane.configs.models import ConfigDocument, ValidationReport
from dataplane.core.config import fix
from dataplane.core.config.canonical import content_hash
from dataplane.core.config.check import Checked
from dataplane.core.config.problems import Edit, Problem, of, summary
from dataplane.core.config.registry import SCHEMA_VERSION
from dataplane.core.config.source import EditError

KEPT = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class Report:
    """errors, warnings, advice: the objects of 04 §2.4, ordered; columns also in UTF-16 units.

    canonical_hash and effective_hash: sha256 hex, None when there are errors.
    """

    ok: bool
    detail: str
    errors: list[dict[str, Any]]
    warnings: list[dict[str, Any]]
    advice: list[dict[str, Any]]
    truncated: bool
    schema_version: int
    canonical_hash: str | None
    effective_hash: str | None

    def as_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}


def report(document: ConfigDocument, source: str | bytes, by: Actor | None) -> Report:
    """The text checked as it would stand in the document; nothing is stored."""
    return report_of(checked_as(document, source, by))


def report_of(checked: Checked) -> Report:
    canonical, effective = checked.canonical, checked.effective
    return Report(
        ok=not checked.errors,
        detail=summary(checked.problems),
        **split(checked.problems),
        truncated=checked.truncated,
        schema_version=SCHEMA_VERSION,
        canonical_hash=content_hash(canonical) if canonical else None,
        effective_hash=effective.effective_hash if effective else None,
    )


def split(problems: Iterable[Problem]) -> dict[str, list[dict[str, Any]]]:
    """By severity, as the envelope and the report name them."""
    found = list(problems)
    return {
        "errors": as_json(of("error", found)),
        "warnings": as_json(of("warning", found)),
        "advice": as_json(of("advice", found)),
    }


def as_json(problems: Iterable[Problem]) -> list[dict[str, Any]]:
    return [msgspec.to_builtins(problem) for problem in problems]


def fixed(
    document: ConfigDocument, source: str, edits: Iterable[Edit], by: Actor | None
) -> tuple[str, Report]:
    """Apply fix: the text after a problem's edits, comments in place, and its report.

    EditError when an edit cannot be made without touching something else.
    """
    after = apply_edits(source, edits)
    return after, report(document, after, by)


def apply_edits(source: str, edits: Iterable[Edit]) -> str:
    """EditError also for edits that nobody derived from a problem of this text."""
    edits = list(edits)
    if not all(_is_placed(edit) for edit in edits):
        raise EditError("An edit names a place, and a move or a rename where to.")
    try:
        return fix.apply(source, edits)
    except EditError:
        raise
    except (LookupError, TypeError, ValueError) as odd:
        raise EditError("This edit does not fit the text.") from odd


def _is_placed(edit: Edit) -> bool:
    has_goal = edit.op not in ("move", "rename") or (edit.to or "").strip("/") != ""
    return edit.path.strip("/") != "" and has_goal


def all_fixed(document: ConfigDocument, source: str, by: Actor | None) -> tuple[str, Report]:
    """Apply every fix that there is for an error."""
    after, checked = fix.mended(source, context_of(document, source, by))
    return after, report_of(checked)


def keep_report(found: Report, source: str | bytes, target: str) -> ValidationReport:
    raw = source.encode() if isinstance(source, str) else source
    digest = hashlib.sha256(raw).hexdigest()
    return ValidationReport.objects.create(input_hash=digest, target=target, result=found.as_json())


def forget_reports(now: datetime) -> int:
    """Delete those that were kept long enough; how many there were."""
    return ValidationReport.objects.filter(created_at__lt=now - KEPT).delete()[0]
