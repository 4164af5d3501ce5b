"""Write the pages of docs that follow from the code, or say which are out of date."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from controlplane.alarms.rules import RULES
from controlplane.api.application import api
from controlplane.api.described import as_text
from controlplane.topics import TOPICS
from dataplane.core.components import components
from dataplane.core.config import document_reference
from dataplane.core.door.refusal import REFUSALS
from dataplane.core.port import reference


class Command(BaseCommand):
    help = "Write docs/components, docs/openapi.json and the pages of tables."
    requires_system_checks: list[str] = []  # noqa: RUF012  Django's own declaration

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--check", action="store_true", help="change nothing; fail if stale")

    def handle(self, *, check: bool, **_options: Any) -> None:
        folder = Path(settings.BASE_DIR) / "docs" / "components"
        wanted = reference.pages(components().values())
        single = {folder.parent / name: text for name, text in singles().items()}
        stale = sorted(stale_pages(folder, wanted)) + stale_files(single)
        if check and stale:
            raise CommandError(f"out of date, run make docs: {', '.join(stale)}")
        if not check:
            write(folder, wanted)
            for path, text in single.items():
                path.write_text(text, encoding="utf-8")
            self.stdout.write(f"{len(wanted) + len(single)} pages, {len(stale)} changed")


def singles() -> dict[str, str]:
    """File name below docs to text, of what is one file."""
    return {
        "openapi.json": as_text(api.get_openapi_schema()),
        "document.md": document_reference.page(components()),
        "alarms.md": alarms_page(),
        "refusals.md": refusals_page(),
        "topics.md": topics_page(),
    }


def alarms_page() -> str:
    """What the built-in rules watch, the gravest first as they are declared."""
    rows = [
        (
            f"`{rule.key}`",
            rule.severity.value,
            f"**{rule.one}.** {rule.means}",
            " ".join(rule.steps),
        )
        for rule in RULES.values()
    ]
    return table_page("Alarms", ("alarm", "severity", "what it means", "what to do"), rows)


def refusals_page() -> str:
    """What a node answers itself, by the name in `x-cg-error`."""
    rows = [
        (f"`{one.name}`", str(one.status), one.message, "yes" if one.retry else "")
        for one in REFUSALS.values()
    ]
    head = ("`x-cg-error`", "status", "message", "worth another try")
    return table_page("Refusals of the gateway", head, rows)


def topics_page() -> str:
    """What `/live/stream` and `/ws/v1/live` may be asked for."""
    rows = [
        (
            f"`{one.name}.{one.of}`" if one.of else f"`{one.name}`",
            ", ".join(f"`{kind}`" for kind in one.types),
            one.tells,
            f"`{one.takes}`",
        )
        for one in TOPICS.values()
    ]
    head = ("topic", "types", "tells", "takes")
    return table_page("Topics of the live streams", head, rows)


def table_page(title: str, head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = (document_reference.GENERATED, "", f"# {title}", "", *reference.table(head, rows))
    return "\n".join(lines) + "\n"


def stale_pages(folder: Path, wanted: dict[str, str]) -> set[str]:
    """Names of pages that are missing, left over or differ from what they should say."""
    present = {path.name: path.read_text(encoding="utf-8") for path in folder.glob("*.md")}
    return {
        name for name in wanted.keys() | present.keys() if wanted.get(name) != present.get(name)
    }


def stale_files(wanted: dict[Path, str]) -> list[str]:
    return [
        path.name
        for path, text in wanted.items()
        if not path.exists() or path.read_text(encoding="utf-8") != text
    ]


def write(folder: Path, wanted: dict[str, str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.glob("*.md"):
        if path.name not in wanted:
            path.unlink()
    for name, text in wanted.items():
        (folder / name).write_text(text, encoding="utf-8")
