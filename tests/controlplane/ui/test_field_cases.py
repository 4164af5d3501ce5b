"""Case R-22 of 08-field-cases.md: what agents and tenants send is shown as text."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from controlplane.accounts.actions import create_tenant, issue_key
from controlplane.accounts.models import Organisation, User
from dataplane.simulator import Simulator
from tests.controlplane.ui.conftest import Browser
from tests.dataplane.field_cases import casefile
from tests.dataplane.field_cases.playing import staged
from tests.fakes.node import FakeNode, busy

Register = Callable[[FakeNode], None]
HOSTILE = ("<img src=x onerror=alert(1)>", '"><svg onload=alert(2)>')
RAW: list[str] = casefile.load("R-22").turns[0].expect["pages_not_contain_raw"]
POLL = "/?safety=calm&figures=shown"


async def _stats_after_the_case(directory: Path) -> dict[str, Any]:
    case = casefile.load("R-22")
    async with Simulator() as simulator, staged(case, directory, simulator) as stage:
        played = await stage.play(case.turns[0])
        assert played.answer.status == 200
        return played.after


@pytest.mark.parametrize("text", HOSTILE)
def test_case_r_22_what_comes_from_outside_is_text_on_every_page(
    text: str, tmp_path: Path, organisation: Organisation, admin: User, browser: Browser,
    node: Register,
) -> None:  # fmt: skip
    tenant = create_tenant(organisation, slug="orchid", by=None, label=text)
    issue_key(tenant, text, None)
    played = asyncio.run(_stats_after_the_case(tmp_path))
    odd = {"gates": {text: 3}, "events": {text: 1}, "verdict": text, "runs": 3}
    stats = busy(components={**played["components"], text: odd}, bypassed={text: 2}, node=text)
    node(FakeNode(stats, **{tenant.uid: stats}))
    client = browser(admin)
    saved = client.post("/config/orchid", {"source": f"# {text}\npipeline: [{text}]\n"})

    pages = [client.get(path) for path in ("/", "/tenants", "/tenants/orchid")]
    pages += [saved, client.get(POLL, headers={"hx-request": "true"})]

    for page in pages:
        assert page.status_code in {200, 302, 422}
        shown = page.content.decode()
        assert [raw for raw in (*RAW, *HOSTILE) if raw in shown] == []
    assert "&lt;img src=x" in pages[1].content.decode() or "&gt;&lt;svg" in (
        pages[1].content.decode()
    )


def test_case_r_22_a_page_may_run_no_script_of_its_own(browser: Browser, admin: User) -> None:
    policy = browser(admin).get("/").headers["content-security-policy"]

    directives = dict(each.strip().partition(" ")[::2] for each in policy.split(";"))
    assert "unsafe-inline" not in policy
    assert "unsafe-eval" not in policy
    assert directives.get("script-src", directives["default-src"]).startswith("'self'")
