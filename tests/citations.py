"""How the repository names the rules it follows, and where each name leads.

A citation is `03-proxy-and-recovery.md 2.1 (8) and 2.7`, or `03 §2.1 (8) and 2.7` for short: a
document, then places between commas, `and` and `to`. A place is a section (`2.7`, `A9`,
`Appendix A`) or a case (`K-19`); brackets behind it say which row, step or case of it is meant.
docs/spec/README.md says the same to readers.
"""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Iterator
from pathlib import Path

from tests import house

FOLDER = Path("docs/spec")
CITING = ("controlplane", "dataplane", "tests", "tools")
GAP = r"(?:[ \t]*\n[ \t]*(?:# )?|[ \t]+)"
PLACE = (
    r"(?:0\.\d|[1-9]\d?(?:\.\d{1,2})?|[AB]\d{1,2}(?:\.\d)?|[A-Z]-\d\d|Appendix [AB])"
    r"(?![\w.]*\w)"
)
PLACED = rf"{PLACE}(?:{GAP}\([^()]*\))?"
JOINED = rf"(?:,?{GAP}and{GAP}|,{GAP}|{GAP}to{GAP})"
CITATION = re.compile(
    rf"\b(?P<number>0\d)(?:(?P<name>-[a-z-]+\.md){GAP}|{GAP}§)"
    rf"(?P<places>{PLACED}(?:{JOINED}{PLACED})*)"
)
# What looks like one. A file alone is the document as a whole.
LIKENESS = re.compile(
    r"§|\b0\d-[a-z-]+\.md(?= +(?:§|[Ss]ection|[Rr]ow|[Cc]ase|[Pp]art|Appendix|\d))"
    r"|(?<![\w.:-])0\d,? +(?:sections?|cases?|rows?|part|Appendix|[A-Z]-\d\d)\b"
    r"|(?<=[(;] )0\d \d|\(0\d \d+(?:\.\d+)?[),;]"
)
NAMED = re.compile(r"\b(0\d)(-[a-z]+(?:-[a-z]+)*\.md)")
ROW = re.compile(r"\((?:rows? )(?P<rows>[^()]*)\)")
ANCHOR = re.compile(r'<a id="([^"]+)"></a>')


@dataclasses.dataclass(frozen=True)
class Citation:
    """One place of one document, as somebody named it. at: file and line. anchor: what it needs."""

    at: str
    document: str
    anchor: str

    def __str__(self) -> str:
        return f"{self.at}: {self.document} {self.anchor}"


def citing_files() -> list[Path]:
    """Code, tests and the specification itself; recorded inputs and foreign code cite nothing."""
    return [
        name
        for name in house.files()
        if name.suffix in house.TEXT_SUFFIXES
        if name.parts[0] in CITING or name.parent == FOLDER
        if name.parts[:2] != ("tests", "data") and "_prices" not in name.parts
    ]


def citations(name: Path) -> Iterator[Citation]:
    text = house.read(name)
    for found in CITATION.finditer(text):
        at = f"{name}:{text.count(chr(10), 0, found.start()) + 1}"
        document = document_of(found["number"])
        for anchor in anchors_of(found["places"]):
            yield Citation(at, document, anchor)


def anchors_of(places: str) -> list[str]:
    """The anchors that places need: `2 (rows 18, 26 to 28)` is row-18, row-26, row-27, row-28."""
    needed: list[str] = []
    rows = [one["rows"] for one in ROW.finditer(places)]
    for row in rows:
        needed += [f"row-{number}" for number in numbers_of(row)]
    bare = re.sub(r"\([^()]*\)", "", re.sub(r"\s+(?:# )?", " ", places))
    for first, last in re.findall(rf"({PLACE})\s+to\s+({PLACE})", bare):
        needed += between(first, last)
    return needed + [place.replace(" ", "-") for place in re.findall(PLACE, bare)]


def numbers_of(row: str) -> list[str]:
    found = re.sub(r"\band\b", ",", row)
    listed: list[str] = []
    for part in found.split(","):
        ends = re.findall(r"\d+[a-z]?", part)
        listed += between(*ends) if len(ends) == 2 else ends
    return listed


def between(first: str, last: str) -> list[str]:
    """Both and what lies between them, where they differ in their last number alone."""
    head, start = split(first)
    other, end = split(last)
    if head != other:
        return [first, last]
    return [f"{head}{number:0{len(start)}}" for number in range(int(start), int(end) + 1)]


def split(place: str) -> tuple[str, str]:
    found = re.fullmatch(r"(.*?)(\d+)", place)
    return (found[1], found[2]) if found else (place, "0")


def misspelled(name: Path) -> Iterator[str]:
    """What looks like a citation and is none, with its line."""
    text = house.read(name)
    spans = [found.span() for found in CITATION.finditer(text)]
    for found in LIKENESS.finditer(text):
        if not any(start <= found.start() < end for start, end in spans):
            line = text.count("\n", 0, found.start())
            yield f"{name}:{line + 1}: {text.splitlines()[line].strip()}"


@functools.cache
def documents() -> dict[str, str]:
    """Number to file name, of the documents that are there."""
    return {name.name[:2]: name.name for name in house.files() if is_document(name)}


def is_document(name: Path) -> bool:
    return name.parent == FOLDER and NAMED.fullmatch(name.name) is not None


def document_of(number: str) -> str:
    return documents().get(number, number)


@functools.cache
def anchors(document: str) -> tuple[str, ...]:
    """Every anchor of one document, in its order; none where there is no such document."""
    if not (house.ROOT / FOLDER / document).is_file():
        return ()
    return tuple(ANCHOR.findall(house.read(FOLDER / document)))
