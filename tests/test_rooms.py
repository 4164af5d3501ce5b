"""Each room says in ten lines what lives there, what it may import and where to begin; it is so."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import grimp
import pytest

HOUSES = ("dataplane.core", "dataplane.adapters")
LINES_MAX = 10
MAY_IMPORT = re.compile(r"^May import: (.+)\.$", re.MULTILINE)
BEGIN = re.compile(r"^Begin with `(\w+\.py)`", re.MULTILINE)
ROOT = Path(__file__).parents[1]


@cache
def arrows() -> grimp.ImportGraph:
    return grimp.build_graph("dataplane", "controlplane")


def rooms() -> list[str]:
    """The packages that lie side by side in a house."""
    folders = (child for house in HOUSES for child in (ROOT / house.replace(".", "/")).iterdir())
    return sorted(
        ".".join(folder.relative_to(ROOT).parts)
        for folder in folders
        if (folder / "__init__.py").is_file()
    )


def imported_by(room: str) -> set[str]:
    """The neighbours of a room that its modules import."""
    house, graph = room.rpartition(".")[0], arrows()
    modules = {room, *graph.find_descendants(room)}
    found = {each for module in modules for each in graph.find_modules_directly_imported_by(module)}
    inside = (each for each in found - modules if each.startswith(house + "."))
    return {each.removeprefix(house + ".").partition(".")[0] for each in inside}


@pytest.mark.parametrize("room", rooms())
def test_a_room_says_what_it_imports_and_where_to_begin(room: str) -> None:
    folder = ROOT / room.replace(".", "/")
    said = (folder / "README.md").read_text()
    may, begin = MAY_IMPORT.search(said), BEGIN.search(said)

    assert len(said.splitlines()) <= LINES_MAX
    assert may is not None
    assert begin is not None
    assert (folder / begin[1]).is_file()
    assert set(may[1].replace("nothing", "").replace(",", "").split()) == imported_by(room)
