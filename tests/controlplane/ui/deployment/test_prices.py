"""Price cards as pages, and the models that were seen without a price (04 §5.14)."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from controlplane.accounts.models import User
from controlplane.prices.actions import ensure_card, save_card
from controlplane.prices.entries import Entry
from controlplane.prices.queries import card_in_force, entries_in_force
from controlplane.telemetry.actions import ingest
from dataplane.core.prices import catalogue
from tests.controlplane.telemetry.batches import NOW, batch, row
from tests.controlplane.ui.conftest import Browser


def sent(entries: list[Entry], based_on: int, message: str = "why") -> dict[str, object]:
    """The form as a browser sends it."""
    names = ("match", "input", "output", "cache_read", "cache_write", "cache_write_1h", "note")
    return {
        **{name: [getattr(entry, name) for entry in entries] for name in names},
        "window": [str(entry.window or "") for entry in entries],
        "cache_minimum": [str(entry.cache_minimum) for entry in entries],
        "estimate": [str(n) for n, entry in enumerate(entries) if entry.estimate],
        "based_on": str(based_on),
        "message": message,
    }


NANO = Entry(match="tiny", input="0.000000001", output="3.1", window=8000, estimate=True)


def test_a_saved_card_keeps_every_digit(browser: Browser, manager: User) -> None:
    ensure_card()
    empty = Entry(match="", input="", output="")

    browser(manager).post("/prices", sent([NANO, empty], 1))

    assert entries_in_force() == [NANO]


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"input": ["ten"]}, "is not a decimal number"),
        ({"input": ["-1"]}, "is not a price"),
        ({"input": ["1e-10"]}, "more than 9 decimal places"),
        ({"window": ["many"]}, "is not a number of tokens"),
        ({"match": ["a b"]}, "is not the name of a model"),
        ({"message": " "}, "Say in a few words what changes"),
        ({"input": ["1", "2"]}, "The form was cut short"),
    ],
)
def test_a_wrong_line_changes_nothing_and_is_said_in_words(
    browser: Browser, manager: User, changed: dict[str, object], sentence: str
) -> None:
    card = ensure_card()

    answer = browser(manager).post("/prices", {**sent([NANO], 1), **changed})

    assert answer.status_code == 422
    assert sentence in answer.content.decode()
    assert card_in_force() == card


def test_a_lost_race_is_said_and_keeps_the_lines(browser: Browser, manager: User) -> None:
    ensure_card()
    save_card([NANO], "faster", None, based_on=1)
    mine = Entry(match="mine", input="1", output="2")

    answer = browser(manager).post("/prices", sent([mine], 1))
    page = answer.content.decode()

    assert answer.status_code == 409
    assert "version 2 was saved meanwhile" in page
    assert "faster" in page
    assert 'value="mine"' in page
    assert 'name="based_on" value="2"' in page


def test_a_derived_tier_is_marked_and_a_rewrite_is_counted_in_cache_reads(
    browser: Browser, viewer: User
) -> None:
    save_card([Entry(match="m", input="10", output="50")], "one", None)

    page = re.sub(r"\s+", " ", browser(viewer).get("/prices").content.decode())

    assert '1.00<span class="what">derived' in page
    assert "11.5" in page
    assert "19.0" in page
    assert "Edit the prices" not in page


def test_a_viewer_who_asks_to_edit_gets_the_page_to_read(browser: Browser, viewer: User) -> None:
    ensure_card()

    assert "Put in force" not in browser(viewer).get("/prices?edit").content.decode()


def test_a_models_name_is_tried_on_the_card(browser: Browser, viewer: User) -> None:
    save_card([Entry(match="claude-*", input="1", output="2")], "one", None)
    client = browser(viewer)

    assert (
        "The entry claude-* is the longest" in client.get("/prices?model=claude-x").content.decode()
    )
    assert "their cost is unknown" not in client.get("/prices?model=claude-x").content.decode()
    assert "No entry has this name" in client.get("/prices?model=other").content.decode()


def test_a_model_that_was_seen_without_a_price_is_one_click_from_having_one(
    browser: Browser, manager: User
) -> None:
    ensure_card()
    unpriced = row(1, model="house-model", cost_usd=None)
    listed = row(2, model="claude-opus-5", cost_usd=None)  # it had no price then; it has one now
    ingest(batch(1, [unpriced, listed]), received_at=NOW)
    client = browser(manager)

    page = client.get("/prices").content.decode()
    form = client.get("/prices?add=house-model").content.decode()
    client.post("/prices", sent([replace(NANO, match="house-model")], 1))

    assert 'href="/prices?add=house-model"' in page
    assert "claude-opus-5" not in page
    assert 'name="match" value="house-model"' in form
    assert "Seen without a price" not in client.get("/prices").content.decode()


def test_a_model_that_the_release_lists_is_said_to_cost_that(
    browser: Browser, viewer: User
) -> None:
    save_card([NANO], "one", None)

    page = browser(viewer).get("/prices?model=claude-opus-5").content.decode()

    assert f"costs what {catalogue.source()} lists for claude-opus-5" in page


def test_an_earlier_version_is_read_and_an_unknown_one_is_absent(
    browser: Browser, viewer: User
) -> None:
    ensure_card()
    save_card([NANO], "later", None)
    client = browser(viewer)

    assert "The card is empty" in client.get("/prices?version=1").content.decode()
    assert "The card is empty" not in client.get("/prices").content.decode()
    assert client.get("/prices?version=9").status_code == 404
