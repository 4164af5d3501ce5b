"""How the pages of presets, and of a lost race, come into the state that is pictured."""

from __future__ import annotations

import itertools

from playwright.sync_api import Page

from tools.pictured import KEPT, SETTLES_MS, Prepare, go_to, open_view, write_document

CLONED = """\
# coding agents, long sessions
pipeline:
  - cachesplit
  - extract_llm_sweep  # new
components:
  extract_llm_sweep:
    # as in our old notes
    per_output: false  # sweep only
    model: {source: config}  # cheap
"""
_NUMBERS = itertools.count(1)


def another() -> int:
    """Another number at every call: names and texts may not be the same twice."""
    return next(_NUMBERS)


def open_version(page: Page) -> None:
    """The newest but one, with the form that restores it."""
    open_view("Versions")(page)
    page.locator("main table tbody th a").nth(1).click()
    page.wait_for_load_state()


def lose_a_race(page: Page) -> None:
    """Somebody else saved another number for the same key meanwhile."""
    write_document(KEPT.replace("keep_recent: 4", "keep_recent: 9"))(page)
    other = page.context.browser.new_context(  # type: ignore[union-attr]
        base_url=page.url, storage_state=page.context.storage_state()
    )
    theirs = KEPT.replace("keep_recent: 4", f"keep_recent: {10 + another()}")
    write_document(theirs, is_kept=True)(other.new_page())
    other.close()
    page.get_by_label("Message").fill("nine, for the long sessions")
    page.get_by_role("button", name="Save version").click()
    page.wait_for_load_state()


def clone_preset(page: Page) -> None:
    """A clone with the sweep in it, its two old keys marked."""
    page.goto("/presets/cache")
    page.get_by_label("Name").fill(f"careful-{another()}")
    page.get_by_role("button", name="Clone").click()
    page.locator(".cm-content").click()
    page.keyboard.press("Control+a")
    with page.expect_response("**/check"):
        page.keyboard.insert_text(CLONED)
    page.wait_for_timeout(SETTLES_MS)


def open_own_preset(page: Page) -> None:
    """With a second version that is not promoted."""
    clone_preset(page)
    for key in ("per_output", "model"):
        page.get_by_role("button", name=f"Apply fix: delete {key}").click()
        page.wait_for_timeout(SETTLES_MS)
    page.get_by_label("Message").fill("add the sweep")
    page.get_by_role("button", name="Save version").click()
    page.wait_for_load_state()
    page.locator(".crumbs a").last.click()
    page.wait_for_timeout(SETTLES_MS)


def ask_promotion(page: Page) -> None:
    open_own_preset(page)
    page.get_by_role("link", name="Promote…").click()
    page.wait_for_load_state()


def archive_preset(page: Page) -> None:
    open_own_preset(page)
    page.get_by_role("button", name="Archive").click()
    page.goto("/presets?archived")


PRESETS: dict[str, Prepare] = {
    "config-version": open_version,
    "config-merge": lose_a_race,
    "preset-new": go_to("/presets/new"),
    "preset-compare": go_to("/presets/compare?left=house&right=housellm"),
    "preset-clone": clone_preset,
    "preset-own": open_own_preset,
    "preset-promotion": ask_promotion,
    "presets-archived": archive_preset,
}
