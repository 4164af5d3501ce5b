"""What `cold_cache: true` would have spared, and what the pipeline measures for it."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import pytest

from dataplane.core.asked import Asked
from dataplane.core.components import components
from dataplane.core.config.check import check, check_document
from dataplane.core.config.layers import Context
from dataplane.core.effects import PastTurn, SessionView
from dataplane.core.exchange import Exchange
from dataplane.core.prices.cold_savings import Billed, Spared, spared
from dataplane.core.prices.money import Rates
from dataplane.core.resource import Kill
from dataplane.core.serving.plan import plan_of
from dataplane.core.wire.message import Dialect
from tests.dataplane.core.build import anthropic_body, run_core

DOLLARS = Rates(
    fresh_input=Fraction(2),
    cache_read=Fraction(1, 5),
    cache_write=Fraction(5, 2),
    cache_write_1h=Fraction(4),
    output=Fraction(10),
)


def turn(**changed: Any) -> Billed:
    fields: dict[str, Any] = {
        "held": 0, "fresh": 0, "read": 1000, "written": 100, "written_1h": 0, "rates": DOLLARS,
        **changed,
    }  # fmt: skip
    return Billed(**fields)


def rest(held: int, **changed: Any) -> Billed:
    return turn(**{"held": held, "read": 0, "written": 1000, **changed})


@pytest.mark.parametrize(
    ("thread", "expected"),
    [
        pytest.param([turn(), turn()], Spared(), id="never rested"),
        pytest.param([turn(), rest(400)], Spared(Fraction(1000), 1, 400), id="not written again"),
        pytest.param(
            [rest(400), turn(), turn()],
            Spared(Fraction(1000 + 2 * 80), 1, 400),
            id="nor read on any later turn",
        ),
        pytest.param(
            [rest(400), turn(), rest(700)],
            Spared(Fraction(1000 + 80 + 1750), 2, 700),
            id="a second rest holds what the first would have let go",
        ),
        pytest.param(
            [rest(400, written=0, written_1h=0, fresh=100, read=50)],
            Spared(Fraction(100 * 2 + 50 * Fraction(1, 5)), 1, 400),
            id="never more than was billed",
        ),
        pytest.param(
            [rest(400, written_1h=1000)], Spared(Fraction(1600), 1, 400), id="an hour's price"
        ),
        pytest.param(
            [rest(400), turn(compacted=True), turn()],
            Spared(Fraction(1000), 1, 400),
            id="until the agent begins anew",
        ),
        pytest.param(
            [rest(400), turn(rates=None), rest(100, rates=None)],
            Spared(Fraction(1000), 2, 400, unpriced=2),
            id="what has no price is counted and left out",
        ),
    ],
)
def test_a_thread_is_spared_what_it_would_not_have_written_and_read(
    thread: list[Billed], expected: Spared
) -> None:
    assert spared(thread) == expected


def held_on(idle_s: float, document: dict[str, Any], **members: Any) -> int:
    text = json.dumps(document)
    checked = check(text, context=Context(components()))
    assert checked.effective is not None
    plan = plan_of(
        check_document(checked.effective.document, components()), checked.effective.host, Kill()
    )
    exchange = Exchange(plan, Asked(Dialect.ANTHROPIC, at=10_000.0), persists=True)
    mark = {"type": "ephemeral"}
    body = anthropic_body(*["a line of output\n" * 200] * 3, "new", cache_control=mark, **members)
    before = PastTurn(7, 10_000.0 - idle_s, 300, offered=True)
    outgoing, _ = run_core(exchange.prepare(body), SessionView(previous=before))
    assert outgoing.report is not None
    return int(outgoing.report.held)


MASK = {"pipeline": ["mask"], "components": {"mask": {"keep_recent": 1}}}


def test_a_turn_that_finds_the_cache_expired_says_what_could_have_gone() -> None:
    assert held_on(1000.0, MASK) > 2000
    assert held_on(10.0, MASK) == 0


def test_where_the_key_is_on_it_went_and_is_not_held() -> None:
    mask = {"keep_recent": 1, "cold_cache": True}

    assert held_on(1000.0, {"pipeline": ["mask"], "components": {"mask": mask}}) == 0


def test_what_another_component_makes_smaller_anyway_is_not_counted_twice() -> None:
    """dedup takes the second and the third copy; the key would only have added the first."""
    alone = held_on(1000.0, MASK)
    behind = held_on(1000.0, {**MASK, "pipeline": ["dedup", "mask"]})

    assert 0 < behind < alone / 2


def test_nothing_is_held_where_nothing_new_could_be_removed() -> None:
    assert held_on(1000.0, MASK, tools=()) == 0
