"""What the environment of a node sets above a document is said of the document: 08 §K-19."""

from __future__ import annotations

import pytest

from dataplane.core.config.imposed import Imposed
from dataplane.core.config.layers import Layer
from tests.dataplane.core.config.checking import checked, place
from tests.dataplane.core.config.raising import SERVER, here, runnable

MODEL = Imposed("HEADRACE_FORCE_MODEL", "m9", "/force_model", "m9")
NO_PINGS = Imposed("HEADRACE_KEEPALIVE", "off", "/cache/keepalive", value=False)
NO_KEY = Imposed("HEADRACE_DERIVE", "v2")
HERE = here(imposed=(MODEL, NO_PINGS, NO_KEY))


def overridden(text: str) -> list[str]:
    found = checked(text, HERE).warnings
    return [place(one) for one in found if one.code == "config.overridden_by_environment"]


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("force_model: m8\n", ["config.overridden_by_environment 1:14 /force_model"]),
        ("cache: {keepalive: true}\n", ["config.overridden_by_environment 1:20 /cache/keepalive"]),
        pytest.param("force_model: m9\n", [], id="the same model"),
        pytest.param("cache: {keepalive: false}\n", [], id="off already"),
        pytest.param("pipeline: [mask]\n", [], id="a key that nobody wrote"),
    ],
)
def test_a_written_value_that_does_not_count_is_named(text: str, places: list[str]) -> None:
    assert overridden(text) == places


def test_the_warning_names_the_setting_and_what_is_to_be_done() -> None:
    (found,) = checked("force_model: m8\n", here(imposed=(MODEL,))).warnings

    assert "HEADRACE_FORCE_MODEL of the node counts instead" in found.message
    assert "HEADRACE_FORCE_MODEL=m9" in (found.reason or "")
    assert "without HEADRACE_FORCE_MODEL" in found.replacement.text


def test_a_value_of_a_layer_below_is_named_with_its_layer() -> None:
    context = runnable(below=(Layer(SERVER, "force_model: m8\n"),), here=HERE.here)
    (found,) = checked("pipeline: [mask]\n", context).warnings

    assert (found.line, found.document) == (None, SERVER)
