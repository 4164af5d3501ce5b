"""Dollars that a database can add up exactly.

SQLite adds decimals as floats, so an amount is kept as whole billionths of a dollar, which is the
precision that 04 §0.3 states.
"""

from __future__ import annotations

from decimal import ROUND_HALF_EVEN, Decimal
from typing import Any

from django.db import models

PER_USD = 1_000_000_000
_PLACES = Decimal(1).scaleb(-9)


def nano(usd: Decimal | None) -> int | None:
    """Billionths of a dollar; None stays unknown."""
    if usd is None:
        return None
    return int((usd * PER_USD).to_integral_value(ROUND_HALF_EVEN))


def usd(nano_usd: int | None) -> Decimal | None:
    return None if nano_usd is None else (Decimal(nano_usd) / PER_USD).quantize(_PLACES)


class UsdField(models.BigIntegerField):  # type: ignore[type-arg]
    """A Decimal of dollars outside, billionths inside; sums of it are exact."""

    def from_db_value(self, value: int | None, *_args: Any) -> Decimal | None:
        return usd(value)

    def to_python(self, value: Any) -> Decimal | None:
        return None if value is None else Decimal(value)

    def get_prep_value(self, value: Any) -> int | None:
        return None if value is None else nano(Decimal(value))
