"""What an organisation may decide for its tenants and tokens (04 §1.1)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from django.core.exceptions import ValidationError

LONGEST_TOKEN_DAYS = 3650
RULES: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "llm_components": (lambda value: value in ("allow", "manager_only", "deny"),
                       "allow, manager_only or deny"),
    "irreversible_marker_modes": (lambda value: value in ("deny", "ack"), "deny or ack"),
    "request_overrides": (lambda value: isinstance(value, bool), "true or false"),
    "max_token_days": (lambda value: type(value) is int and 1 <= value <= LONGEST_TOKEN_DAYS,
                       f"a whole number from 1 to {LONGEST_TOKEN_DAYS}"),
}  # fmt: skip


def checked_policy(policy: Mapping[str, Any]) -> dict[str, Any]:
    """The policy itself; ValidationError names each rule that is unknown or has a wrong value."""
    wrong = []
    for name, value in policy.items():
        if name not in RULES:
            wrong.append(f"There is no rule {name}.")
        elif not RULES[name][0](value):
            wrong.append(f"{name} is {RULES[name][1]}.")
    if wrong:
        raise ValidationError(wrong)
    return dict(policy)
