"""Which address means what (03 §1.1, 10.1 (1, 15, 18))."""

from __future__ import annotations

import pytest

from dataplane.core.door.route import Route, RouteError, is_base, match
from dataplane.core.wire.message import Dialect

A, C = Dialect.ANTHROPIC, Dialect.OPENAI_CHAT


def route(path: str, method: str = "POST", *, is_anthropic: bool = False) -> Route:
    return match(path, method=method, is_anthropic=is_anthropic)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        pytest.param("/v1/messages", ("messages", "anthropic", A), id="01-bare"),
        pytest.param("/anthropic/v1/messages", ("messages", "anthropic", A), id="01-prefixed"),
        ("/v1/messages/count_tokens", ("count_tokens", "anthropic", None)),
        ("/anthropic/v1/messages/batches/b_1", ("passthrough", "anthropic", None)),
        ("/v1/messages/batches", ("passthrough", "anthropic", None)),
        ("/v1/messages_of_another_kind", ("passthrough", "openai", None)),
        ("/v1/chat/completions", ("chat_completions", "openai", C)),
        ("/openai/v1/chat/completions", ("chat_completions", "openai", C)),
        ("/inference/v1/chat/completions", ("chat_completions", "bob", C)),
        ("/v1/responses", ("responses", "openai", Dialect.OPENAI_RESPONSES)),
        ("/v1/responses/resp_1", ("passthrough", "openai", None)),
        ("/v1/embeddings", ("embeddings", "openai", None)),
        ("/openai/v1/messages", ("messages", "openai", None)),
        ("/anthropic/v1/chat/completions", ("chat_completions", "anthropic", None)),
        ("/v1/models", ("models", "openai", None)),
    ],
)
def test_an_address_has_a_family_and_perhaps_a_dialect(
    path: str, expected: tuple[str, str, Dialect | None]
) -> None:
    found = route(path)

    assert (found.name, found.family, found.dialect) == expected
    assert found.path == path[path.index("/v1/") :]
    assert found.envelope == ("anthropic" if found.family == "anthropic" else "openai")


@pytest.mark.parametrize(
    ("path", "family"),
    [
        pytest.param("/v1/models", "anthropic", id="18"),
        ("/v1/files", "anthropic"),
        ("/v1/responses/resp_1", "openai"),
        ("/v1/chat/completions", "openai"),
        ("/openai/v1/models", "openai"),
    ],
)
def test_the_version_header_decides_for_bare_addresses_of_both(path: str, family: str) -> None:
    assert route(path, "GET" if "chat" not in path else "POST", is_anthropic=True).family == family


def test_case_01_a_slug_narrows_any_address() -> None:
    assert route("/t/acme/anthropic/v1/messages") == Route(
        "messages", "anthropic", "/v1/messages", A, "acme"
    )


@pytest.mark.parametrize(
    ("path", "method", "name"),
    [
        pytest.param("/t/cg_live_X/v1/messages", "POST", "token_in_url", id="15-slug"),
        pytest.param("/t/%63g_live_X/v1/messages", "POST", "token_in_url", id="15-escaped"),
        pytest.param("/v1/files/cg_node_X", "GET", "token_in_url", id="15-anywhere"),
        ("/t/acme", "POST", "not_found"),
        ("/t//v1/messages", "POST", "not_found"),
        ("/", "GET", "not_found"),
        ("/v2/messages", "POST", "not_found"),
        ("/anthropic", "POST", "not_found"),
        ("/v1", "GET", "not_found"),
        ("/v1/messages", "GET", "method_not_allowed"),
        ("/openai/v1/chat/completions", "DELETE", "method_not_allowed"),
    ],
)
def test_an_address_that_is_not_served_is_refused_by_name(
    path: str, method: str, name: str
) -> None:
    with pytest.raises(RouteError, match=f"^{name}$"):
        route(path, method)


def test_escapes_stay_as_they_were_spelt() -> None:
    assert route("/v1/models/a%2Fb%20c", "GET").path == "/v1/models/a%2Fb%20c"


@pytest.mark.parametrize(
    ("path", "is_one"),
    [
        ("/", True),
        ("/anthropic", True),
        ("/openai/v1/", True),
        ("/t/acme/anthropic", True),
        ("/v1", True),
        ("/v1/messages", False),
        ("/t/cg_live_secret/anthropic", False),
        ("/tenants", False),
    ],
)
def test_a_base_address_is_what_routes_are_put_behind(path: str, is_one: bool) -> None:  # noqa: FBT001  08 §W-24
    assert is_base(path) is is_one
