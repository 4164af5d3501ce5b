"""Every page and what it takes to open it, for pictures and for tests that look at all of them."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import Page

SETTLES_MS = 700
KEPT = """\
# coding agents, long sessions
pipeline:
  - format
  - dedup       # one copy stays
  - mask
  - cachesplit
components:
  mask:
    keep_recent: 4
    min_tokens: 200
mode: sync
"""
DRAFT = KEPT.replace("  - dedup       # one copy stays\n", "").replace(
    "keep_recent: 4", "keep_recent: 6   # they look back"
)
WRONG = """\
# coding agents, long sessions
pipeline:
  - mask
  - cachesplit
components:
  mask:
    keep_recent: 4
  extract_llm:
    per_output: false   # from the old days
    min_tokens: 4000
  extract_llm_sweep:
    # the cheap judge
    model: {source: config}
    min_inventory: 10
"""
Prepare = Callable[[Page], None]


def open_overview(page: Page) -> None:
    page.goto("/?window=900")
    page.wait_for_timeout(SETTLES_MS)


def open_component(name: str, window: int) -> Prepare:
    """With the chart drawn and the stream open."""

    def prepare(page: Page) -> None:
        page.goto(f"/components/{name}?window={window}")
        page.wait_for_timeout(SETTLES_MS)

    return prepare


def open_tenants(page: Page) -> None:
    page.goto("/tenants")


def open_tenant(page: Page) -> None:
    open_tenants(page)
    page.locator("tbody th a").first.click()
    page.wait_for_load_state()


def open_document(page: Page) -> None:
    """The tenant's own document, which begins here if it has none."""
    page.goto("/config")
    page.locator("tbody th a").last.click()
    page.wait_for_load_state()
    for name in ("Customise", "Discard draft"):
        button = page.get_by_role("button", name=name)
        if button.count():
            button.click()
            page.wait_for_load_state()


def write_document(text: str, *, is_kept: bool = False) -> Prepare:
    """In the editor; saved when is_kept."""

    def prepare(page: Page) -> None:
        open_document(page)
        page.locator(".cm-content").click()
        page.keyboard.press("Control+a")
        with page.expect_response("**/check"):
            page.keyboard.insert_text(text)
        if is_kept:
            page.get_by_label("Message").fill("keep four outputs")
            page.get_by_role("button", name="Save version").click()
        page.wait_for_timeout(SETTLES_MS)

    return prepare


def open_view(name: str) -> Prepare:
    """A tab of the document, with the last draft."""

    def prepare(page: Page) -> None:
        write_document(DRAFT)(page)
        page.get_by_role("navigation", name="Views of the document").get_by_text(name).click()
        page.wait_for_load_state()

    return prepare


def open_form(page: Page) -> None:
    open_view("Form")(page)
    page.locator(".component.is-used details summary").nth(1).click()


def connect_agent(page: Page) -> None:
    """With a key of its own, whose first request has not come."""
    page.goto("/connect")
    page.get_by_label("New key for").fill("a picture")
    page.get_by_role("button", name="Issue a key").click()
    page.wait_for_load_state()


def refuse_upstream(page: Page) -> None:
    page.goto("/upstreams")
    page.get_by_label("Name").fill("metadata")
    page.get_by_label("Address").fill("https://169.254.169.254")
    page.get_by_role("button", name="Add the upstream").click()
    page.wait_for_load_state()


def open_member(page: Page) -> None:
    page.goto("/members/_deployment")
    page.locator("tbody th a").first.click()
    page.wait_for_load_state()


def go_to(path: str) -> Prepare:
    def prepare(page: Page) -> None:
        page.goto(path)

    return prepare


def first_of(path: str) -> Prepare:
    """The page behind the first row of a list."""

    def prepare(page: Page) -> None:
        page.goto(path)
        page.locator("tbody th a").first.click()
        page.wait_for_load_state()

    return prepare


def open_original(page: Page) -> None:
    """The text behind the first marker of a session that has one."""
    page.goto("/sessions?sort=turns")
    page.locator("tbody th a").first.click()
    page.get_by_role("link", name="Open…").first.click()
    page.get_by_role("button", name="Open the original").click()
    page.wait_for_load_state()


def revoke_key(page: Page) -> None:
    """What is asked before a deed that cannot be undone."""
    open_tenant(page)
    page.get_by_role("link", name="Revoke").first.click()
    page.wait_for_load_state()


def lost_page(page: Page) -> None:
    page.goto("/nowhere")


# Every place of the navigation and what is behind it, on a deployment that has seen traffic.
PAGES: dict[str, Prepare] = {
    "overview": open_overview,
    "components": go_to("/components?window=900"),
    "component": open_component("mask", 900),
    "alarms": go_to("/alarms?state="),
    "sessions": go_to("/sessions"),
    "session": first_of("/sessions?sort=turns"),
    "requests": go_to("/requests"),
    "request": first_of("/requests"),
    "nodes": go_to("/nodes"),
    "node": first_of("/nodes"),
    "system": go_to("/system"),
    "channels": go_to("/settings/channels"),
    "connect": connect_agent,
    "members": go_to("/members"),
    "member": open_member,
    "account": go_to("/me"),
    "tokens": go_to("/tokens"),
    "upstreams": go_to("/upstreams"),
    "upstream-refused": refuse_upstream,
    "secrets": go_to("/secrets"),
    "prices": go_to("/prices?model=claude-opus-4-5"),
    "prices-edit": go_to("/prices?edit"),
    "audit": go_to("/audit?verify=1"),
    "tenants": open_tenants,
    "tenant": open_tenant,
    "revoke": revoke_key,
    "config": go_to("/config"),
    "config-text": write_document(KEPT, is_kept=True),
    "config-problems": write_document(WRONG),
    "config-form": open_form,
    "config-effective": open_view("Effective"),
    "config-versions": open_view("Versions"),
    "config-diff": open_view("Diff"),
    "presets": go_to("/presets"),
    "preset": go_to("/presets/housellm"),
    "error-code": go_to("/docs/errors/config.refused_key"),
    "not-found": lost_page,
}
# Before the first request.
EMPTY: dict[str, Prepare] = {
    "overview": open_overview,
    "components": go_to("/components"),
    "component": open_component("mask", 900),
    "alarms": go_to("/alarms"),
    "sessions": go_to("/sessions"),
    "requests": go_to("/requests"),
    "channels": go_to("/settings/channels"),
}
# After an original was lost.
ALARM: dict[str, Prepare] = {
    "overview": open_overview,
    "alarms": go_to("/alarms"),
    "alarm": first_of("/alarms"),
    "session": first_of("/sessions?lost=on"),
    "nodes": go_to("/nodes"),
}
