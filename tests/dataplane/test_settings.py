"""The environment, read once (03 §Appendix A and 2.2)."""

from __future__ import annotations

from pathlib import Path

import pytest

from dataplane.core.session.naming import SessionKeys
from dataplane.core.text.secrets import HIDDEN
from dataplane.settings import Settings, SettingsError, from_environment, is_loopback


def test_an_empty_environment_gives_the_documented_defaults() -> None:
    assert from_environment({}) == Settings(state_dir=Path("var/state"))


@pytest.mark.parametrize(
    ("text", "keeps"),
    [("off", False), ("0", False), ("False", False), ("on", True), ("1", True), ("", True)],
)
def test_the_kill_switch_of_keep_alive_is_off_0_or_false(text: str, keeps: bool) -> None:  # noqa: FBT001
    assert from_environment({"HEADRACE_KEEPALIVE": text}).keepalive is keeps


def test_every_variable_has_its_place(tmp_path: Path) -> None:
    found = from_environment(
        {
            "HEADRACE_DATA_DIR": str(tmp_path),
            "HEADRACE_SNAPSHOT": "bundle.json",
            "HEADRACE_BIND": "0.0.0.0:80",
            "HEADRACE_METRICS_TOKEN": "m",
            "HEADRACE_LOG_LEVEL": "debug",
            "HEADRACE_STORE_DURABILITY": "host",
            "HEADRACE_STORE_COMMIT_TIMEOUT_MS": "7",
            "HEADRACE_NODE_INFLIGHT_MAX": "8",
            "HEADRACE_BODY_MAX": "9",
            "HEADRACE_AUTH_FAIL_PER_MIN": "0",
            "HEADRACE_RESPONSES_PARTIAL": "1",
            "HEADRACE_OPENAI_PROMPT_CACHE_KEY": "true",
            "HEADRACE_DERIVE": "v2",
        }
    )

    assert found.state_dir == tmp_path / "state"
    assert found.snapshot == Path("bundle.json")
    assert (found.bind, found.metrics_token, found.log_level) == ("0.0.0.0:80", "m", "DEBUG")
    assert (found.store_durability, found.store_commit_timeout_ms) == ("host", 7)
    assert found.responses_partial
    assert found.session_keys == SessionKeys(prompt_cache_key=True, with_system=True)
    assert (found.node_inflight_max, found.body_max, found.auth_fail_per_min) == (8, 9, 0)


def test_the_state_may_lie_elsewhere(tmp_path: Path) -> None:
    environ = {"HEADRACE_DATA_DIR": "var", "HEADRACE_STATE_DIR": str(tmp_path)}

    assert from_environment(environ).state_dir == tmp_path


@pytest.mark.parametrize("bind", ["127.0.0.1:8000", "localhost:1", "[::1]:8000", "127.9.9.9:1"])
def test_the_test_clock_runs_on_a_loopback_address(bind: str) -> None:
    assert from_environment({"HEADRACE_TEST_CLOCK": "1", "HEADRACE_BIND": bind}).test_clock


@pytest.mark.parametrize(
    "bind", ["0.0.0.0:8000", "10.0.0.1:80", "[::]:80", ":4000", "gateway.example:80"]
)
def test_the_test_clock_refuses_to_start_anywhere_else(bind: str) -> None:
    with pytest.raises(SettingsError, match="HEADRACE_TEST_CLOCK"):
        from_environment({"HEADRACE_TEST_CLOCK": "1", "HEADRACE_BIND": bind})

    assert not from_environment({"HEADRACE_BIND": bind}).test_clock


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("HEADRACE_BODY_MAX", "32MiB"),
        ("HEADRACE_NODE_INFLIGHT_MAX", "-1"),
        ("HEADRACE_STORE_DURABILITY", "always"),
        ("HEADRACE_RESPONSES_PARTIAL", "yes"),
        ("HEADRACE_DERIVE", "v3"),
        ("HEADRACE_LOG_LEVEL", "loud"),
        ("HEADRACE_BODY_IDLE_TIMEOUT_S", "0"),
        ("HEADRACE_STORE_SWEEP_EVERY_S", "0"),
    ],
)
def test_a_value_that_means_nothing_names_its_variable(name: str, value: str) -> None:
    with pytest.raises(SettingsError, match=name):
        from_environment({name: value})


