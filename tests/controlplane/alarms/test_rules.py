"""What the built-in rules say."""

from __future__ import annotations

import re

import pytest

from controlplane.alarms.rules import RULES, Rule
from dataplane.core.components import components
from dataplane.core.config.registry import leaves, registry

KEYS = {".".join(map(str, path)) for path, _ in leaves(registry(components()))}


@pytest.mark.parametrize("rule", RULES.values(), ids=lambda rule: rule.key)
def test_a_step_names_keys_of_the_store_that_exist(rule: Rule) -> None:
    named = set(re.findall(r"`(store\.\w+)`", " ".join(rule.steps)))

    assert named <= KEYS
