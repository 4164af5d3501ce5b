"""The rules that no linter knows. Source: 07-house-style.md 1 and 10."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from dataplane.core.components import components
from tests import house
from tools import gallery

MOST_LINES_OF_A_FUNCTION = 40
MOST_LINES_OF_A_MODULE = 400
MOST_LINES_OF_A_ROOM = 10  # its README
MOST_BYTES_OF_THE_GALLERY = 3_000_000
BANNED_NAMES = {
    "manager", "managers", "helper", "helpers", "util", "utils", "common", "misc", "base",
    "handler", "handlers", "service", "services", "data", "info",
}  # fmt: skip
COLOUR = re.compile(
    r"#(?:[0-9a-f]{8}|[0-9a-f]{6}|[0-9a-f]{3,4})\b|\b(?:rgba?|hsla?|oklch|oklab|lab|lch)\(", re.I
)
PAINTED = re.compile(
    rf"(?:fill|stroke|colou?r|background)\b[^#\n>]{{0,40}}?(?:{COLOUR.pattern})", re.I
)
MACHINE_PATH = re.compile(r"(?<![\w./-])/(?:root|work|home|Users)/(?!workspace)[\w.-]+")
VARIABLE = re.compile(r"HEADRACE_[A-Z][A-Z_]*[A-Z]")
ADR_PARTS = (
    "Status", "Date", "Context", "Options", "Decision", "Consequences",
    "How we would notice it was wrong",
)  # fmt: skip


def test_no_function_is_longer_than_forty_lines() -> None:
    found = [
        f"{name}:{function.lineno} {function.name}: {house.lines_of(function)} lines"
        for name in house.modules()
        for function in house.functions(name)
        if house.lines_of(function) > MOST_LINES_OF_A_FUNCTION
    ]

    assert found == []


def test_no_module_is_longer_than_four_hundred_lines() -> None:
    lengths = {str(name): len(house.read(name).splitlines()) for name in house.modules()}

    assert {n: count for n, count in lengths.items() if count > MOST_LINES_OF_A_MODULE} == {}


def test_no_module_has_a_name_that_says_nothing() -> None:
    parts = {part for name in house.modules(*house.PACKAGES) for part in name.with_suffix("").parts}

    assert {part for part in parts if house.last_word_of(part) in BANNED_NAMES} == set()


def test_no_class_has_a_name_that_says_nothing() -> None:
    found = [
        f"{name}:{found.lineno} {found.name}"
        for name in house.modules(*house.PACKAGES)
        for found in house.classes(name)
        if house.last_word_of(found.name) in BANNED_NAMES
    ]

    assert found == []


def test_every_test_folder_is_a_package_so_that_equal_file_names_may_live_in_two() -> None:
    folders = {name.parent for name in house.modules("tests")}

    assert [
        str(folder) for folder in folders if not (house.ROOT / folder / "__init__.py").exists()
    ] == []


def test_every_room_of_the_pages_says_in_ten_lines_where_to_begin() -> None:
    rooms = {path.parent for path in (house.ROOT / "controlplane/ui").glob("*/urls.py")}
    rooms.add(house.ROOT / "controlplane/ui/frame")
    told = {room.name: (room / "README.md").read_text().splitlines() for room in rooms}

    assert [name for name, lines in told.items() if len(lines) > MOST_LINES_OF_A_ROOM] == []
    assert [name for name, lines in told.items() if "Begin with" not in " ".join(lines)] == []


def test_browser_tests_are_where_make_looks_for_them() -> None:
    marked = {name for name in house.modules("tests") if "mark.browser" in house.read(name)}

    assert {str(name.parent) for name in marked - {Path("tests/test_house.py")}} == {
        "tests/journeys/pages"
    }


def test_colours_are_literals_in_the_tokens_alone() -> None:
    found = [
        f"{name}: {match.group()}"
        for name in house.files()
        if name.suffix in {".css", ".html", ".js"} and name.parts[0] in {"static", "templates"}
        if "vendor" not in name.parts and name != Path("static/css/tokens.css")
        for match in colours(name)
    ]

    assert found == []


def colours(name: Path) -> list[re.Match[str]]:
    """Colour literals: in a style sheet those of any rule, elsewhere those that paint something."""
    text = house.read(name)
    if name.suffix == ".css":
        return list(COLOUR.finditer(re.sub(r"/\*.*?\*/|[^{};]*\{", " ", text, flags=re.DOTALL)))
    return list(PAINTED.finditer(text))


def test_every_component_that_runs_has_a_test_file_of_its_own() -> None:
    """Those that this build cannot run have keys only, which one file tests for all of them."""
    running = {name for name, declared in components().items() if declared.available}
    tested = {
        name.stem.removeprefix("test_")
        for name in house.modules("tests")
        if name.parent == Path("tests/dataplane/core/components")
    }

    assert running
    assert running - tested == set()
    assert "declared_only" in tested


def test_every_component_is_in_the_file_of_its_name() -> None:
    files = {
        name.stem
        for name in house.modules("dataplane")
        if name.parent == Path("dataplane/core/components") and name.stem != "__init__"
    }

    assert files == set(components())


def test_any_stays_in_the_codecs_the_configuration_and_the_effects() -> None:
    allowed = {
        Path("dataplane/core") / name
        for name in ("effects.py", "resource.py", "door/refusal.py", "serving/overrides.py")
    }
    found = [
        f"{name}:{line}"
        for name in house.modules("dataplane")
        if name.parts[1] == "core" and name.parts[2] not in {"wire", "config"}
        if name not in allowed
        for line in house.names_any(name)
    ]

    assert found == []


def test_no_file_names_a_folder_of_somebodys_machine() -> None:
    found = [
        f"{name}: {match.group()}"
        for name in house.files()
        if name.suffix in house.TEXT_SUFFIXES
        and name.parts[:2] != ("tests", "data")
        and "vendor" not in name.parts
        for match in MACHINE_PATH.finditer(house.read(name))
    ]

    assert found == []


@pytest.mark.parametrize(
    "module", ["dataplane.asgi", "dataplane.core.pipeline.loop", "dataplane.replay.main"]
)
def test_the_data_plane_is_importable_where_django_is_not(module: str) -> None:
    program = (
        "import sys\n"
        "for name in ('django', 'controlplane', 'channels', 'celery', 'ninja', 'daphne'):\n"
        "    sys.modules[name] = None\n"
        f"import {module}\n"
    )

    ran = subprocess.run(
        [sys.executable, "-c", program], cwd=house.ROOT, capture_output=True, text=True, check=False
    )

    assert ran.returncode == 0, ran.stderr


def test_every_decision_record_has_a_number_of_its_own_without_gaps() -> None:
    numbers = [int(name.name[:4]) for name in decision_records()]

    assert sorted(numbers) == list(range(1, len(numbers) + 1))


@pytest.mark.parametrize("part", ADR_PARTS)
def test_every_decision_record_has_all_its_parts(part: str) -> None:
    wanted = re.compile(rf"^(?:## )?(?:\*\*)?{re.escape(part)}\b", re.MULTILINE)

    assert [str(n) for n in decision_records() if not wanted.search(house.read(n))] == []


def decision_records() -> list[Path]:
    return [n for n in house.files() if n.parent == Path("docs/adr") and n.suffix == ".md"]


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "docs/operating.md"])
def test_every_make_command_that_a_page_names_exists(page: str) -> None:
    named = set(re.findall(r"\bmake ([a-z][a-z-]*)\b", code_of(house.read(page))))

    assert named - house.make_targets() == set()


def code_of(page: str) -> str:
    """The code spans and code blocks of a Markdown page."""
    return "\n".join(re.findall(r"```.*?```|`[^`\n]+`", page, flags=re.DOTALL))


@pytest.mark.parametrize(
    "page", ["README.md", "CONTRIBUTING.md", "docs/architecture.md", "docs/operating.md"]
)
def test_every_file_that_a_page_links_to_exists(page: str) -> None:
    here = (house.ROOT / page).parent
    links = re.findall(r"\]\(([^)#:\s]+)[^)]*\)|src=\"([^\":]+)\"", house.read(page))
    targets = {target for pair in links for target in pair if target}

    assert {target for target in targets if not (here / target).exists()} == set()


def test_the_gallery_holds_its_pictures_alone_and_is_light_enough_to_clone() -> None:
    pictures = [name for name in house.files() if name.parent == Path("docs/screenshots")]

    assert {name.name for name in pictures} == {f"{name}.webp" for name in gallery.NAMES}
    assert sum((house.ROOT / name).stat().st_size for name in pictures) < MOST_BYTES_OF_THE_GALLERY


def test_every_variable_of_the_environment_is_explained_to_the_operator() -> None:
    readers = ("controlplane/settings/environment.py", "dataplane/settings.py")
    read = {name for reader in readers for name in VARIABLE.findall(house.read(reader))}

    assert read
    assert read - set(VARIABLE.findall(house.read("docs/operating.md"))) == set()


def test_vendored_files_are_the_ones_that_were_recorded() -> None:
    folder = house.ROOT / "static/vendor"
    recorded = {entry["file"]: entry["sha256"] for entry in vendored()}

    assert recorded == {
        name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in recorded
    }


def test_the_file_name_of_htmx_carries_the_version_of_its_package() -> None:
    versions = {
        e["file"]: e["version"]
        for e in vendored()
        if e["package"] == "htmx.org" and e["file"].endswith(".js")
    }

    assert versions
    assert all(version in file for file, version in versions.items())


def test_templates_load_the_vendored_file_names_and_no_other() -> None:
    named = Counter(
        match
        for name in house.files()
        if name.parts[0] == "templates"
        for match in re.findall(r"vendor/([\w.-]+\.(?:js|css))", house.read(name))
    )

    assert set(named) - {entry["file"] for entry in vendored()} == set()


def vendored() -> list[dict[str, str]]:
    recorded: list[dict[str, str]] = json.loads(house.read("static/vendor/VENDOR.json"))
    return recorded


@pytest.mark.parametrize(
    "command",
    [("makemigrations", "--check", "--dry-run"), ("render_docs", "--check"), ("check",)],
    ids=" ".join,
)
def test_nothing_derived_is_out_of_date(command: tuple[str, ...]) -> None:
    ran = subprocess.run(
        [sys.executable, "manage.py", *command],
        cwd=house.ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert ran.returncode == 0, ran.stdout + ran.stderr


@pytest.mark.parametrize("lock", ["requirements.lock", "requirements-dev.lock"])
def test_a_lock_holds_names_versions_and_hashes_and_no_addresses(lock: str) -> None:
    text = house.read(lock)
    pinned = re.findall(r"^[\w.\[\]-]+==\S+ \\$", text, flags=re.MULTILINE)

    assert pinned
    assert "://" not in text
    assert text.count("\n    --hash=") >= len(pinned)


def test_the_development_lock_holds_the_run_time_one_version_for_version() -> None:
    def pins(lock: str) -> set[str]:
        return set(re.findall(r"^([\w.-]+==[^\s;]+)", house.read(lock), flags=re.MULTILINE))

    assert pins("requirements.lock") - pins("requirements-dev.lock") == set()


def test_the_agents_that_passed_are_listed_in_the_versions_that_are_run() -> None:
    run = json.loads(house.read("tests/agents/package.json"))["dependencies"]
    listed = re.findall(r"\| `([\w@/-]+)` \| (\d+\.\d+\.\d+) \|", house.read("docs/agents.md"))

    assert dict(listed) == run
