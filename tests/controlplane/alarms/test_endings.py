"""What should not become of a recovery call rings, by the declaration of the ending."""

from __future__ import annotations

from controlplane.alarms.rules import RULES, headline
from controlplane.alarms.watching import COUNTED
from dataplane.core.expand.endings import ENDINGS, counted_as


def test_every_ending_that_should_not_be_has_a_rule_that_watches_its_counter() -> None:
    watched = {(rule, counter) for rule, counter, _ in COUNTED}

    for ending in ENDINGS:
        assert (ending.name in RULES) is ending.alert
        assert ((ending.name, counted_as(ending.name)) in watched) is ending.alert


def test_the_headline_of_such_an_alarm_names_the_ending() -> None:
    assert headline("continuation_refused", 2) == (
        "2 recovery calls ended badly: continuation refused"
    )
