"""Nodes die at random moments under load, and nothing that was removed is lost or changed.

Source: 03-proxy-and-recovery.md 5.10 and 10.9 (case 125, K10). `pytest -s` prints the moments.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.dataplane.recovery_cases.crash import MUST_STAY_ZERO, Findings, Ordeal, undergo

# make crash-test has ten times as many; each start takes a second of the machine.
ONE_NODE = Ordeal(seed=20, kills=10)
TWO_NODES = Ordeal(seed=2, kills=4, nodes=2)


@pytest.mark.crash
@pytest.mark.parametrize(
    "ordeal",
    [
        pytest.param(ONE_NODE, id="03-case-125-K10-one-node"),
        pytest.param(TWO_NODES, id="03-case-125-K10-two-nodes-one-state-dir"),
    ],
)
async def test_a_node_killed_at_random_moments_keeps_every_original_and_every_byte(
    ordeal: Ordeal, tmp_path: Path
) -> None:
    findings = await undergo(ordeal, tmp_path)

    print_findings(ordeal, findings)
    assert findings.wrong == []
    assert findings.witness.changed == []
    assert findings.refused == []
    assert findings.counted == dict.fromkeys(MUST_STAY_ZERO, 0)
    assert len(findings.moments) == ordeal.kills
    assert findings.resent > 0
    assert all(findings.witness.markers.values())


def print_findings(ordeal: Ordeal, findings: Findings) -> None:
    print(  # noqa: T201  which moments were tried is worth knowing when it fails
        f"\n{ordeal}\nkilled after {findings.moments} s; {findings.answered} turns answered, "
        f"{findings.resent} of them sent more than once, {findings.witness.requests} requests at "
        f"the provider, {len(findings.witness.markers)} sessions, "
        f"{len(findings.witness.minted)} originals asked for"
    )
