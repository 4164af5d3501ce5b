"""An original is lost: who sees it, who is told, how long it stays (04 §5.3; 08 §D-13)."""

from __future__ import annotations

import hashlib
import hmac
import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.controlplane.alarms.conftest import Receiver
from tests.controlplane.alarms.conftest import receiver as receiver
from tests.journeys.losses import SESSION, lose_an_original
from tests.journeys.pages.conftest import Gateway, promised_s, running_gateway, sign_in
from tests.patience import blocking_until

pytestmark = pytest.mark.browser

ON_SCREEN_WITHIN_S = 5


@pytest.fixture
def home(tmp_path: Path) -> Iterator[tuple[Gateway, Path]]:
    """A new deployment and where it keeps what it stores."""
    with running_gateway(tmp_path) as gateway:
        yield gateway, tmp_path


@pytest.fixture
def reader(chromium: Browser, home: tuple[Gateway, Path]) -> Iterator[Page]:
    """Somebody who has signed in and looks at a page that is not about alarms."""
    opened = chromium.new_context(base_url=home[0].url)
    page = opened.new_page()
    sign_in(page)
    yield page
    opened.close()


def add_channel(page: Page, receiver: Receiver) -> str:
    """The secret of a webhook to the receiver."""
    page.goto("/settings/channels/_deployment")
    page.get_by_label("Name").fill("on-call")
    page.get_by_label("Address").fill(receiver.url)
    page.get_by_label("It is on this machine or a private network").check()
    page.get_by_role("button", name="Add the channel").click()
    return page.locator("#plaintext").inner_text()


def test_a_lost_original_is_on_screen_within_five_seconds_and_stays_until_resolved(
    reader: Page, home: tuple[Gateway, Path], receiver: Receiver
) -> None:
    gateway, folder = home
    secret = add_channel(reader, receiver)
    reader.goto("/tenants")
    expect(reader.locator("#bell-count")).to_be_hidden()

    lost = lose_an_original(gateway.url, gateway.key, folder)

    call = reader.get_by_role("alert")
    began = time.monotonic()
    expect(call).to_contain_text("1 original lost")
    took_s = time.monotonic() - began
    assert took_s < promised_s(reader, ON_SCREEN_WITHIN_S)
    expect(reader.locator("#bell-count")).to_have_text("1")
    call.get_by_role("link").click()
    assert named_marker(reader) in lost

    answer(reader)
    assert told(receiver, secret) == ["alarm.opened", "alarm.acknowledged", "alarm.resolved"]


def named_marker(page: Page) -> str:
    """The id of the marker in the evidence, beside its session, component and cause."""
    evidence = page.get_by_role("group", name="Occurrences")
    for said in (SESSION, "mask", "lost"):
        expect(evidence).to_contain_text(said)
    found = re.fullmatch(r"<<cg:([0-9a-f]{16})>>", evidence.locator("code.nowrap").inner_text())
    assert found is not None
    return found[1]


def answer(page: Page) -> None:
    """Acknowledge, which leaves it red, and resolve, which does not."""
    page.get_by_label("Comment").fill("the store is being moved")
    page.get_by_role("button", name="Acknowledge").click()
    expect(page.locator("#calls")).to_contain_text("1 original lost")
    page.get_by_text("Resolve…").click()
    page.get_by_label("What was done").fill("moved")
    page.get_by_role("button", name="Resolve the alarm").click()
    expect(page.locator("#calls")).not_to_contain_text("lost")
    expect(page.locator("#bell-count")).to_be_hidden()


def told(receiver: Receiver, secret: str) -> list[str]:
    """The events that arrived, each under a signature that its receiver can check."""
    blocking_until(lambda: len(receiver.letters) >= 3)
    for letter in receiver.letters:
        signed = letter.headers["X-CG-Timestamp"].encode() + b"." + letter.body
        digest = hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()
        assert letter.headers["X-CG-Signature"] == f"v1={digest}"
    return [letter.headers["X-CG-Event"] for letter in receiver.letters]
