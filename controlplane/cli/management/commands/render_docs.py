"""Write docs/components and docs/openapi.json from the code, or say what is out of date."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from controlplane.api.application import api
from controlplane.api.described import as_text
from dataplane.core import reference
from dataplane.core.components import components


class Command(BaseCommand):
    help = "Write docs/components and docs/openapi.json from the code."
    requires_system_checks: list[str] = []  # noqa: RUF012  Django's own declaration

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--check", action="store_true", help="change nothing; fail if stale")

    def handle(self, *, check: bool, **_options: Any) -> None:
        folder = Path(settings.BASE_DIR) / "docs" / "components"
        wanted = reference.pages(components().values())
        described = folder.parent / "openapi.json"
        text = as_text(api.get_openapi_schema())
        stale = sorted(stale_pages(folder, wanted)) + stale_files({described: text})
        if check and stale:
            raise CommandError(f"out of date, run make docs: {', '.join(stale)}")
        if not check:
            write(folder, wanted)
            described.write_text(text, encoding="utf-8")
            self.stdout.write(f"{len(wanted)} pages, {len(stale)} changed")


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
