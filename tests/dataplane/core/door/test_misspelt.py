"""Base URLs with too little or too much at their end (03 §1.1)."""

from __future__ import annotations

import itertools

import pytest

from dataplane.core.door.misspelt import Meant, meant
from dataplane.core.door.route import RouteError, match

PLACES = ("", "/anthropic", "/openai", "/inference", "/t/acme", "/t/acme/openai")
ENDPOINTS = ("messages", "chat/completions", "responses")
MORE = ("embeddings", "models", "models/m-1", "messages/count_tokens", "responses/resp_1/cancel")


@pytest.mark.parametrize(
    ("base", "change"),
    [
        ("", "add /v1 at its end"),
        ("/v1/v1", "take /v1 off its end"),
        ("/v1/v1/v1", "take /v1/v1 off its end"),
        ("//v1", "take the slash off its end"),
        ("/v1/", "take the slash off its end"),
    ],
)
@pytest.mark.parametrize("place", PLACES)
def test_what_a_base_url_lacks_or_has_too_often_is_told(place: str, base: str, change: str) -> None:
    for endpoint in (*ENDPOINTS, *MORE):
        assert meant(f"{place}{base}/{endpoint}") == Meant(f"{place}/v1/{endpoint}", change)


@pytest.mark.parametrize("endpoint", ENDPOINTS)
def test_a_whole_address_as_base_url_is_told(endpoint: str) -> None:
    right, off = f"/v1/{endpoint}", "off its end"

    assert meant(f"{right}/v1/{endpoint}") == Meant(right, f"take /v1/{endpoint} {off}")
    assert meant(f"{right}/{endpoint}") == Meant(right, f"take /{endpoint} {off}")
    assert meant(f"{right}/") == Meant(right, "take the slash off its end")


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(
    "path",
    [
        *(f"/v1/{endpoint}" for endpoint in (*ENDPOINTS, *MORE)),
        "/v1/messages/batches/b_1/results",
        "/v1/messages_of_another_kind",
        "/v1/chat/completions/c_1/messages",
        "/v1/threads/t_1/messages",
        "/v1/models/v1",
        "/v1/files",
        "/v1",
        "/v1/",
        "/pages",
        "/",
        "",
    ],
)
def test_what_is_spelt_right_means_what_it_says(place: str, path: str) -> None:
    assert meant(place + path) is None


@pytest.mark.parametrize(
    ("path", "envelope"),
    [
        ("/messages", "anthropic"),
        ("/anthropic/v1/v1/messages", "anthropic"),
        ("/openai/chat/completions", "openai"),
        ("//v1/responses", "openai"),
        ("/openai/v1//embeddings", "openai"),
    ],
)
def test_a_misspelt_address_is_refused_in_the_envelope_of_what_was_meant(
    path: str, envelope: str
) -> None:
    with pytest.raises(RouteError, match="wrong_base_url") as refused:
        match(path, method="POST", is_anthropic=False)

    assert refused.value.envelope == envelope
    assert refused.value.detail.startswith("POST /")


def test_what_is_meant_is_spelt_right_itself() -> None:
    parts = ("v1", "", "messages", "chat", "completions", "openai", "models", "x")
    for path in map("/".join, itertools.product(parts, repeat=4)):
        found = meant(f"/{path}")
        assert found is None or meant(found.path) is None
