"""What the code says it follows can be read, in docs/spec."""

from __future__ import annotations

import re

import pytest

from tests import citations, house

HEADING = re.compile(r"^#{2,4} .*$", re.MULTILINE)


def test_every_citation_leads_to_a_place_of_the_specification() -> None:
    cited = [one for name in citations.citing_files() for one in citations.citations(name)]
    lost = [str(one) for one in cited if one.anchor not in citations.anchors(one.document)]

    assert len(cited) > 1000
    assert lost == []


def test_every_citation_is_spelled_as_the_others_are() -> None:
    found = [
        line
        for name in citations.citing_files()
        if not name.match("tests/*citations.py") and name != citations.FOLDER / "README.md"
        for line in citations.misspelled(name)
    ]

    assert found == []


def test_a_document_that_is_named_is_there() -> None:
    named = {
        number + rest
        for name in citations.citing_files()
        for number, rest in citations.NAMED.findall(house.read(name))
    }

    assert named
    assert named - set(citations.documents().values()) == set()


def test_a_citation_that_leads_nowhere_is_noticed() -> None:
    there = citations.anchors("03-proxy-and-recovery.md")

    assert "2.7" in there
    assert "2.77" not in there
    assert citations.anchors("nowhere.md") == ()


def test_a_heading_of_the_specification_has_an_anchor_before_it() -> None:
    bare = [
        f"{document}: {heading.group()}"
        for document in citations.documents().values()
        for text in [house.read(citations.FOLDER / document)]
        for heading in HEADING.finditer(text)
        if not text[: heading.start()].endswith('"></a>\n')
    ]

    assert bare == []


def test_an_anchor_is_there_once() -> None:
    for document in citations.documents().values():
        found = citations.anchors(document)
        assert len(found) == len(set(found)), document


def test_every_link_inside_the_specification_leads_somewhere() -> None:
    lost = []
    for page in (n for n in house.files() if n.parent == citations.FOLDER):
        for target, anchor in re.findall(r"\]\(([^)#:\s]*)(?:#([^)\s]+))?\)", house.read(page)):
            file = house.ROOT / citations.FOLDER / (target or page.name)
            there = file.is_file() and (
                not anchor or anchor in citations.ANCHOR.findall(file.read_text(encoding="utf-8"))
            )
            if not there:
                lost.append(f"{page}: {target}#{anchor}")

    assert lost == []


@pytest.mark.parametrize(
    ("text", "anchors"),
    [
        pytest.param("03-proxy-and-recovery.md 2.1 (8) and 2.7.", ["2.1", "2.7"], id="by-file"),
        pytest.param("(03 §2.1 (steps 5 to 22), 2.9)", ["2.1", "2.9"], id="by-number"),
        pytest.param("03 §9.1 to 9.3).", ["9.1", "9.2", "9.3", "9.1", "9.3"], id="a-range"),
        pytest.param("00 §2 (rows 18, 26 to 27)", ["row-18", "row-26", "row-27", "2"], id="rows"),
        pytest.param("08 §A-01, A-02 and A-06", ["A-01", "A-02", "A-06"], id="cases"),
        pytest.param("08 §K-01 to K-03", ["K-01", "K-02", "K-03", "K-01", "K-03"], id="many-cases"),
        pytest.param("03 §Appendix A and 2.2", ["Appendix-A", "2.2"], id="an-appendix"),
        pytest.param("05 §A6,\n    A7", ["A6", "A7"], id="over-two-lines"),
    ],
)
def test_a_citation_names_its_places(text: str, anchors: list[str]) -> None:
    found = citations.CITATION.search(text)

    assert found is not None
    assert citations.anchors_of(found["places"]) == anchors


@pytest.mark.parametrize(
    "text", ["(04 section 2.5)", "(04 2.5)", "08 K-19", "§2.5", "06-stack.md row 16"]
)
def test_another_spelling_is_noticed(text: str) -> None:
    assert citations.LIKENESS.search(text)
    assert not citations.CITATION.search(text)
