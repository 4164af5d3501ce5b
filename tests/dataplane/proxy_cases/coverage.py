"""Which test shows which case of 03-proxy-and-recovery.md 10, and why some have none.

A test carries its number in its name (`test_case_62_…`) or in the id of a parameter
(`03-case-62-…`, `62-…`). Sections 10.1 to 10.10 are cases 1 to 141, 10.12 is 162 to 165; section
10.11 belongs to the rollouts.
"""

from __future__ import annotations

NUMBERS = frozenset((*range(1, 142), *range(162, 166)))

# Figures that `make bench` and `make soak` report, never a timed test: file and function.
MEASURED = {
    162: ("tools/bench/scenarios.py", "compaction"),
    163: ("tools/bench/streams.py", "beside_large_bodies"),
    165: ("tools/soak.py", "hold"),
}

# Cases that cannot hold yet: what they ask for is not part of the product so far.
LATER = {
    42: "cacheinject is declared and not built.",
    76: "extract_llm_sweep is declared and not built.",
}
