"""What the environment says, and what stands when it says nothing."""
# ruff: noqa: S104  addresses that are read, not bound

from __future__ import annotations

import base64
import stat
from pathlib import Path
from typing import Any

import pytest

from controlplane.settings import databases
from controlplane.settings.environment import pairs, ports, read, sealing_keys
from dataplane.settings import SettingsError

KEY = base64.b64encode(bytes(32)).decode()


def test_without_any_variable_it_serves_this_machine_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    found = read({})

    assert found.data_dir == tmp_path / "var"
    assert (found.host, found.port, found.base_url) == ("127.0.0.1", 8000, "http://127.0.0.1:8000")
    assert found.allowed_hosts == ("localhost", "127.0.0.1", "[::1]")
    assert not found.debug


def test_the_secret_key_is_made_once_and_read_by_its_owner_alone(tmp_path: Path) -> None:
    env = {"HEADRACE_DATA_DIR": str(tmp_path)}

    assert read(env).secret_key == read(env).secret_key
    assert len(read(env).secret_key) > 50
    assert stat.S_IMODE((tmp_path / "secret_key").stat().st_mode) == 0o600
    assert {path.name for path in tmp_path.iterdir()} == {"secret_key", "secret_keys"}


def test_given_secret_keys_leave_no_file(tmp_path: Path) -> None:
    env = {
        "HEADRACE_DATA_DIR": str(tmp_path),
        "HEADRACE_SECRET_KEY": "given",
        "HEADRACE_SECRET_KEYS": f"a:{KEY}",
    }

    assert read(env).secret_key == "given"
    assert read(env).secret_keys == (("a", bytes(32)),)
    assert not list(tmp_path.iterdir())


def test_a_sealing_key_is_made_once_and_read_by_its_owner_alone(tmp_path: Path) -> None:
    env = {"HEADRACE_DATA_DIR": str(tmp_path)}
    ((key_id, key),) = read(env).secret_keys

    assert read(env).secret_keys == ((key_id, key),)
    assert len(key) == 32
    assert stat.S_IMODE((tmp_path / "secret_keys").stat().st_mode) == 0o600


def test_the_first_of_several_sealing_keys_comes_first() -> None:
    assert [key_id for key_id, _ in sealing_keys(f"new:{KEY}, old:{KEY}")] == ["new", "old"]


@pytest.mark.parametrize(
    "given",
    [KEY, "a", "a:", f":{KEY}", "a:c2hvcnQ=", "a:!!!!", f"a:{KEY},a:{KEY}", f"{'x' * 33}:{KEY}"],
)
def test_sealing_keys_that_are_none_are_refused_without_being_printed(given: str) -> None:
    with pytest.raises(ValueError, match="HEADRACE_SECRET_KEYS") as refused:
        sealing_keys(given)
    assert KEY not in str(refused.value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("HEADRACE_BIND", "8000"),
        ("HEADRACE_BIND", "127.0.0.1:http"),
        ("HEADRACE_BIND", "127.0.0.1:70000"),
        ("HEADRACE_LOG_LEVEL", "loud"),
        ("HEADRACE_OUTBOUND_PORTS", "8443,https"),
        ("HEADRACE_SECOND_FACTOR", "yes"),
        ("HEADRACE_TELEMETRY_MAX_BYTES", "5GB"),
        ("HEADRACE_TRUSTED_PROXIES", "10.0.0.0/33"),
        ("HEADRACE_UPSTREAMS", "https://api.example.com"),
    ],
)
def test_a_value_that_means_nothing_names_its_variable(
    tmp_path: Path, name: str, value: str
) -> None:
    with pytest.raises(SettingsError, match=name):
        read({"HEADRACE_DATA_DIR": str(tmp_path), name: value})


def test_a_data_directory_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(SettingsError, match="HEADRACE_DATA_DIR cannot be used"):
        read({"HEADRACE_DATA_DIR": str(tmp_path / "file" / "var")})


def test_outbound_ports_are_numbers() -> None:
    assert ports("8443, 9443,") == {8443, 9443}


@pytest.mark.parametrize(
    ("bind", "host", "base_url"),
    [
        ("0.0.0.0:80", "0.0.0.0", "http://127.0.0.1:80"),
        ("[::1]:8000", "::1", "http://[::1]:8000"),
        (":4000", "127.0.0.1", "http://127.0.0.1:4000"),
    ],
)
def test_an_address_to_bind_gives_one_to_open(
    tmp_path: Path, bind: str, host: str, base_url: str
) -> None:
    found = read({"HEADRACE_DATA_DIR": str(tmp_path), "HEADRACE_BIND": bind})

    assert (found.host, found.base_url) == (host, base_url)


def test_a_public_address_is_allowed_as_host_and_switches_to_secure_cookies(tmp_path: Path) -> None:
    found = read(
        {
            "HEADRACE_DATA_DIR": str(tmp_path),
            "HEADRACE_BIND": "0.0.0.0:8000",
            "HEADRACE_BASE_URL": "https://gateway.example.com/",
            "HEADRACE_ALLOWED_HOSTS": "inside.example.com",
        }
    )

    assert found.is_https
    assert found.base_url == "https://gateway.example.com"
    assert {"gateway.example.com", "inside.example.com"} < set(found.allowed_hosts)
    assert "0.0.0.0" not in found.allowed_hosts


def test_upstreams_are_pairs_of_dialect_and_address() -> None:
    assert pairs("anthropic=https://a, openai=https://b,") == {
        "anthropic": "https://a",
        "openai": "https://b",
    }
    with pytest.raises(ValueError, match="dialect=URL"):
        pairs("https://a")


def on_a_server(tmp_path: Path, control: str, telemetry: str) -> dict[str, dict[str, Any]]:
    urls = {"HEADRACE_DATABASE_URL": control, "HEADRACE_TELEMETRY_DATABASE_URL": telemetry}
    return databases.both(read({"HEADRACE_DATA_DIR": str(tmp_path), **urls}))


def test_both_databases_may_be_on_a_server(tmp_path: Path) -> None:
    found = on_a_server(
        tmp_path,
        "postgresql://head:p%40ss@db.example.com:5433/control?sslmode=require",
        "postgresql://head@/telemetry?host=/run/postgresql",
    )

    control, telemetry = found["default"], found["telemetry"]
    assert (control["HOST"], control["PORT"], control["NAME"]) == (
        "db.example.com",
        "5433",
        "control",
    )
    assert (control["USER"], control["PASSWORD"]) == ("head", "p@ss")
    assert control["OPTIONS"] == {"sslmode": "require"}
    assert (telemetry["HOST"], telemetry["NAME"]) == ("/run/postgresql", "telemetry")


@pytest.mark.parametrize(
    ("control", "telemetry", "named"),
    [
        ("postgresql://h/one", "", "are set together"),
        ("postgresql://h/one", "postgresql://h/one", "a database of its own"),
        ("mysql://me:secret@h/one", "postgresql://h/two", "HEADRACE_DATABASE_URL is not of"),
        ("postgresql://h/one", "postgresql://me:secret@h", "HEADRACE_TELEMETRY_DATABASE_URL is"),
        ("postgresql://me:secret@h:x/one", "postgresql://h/two", "HEADRACE_DATABASE_URL is not of"),
    ],
)
def test_databases_that_cannot_be_meant_are_refused_without_their_password(
    tmp_path: Path, control: str, telemetry: str, named: str
) -> None:
    with pytest.raises(ValueError, match=named) as refused:
        on_a_server(tmp_path, control, telemetry)

    assert "secret" not in str(refused.value)
