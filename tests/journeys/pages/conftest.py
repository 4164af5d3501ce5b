"""A gateway in processes of its own, and a real Chromium in front of it."""

from __future__ import annotations

import json
import shutil
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect, sync_playwright

from tests.journeys.deployment import EMAIL, PASSWORD, deployment
from tests.patience import PATIENCE_MS, PATIENCE_S

# What Chromium needs to run as root and to leave the network alone (06 §13).
CHROMIUM = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


# A page of an idle machine opens in so long.
PAGE_S = 0.5
expect.set_options(timeout=PATIENCE_MS)


def shown_after_s(place: Locator, text: str) -> float:
    """How long from now until it says so."""
    began = time.monotonic()
    expect(place).to_have_text(text)
    return time.monotonic() - began


def promised_s(page: Page, seconds: float) -> float:
    """What a promise of so many seconds means here and now: on a machine that takes longer for
    everything, as much longer as it takes for a page.
    """
    began = time.monotonic()
    other = page.context.new_page()
    other.goto(page.url)
    other.close()
    return seconds * max(1.0, (time.monotonic() - began) / PAGE_S)


@dataclass(frozen=True, slots=True)
class Gateway:
    """Where it listens, the slug of its tenant, and a live key."""

    url: str
    tenant: str
    key: str

    def ask(self, text: str) -> dict[str, Any]:
        """One request of an agent through the gateway to the simulated provider."""
        body = {
            "model": "claude-sonnet-5",
            "max_tokens": 64,
            "messages": [{"role": "user", "content": text}],
        }
        request = urllib.request.Request(  # noqa: S310  our own address
            f"{self.url}/anthropic/v1/messages",
            json.dumps(body).encode(),
            {
                "x-context-guru-token": self.key,
                "x-api-key": "sk-test",
                "anthropic-version": "2023-06-01",
                "content-type": "application/json",
            },
        )
        with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:  # noqa: S310
            found: dict[str, Any] = json.load(answer)
            return found


@contextmanager
def running_gateway(folder: Path) -> Iterator[Gateway]:
    """A new deployment in the folder."""
    with deployment(folder) as running:
        yield Gateway(running.url, "orchid", running.key)


@pytest.fixture(scope="session")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """One for all tests, which therefore may not count on what it holds."""
    with running_gateway(tmp_path_factory.mktemp("gateway")) as running:
        yield running


@pytest.fixture
def fresh_gateway(tmp_path: Path) -> Iterator[Gateway]:
    """One that has seen nothing."""
    with running_gateway(tmp_path) as running:
        yield running


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    found = shutil.which("chromium")
    if found is None:
        pytest.skip("chromium is not installed")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=CHROMIUM)
        yield browser
        browser.close()


@pytest.fixture(params=[True, False], ids=["with script", "without script"])
def context(
    chromium: Browser, gateway: Gateway, request: pytest.FixtureRequest
) -> Iterator[BrowserContext]:
    opened = chromium.new_context(base_url=gateway.url, java_script_enabled=request.param)
    yield opened
    opened.close()


@pytest.fixture
def page(context: BrowserContext) -> Iterator[Page]:
    """A page of somebody who has signed in; a complaint in the console fails the test."""
    opened = context.new_page()
    complaints: list[str] = []
    opened.on(
        "console", lambda said: complaints.append(said.text) if said.type == "error" else None
    )
    opened.on("pageerror", lambda error: complaints.append(str(error)))
    sign_in(opened)
    yield opened
    told = ("status of 4", "Status Error Code 4")  # the browser, and htmx
    assert [text for text in complaints if not any(one in text for one in told)] == []


def sign_in(page: Page) -> None:
    page.goto("/login?next=/tenants")
    page.get_by_label("E-mail").fill(EMAIL)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url("**/tenants")