@pytest.mark.parametrize(
    "name", ["HEADRACE_SILENCE_TIMEOUT_S", "HEADRACE_INLINE_BODY_MAX", "HEADRACE_AUTH_FAIL_PER_MIN"]
)
def test_nothing_is_a_value_where_it_means_something(name: str) -> None:
    assert getattr(from_environment({name: "0"}), name.removeprefix("HEADRACE_").lower()) == 0


@pytest.mark.parametrize(
    ("host", "expected"),
    [("127.0.0.1", True), ("::1", True), ("10.0.0.1", False), ("localhost", False), ("", False)],
)
def test_loopback_is_an_address_and_never_a_name(host: str, *, expected: bool) -> None:
    assert is_loopback(host) is expected


def test_a_node_of_one_tenant_goes_to_the_providers_unless_it_is_told_otherwise() -> None:
    environ = {"HEADRACE_DOCUMENT": "d.yaml", "HEADRACE_UPSTREAMS": "openai=http://10.0.0.2:1"}

    found = from_environment(environ)

    assert found.is_single_tenant
    assert found.upstreams == {
        "anthropic": "https://api.anthropic.com",
        "openai": "http://10.0.0.2:1",
    }


@pytest.mark.parametrize("text", ["openai", "gemini=https://g.example", "openai=10.0.0.2"])
def test_an_upstream_that_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(SettingsError, match="HEADRACE_UPSTREAMS"):
        from_environment({"HEADRACE_DOCUMENT": "d.yaml", "HEADRACE_UPSTREAMS": text})


def test_a_bundle_and_a_document_are_one_too_many() -> None:
    with pytest.raises(SettingsError, match="not both"):
        from_environment({"HEADRACE_DOCUMENT": "d.yaml", "HEADRACE_SNAPSHOT": "b.json"})


def test_a_redis_for_originals_is_named_with_what_it_must_promise() -> None:
    found = from_environment(
        {
            "HEADRACE_STORE_REDIS_URL": "redis://:secret@store:6379/1",
            "HEADRACE_STORE_REDIS_REPLICAS": "1",
            "HEADRACE_STORE_REDIS_ASSUME_NOEVICTION": "1",
        }
    )

    assert found.store_redis is not None
    assert found.store_redis.commit_timeout_ms == 1500
    assert (found.store_redis.replicas, found.store_redis.assume_noeviction) == (1, True)
    assert "secret" not in repr(found)


def test_a_redis_of_another_scheme_is_refused() -> None:
    with pytest.raises(SettingsError, match="HEADRACE_STORE_REDIS_URL begins with redis://"):
        from_environment({"HEADRACE_STORE_REDIS_URL": "http://store"})


@pytest.mark.parametrize(
    ("environ", "said"),
    [
        ({}, []),
        ({"HEADRACE_LOG_LEVEL": "debug", "HEADRACE_METRICS_TOKEN": "m"}, []),
        (
            {"HEADRACE_FORCE_MODEL": "m9", "HEADRACE_KEEPALIVE": "0"},
            ["HEADRACE_FORCE_MODEL=m9", "HEADRACE_KEEPALIVE=off"],
        ),
        (
            {"HEADRACE_DERIVE": "v2", "HEADRACE_RESPONSES_PARTIAL": "true"},
            ["HEADRACE_DERIVE=v2", "HEADRACE_RESPONSES_PARTIAL=1"],
        ),
        (
            {"HEADRACE_OPENAI_PROMPT_CACHE_KEY": "1", "HEADRACE_TEST_CLOCK": "1"},
            ["HEADRACE_OPENAI_PROMPT_CACHE_KEY=1", "HEADRACE_TEST_CLOCK=1"],
        ),
        (
            {"HEADRACE_FORCE_MODEL": "sk-ant-api03-abcdefghijklmnop"},
            [f"HEADRACE_FORCE_MODEL={HIDDEN}"],
        ),
    ],
)
def test_what_is_above_every_document_is_told_and_no_secret(
    environ: dict[str, str], said: list[str]
) -> None:
    """08 §K-19."""
    assert [str(one) for one in from_environment(environ).imposed] == said
