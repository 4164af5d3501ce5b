"""The price card that a new installation starts from; a published card replaces it.

Only models whose prices the specification states are listed: any other is unpriced, which is
shown as unknown and never as free. Source: 02-sweep-and-ledger.md section 8.1.
"""

from __future__ import annotations

from dataplane.core.config.resource import ModelPrice

DEFAULT_PRICES: dict[str, ModelPrice] = {
    "claude-sonnet-5": ModelPrice(
        input="2",
        cache_read="0.20",
        cache_write_5m="2.50",
        cache_write_1h="4",
        output="10",
    ),
}
