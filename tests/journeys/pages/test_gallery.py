"""The gallery of docs/screenshots is written by the browser that takes its pictures."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from tools import gallery

pytestmark = pytest.mark.browser

RED = "<body style='margin: 0; background: rgb(200, 30, 40)'>"
READ = """async (webp) => {
  const image = new Image();
  image.src = `data:image/webp;base64,${webp}`;
  await image.decode();
  const canvas = new OffscreenCanvas(image.naturalWidth, image.naturalHeight);
  const pen = canvas.getContext("2d");
  pen.drawImage(image, 0, 0);
  return [canvas.width, canvas.height, ...pen.getImageData(9, 9, 1, 1).data];
}"""


@pytest.fixture
def red_page(chromium: Browser) -> Page:
    page = chromium.new_page(viewport={"width": 64, "height": 48})
    page.set_content(RED)
    return page


def test_a_picture_keeps_its_size_and_its_colours(red_page: Page) -> None:
    webp = gallery.as_webp(red_page, red_page.screenshot())

    width, height, *colour, _ = red_page.evaluate(READ, base64.b64encode(webp).decode())
    assert webp[8:12] == b"WEBP"
    assert (width, height) == (64, 48)
    assert colour == pytest.approx([200, 30, 40], abs=4)


def test_only_pictures_of_the_gallery_are_written_and_those_it_no_longer_has_go(
    chromium: Browser, red_page: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken, kept = tmp_path / "taken", tmp_path / "kept"
    taken.mkdir()
    kept.mkdir()
    monkeypatch.setattr(gallery, "GALLERY", kept)
    (kept / "gone-light-1440.webp").write_bytes(b"old")
    (kept / f"{gallery.HERO}.webp").write_bytes(b"taken another time")
    for name in ("overview-light-1440", "prices-dark-390"):
        (taken / f"{name}.png").write_bytes(red_page.screenshot())

    gallery.write_gallery(chromium, taken)

    assert {path.name for path in kept.iterdir()} == {"hero.webp", "overview-light-1440.webp"}
