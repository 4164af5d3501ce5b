"""Statistics of several tenants as one."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from controlplane.figures.merging import merged
from tests.fakes.node import NOTHING, busy

COUNTERS = st.fixed_dictionaries(
    {
        "requests": st.integers(1, 10**6),
        "saved_tokens": st.integers(0, 10**9),
        "billed_usd": st.decimals(0, 10**6, places=4).map(str),
        "components": st.fixed_dictionaries(
            {"mask": st.fixed_dictionaries({"runs": st.integers(0)})}
        ),
    }
)


@given(several=st.lists(COUNTERS, min_size=1, max_size=4))
def test_the_sum_of_several_tenants_does_not_depend_on_their_order(
    several: list[dict[str, Any]],
) -> None:
    total = merged(several)

    assert total == merged(reversed(several))
    assert total["requests"] == sum(stats["requests"] for stats in several)


def test_one_unpriced_tenant_makes_the_dollars_of_all_unknown() -> None:
    assert merged([busy(), busy(billed_usd=None)])["billed_usd"] is None


def test_a_tenant_without_traffic_does_not_make_the_dollars_unknown() -> None:
    assert merged([NOTHING, busy()])["billed_usd"] == "611.28"


def test_a_sum_leaves_out_means_and_keeps_facts_about_the_node() -> None:
    total = merged([busy(), busy()])

    assert "cg_added_ms_avg" not in total
    assert total["uptime_s"] == 40
    assert total["node"] == "node-a"
