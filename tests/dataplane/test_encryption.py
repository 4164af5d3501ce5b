"""The setting that names the keys of the store (03 §5.9, Appendix A)."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest

from dataplane.encryption import StoreEncryption
from dataplane.settings import SettingsError, from_environment

K1, K2 = bytes(32), bytes([2]) * 32
RING = f"k1:{base64.b64encode(K1).decode()}\nk2:{base64.b64encode(K2).decode()}\n"


def environment(ref: str, key_id: str = "k2", **more: str) -> dict[str, str]:
    setting = json.dumps({"kek_ref": ref, "key_id": key_id})
    return {"HEADRACE_STORE_ENCRYPTION": setting, **more}


def test_without_the_setting_the_store_is_in_the_clear() -> None:
    assert from_environment({}).store_encryption is None


def test_the_keys_come_from_the_variable_that_the_setting_names() -> None:
    found = from_environment(environment("env:KEKS", KEKS=RING)).store_encryption

    assert found == StoreEncryption("k2", {"k1": K1, "k2": K2})


def test_the_keys_come_from_the_file_that_the_setting_names(tmp_path: Path) -> None:
    (tmp_path / "keks").write_text(RING)

    found = from_environment(environment(f"file:{tmp_path}/keks")).store_encryption

    assert found == StoreEncryption("k2", {"k1": K1, "k2": K2})


def test_the_settings_do_not_show_a_key() -> None:
    settings = from_environment(environment("env:KEKS", KEKS=RING))

    assert repr(K2) not in repr(settings.store_encryption)


@pytest.mark.parametrize(
    ("variables", "said"),
    [
        ({"HEADRACE_STORE_ENCRYPTION": "yes"}, "not {kek_ref, key_id}"),
        (environment("KEKS"), "kek_ref is file:PATH or env:NAME"),
        (environment("env:KEKS"), "env:KEKS has no key 'k2'"),
        (environment("env:KEKS", "k3", KEKS=RING), "has no key 'k3'"),
        (environment("env:KEKS", KEKS="k2:****"), "key 'k2' is not base64"),
        (environment("env:KEKS", KEKS="k2:AAAA"), "key 'k2' has 3 bytes, not 32"),
        (environment("file:/nowhere/keks"), "file:/nowhere/keks cannot be read"),
    ],
)
def test_a_setting_that_cannot_be_used_stops_the_start_by_name(
    variables: dict[str, str], said: str
) -> None:
    with pytest.raises(SettingsError) as stopped:
        from_environment(variables)

    assert str(stopped.value).startswith("HEADRACE_STORE_ENCRYPTION: ")
    assert said in str(stopped.value)


def test_keys_must_not_lie_beside_what_they_protect(tmp_path: Path) -> None:
    (tmp_path / "keks").write_text(RING)
    variables = environment(f"file:{tmp_path}/keks", HEADRACE_STATE_DIR=str(tmp_path))

    with pytest.raises(SettingsError, match="must not lie beside"):
        from_environment(variables)
