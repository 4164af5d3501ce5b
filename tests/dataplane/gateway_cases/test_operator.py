"""What an operator's own key opens on a node (03 §1.2 and 6.1)."""

from __future__ import annotations

import pytest

from dataplane.core.resource import OPERATOR_KIND
from tests.dataplane.gateway import TA, TenantSpec, tenants
from tests.dataplane.gateway_cases.served import Serve, with_output

KEY = "cg_live_OOOOOOOOOOOOOOOOOOOOOOOOOO"
RELAYED = {"x-forwarded-for": "10.0.0.1"}
OPERATOR = RELAYED | {"x-context-guru-token": KEY}


def with_operator() -> list[TenantSpec]:
    return [*tenants(), TenantSpec("ops", KEY, principal="op", kind=OPERATOR_KIND)]


@pytest.mark.parametrize("name", ["ten_acme", "acme"])
async def test_an_operator_sees_what_a_tenant_is_served_from_and_no_key(
    serve: Serve, name: str
) -> None:
    async with serve(specs=with_operator()) as served:
        answer = await served.send("GET", f"/debug/config/{name}", headers=OPERATOR)
        found = answer.json()

        served_now = served.gateway.node.snapshots.tenants["ten_acme"]
        assert (found["tenant"], found["slug"], found["status"]) == ("ten_acme", "acme", "active")
        assert (found["version"], found["hash"]) == (1, served_now.hash)
        assert [(each["id"], each["role"]) for each in found["variants"]] == [("v1", "base")]
        assert found["last_nack"] is None
        assert answer.headers["cache-control"] == "no-store"
        assert "digest" not in answer.text


@pytest.mark.parametrize(
    ("path", "headers", "status", "name"),
    [
        ("/debug/config/nobody", OPERATOR, 404, "not_found"),
        ("/debug/config/acme", {"x-context-guru-token": TA}, 403, "view_forbidden"),
        ("/debug/config/acme", {}, 403, "view_forbidden"),
    ],
)
async def test_nobody_else_sees_it(
    serve: Serve, path: str, headers: dict[str, str], status: int, name: str
) -> None:
    async with serve(specs=with_operator()) as served:
        answer = await served.send("GET", path, headers=headers)

    assert (answer.status_code, answer.headers["x-cg-error"]) == (status, name)


async def test_guessing_an_operators_key_is_throttled(serve: Serve) -> None:
    async with serve(specs=with_operator(), auth_fail_per_min=3) as served:
        guesses = [
            await served.send("GET", "/debug/config/acme", headers=RELAYED) for _ in range(4)
        ]

    assert [answer.status_code for answer in guesses] == [403, 403, 403, 429]


async def test_an_operators_key_shows_the_process_and_sends_nothing_to_a_provider(
    serve: Serve,
) -> None:
    async with serve(specs=with_operator()) as served:
        await served.post(with_output("short"))

        stats = await served.send("GET", "/stats", headers=OPERATOR)
        refused = await served.post(with_output("short"), x_context_guru_token=KEY)

        assert (stats.json()["scope"], stats.json()["requests"]) == ("process", 1)
        assert (refused.status_code, refused.headers["x-cg-error"]) == (401, "bad_token")
        assert len(served.sent) == 1
