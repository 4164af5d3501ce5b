"""The gallery in docs/screenshots: one picture a page, light and wide, and a few that show more.

It is made of the whole set of pictures that tools.screenshots takes, which is too heavy to be kept
under version control. The pictures become WebP, which Chromium writes and so needs nothing else.
"""

from __future__ import annotations

import base64
from pathlib import Path

from playwright.sync_api import Browser, Page

from tools.pictured import PAGES
from tools.pictured_presets import PRESETS

GALLERY = Path(__file__).resolve().parent.parent / "docs" / "screenshots"
HERO = "hero"
# What the wide and light picture of a page does not say: no traffic yet, an alarm, the dark
# scheme, and what becomes of tables and charts on a telephone.
MORE = (
    *("overview-empty-light-1440", "overview-alarm-light-1440", "session-alarm-light-1440"),
    *("overview-dark-1440", "session-dark-1440", "config-diff-dark-1440", "alarm-dark-1440"),
    *("overview-light-390", "sessions-light-390", "config-form-light-390", "alarm-dark-390"),
)
NAMES = (HERO, *(f"{page}-light-1440" for page in ("login", "alarm", *PAGES, *PRESETS)), *MORE)
# Small letters keep their edges, and a picture has a third of the bytes of its PNG.
QUALITY = 0.6
AS_WEBP = """async ([png, quality]) => {
  const blob = await (await fetch(`data:image/png;base64,${png}`)).blob();
  const bitmap = await createImageBitmap(blob);
  const canvas = new OffscreenCanvas(bitmap.width, bitmap.height);
  canvas.getContext("2d").drawImage(bitmap, 0, 0);
  const written = await canvas.convertToBlob({ type: "image/webp", quality });
  const reader = new FileReader();
  await new Promise((done) => { reader.onload = done; reader.readAsDataURL(written); });
  return reader.result.split(",")[1];
}"""


def write_gallery(browser: Browser, taken: Path) -> None:
    """Every picture of the gallery that the folder has; one that it has not stays as it was."""
    GALLERY.mkdir(parents=True, exist_ok=True)
    page = browser.new_page()
    for name in NAMES:
        source = taken / f"{name}.png"
        if source.exists():
            (GALLERY / f"{name}.webp").write_bytes(as_webp(page, source.read_bytes()))
    page.close()
    for path in GALLERY.iterdir():
        if path.stem not in NAMES:
            path.unlink()


def as_webp(page: Page, png: bytes) -> bytes:
    """The picture in the same size, written by the browser of the page."""
    written: str = page.evaluate(AS_WEBP, [base64.b64encode(png).decode(), QUALITY])
    return base64.b64decode(written)
