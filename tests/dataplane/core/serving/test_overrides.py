"""Pipelines that a request asks for (03-proxy-and-recovery.md 2.6)."""

from __future__ import annotations

import pytest

from dataplane.core.components import components
from dataplane.core.resource import Host, Kill, Policy, TenantBody, Variant
from dataplane.core.serving.overrides import KEPT_PLANS, Ignored, Overrides, Wish
from dataplane.core.serving.plan import Plan

DOCUMENT = {"pipeline": ["format"], "components": {"mask": {"keep_recent": 7}}}
HOST = Host(inject_expand="never")


def overrides(*, allow: bool = True, allowed: list[str] | None = None) -> Overrides:
    variant = Variant("v1", 1, "sha256:0", "base", HOST, DOCUMENT)
    body = TenantBody(
        "ten_a",
        "a",
        "A",
        {},
        [variant],
        policy=Policy(allow_request_overrides=allow, allowed_components=allowed),
        kill=Kill(no_new_offloads=True),
    )
    return Overrides(body, variant, components())


def names(found: Plan | Ignored) -> list[str]:
    assert isinstance(found, Plan)
    return [step.declaration.name for step in found.steps]


def test_the_order_asked_for_is_kept_with_the_documents_own_keys() -> None:
    found = overrides().plan(Wish("mask, format"))

    assert names(found) == ["mask", "format"]
    assert isinstance(found, Plan)
    assert getattr(found.steps[0].config, "keep_recent", None) == 7
    assert (found.host, found.kill) == (HOST, Kill(no_new_offloads=True))


def test_a_preset_replaces_the_pipeline() -> None:
    assert names(overrides().plan(Wish(preset="cache"))) == ["cachesplit"]
    assert names(overrides().plan(Wish(preset="off"))) == []


def test_a_pipeline_wins_over_the_preset_beside_it() -> None:
    assert names(overrides().plan(Wish("mask", "off"))) == ["mask"]


@pytest.mark.parametrize(
    ("wish", "reason"),
    [
        (Wish("mask,nope"), "unknown_component"),
        (Wish(","), "unknown_component"),
        (Wish(preset="nope"), "unknown_preset"),
        (Wish("collapse"), "component_not_allowed"),
        (Wish("mask,mask"), "invalid_pipeline"),
    ],
)
def test_what_cannot_be_honoured_is_ignored_by_name(wish: Wish, reason: str) -> None:
    found = overrides(allowed=["mask", "format"]).plan(wish)

    assert isinstance(found, Ignored)
    assert found.header == (b"x-context-guru-override", b"ignored; reason=" + reason.encode())


def test_nothing_is_honoured_without_the_policy() -> None:
    assert overrides(allow=False).plan(Wish("mask")) is Ignored.NOT_ALLOWED


def test_a_plan_is_compiled_once_and_the_oldest_are_forgotten() -> None:
    some = overrides()
    first = some.plan(Wish("mask"))

    assert some.plan(Wish("mask")) is first
    for number in range(KEPT_PLANS):
        some.plan(Wish("mask" + "," * number, "off"))
    assert some.plan(Wish("mask")) is not first


def test_a_plan_in_use_is_not_the_oldest() -> None:
    some = overrides()
    first = some.plan(Wish("mask"))
    for number in range(KEPT_PLANS + 9):
        some.plan(Wish("format", str(number)))
        assert some.plan(Wish("mask")) is first
