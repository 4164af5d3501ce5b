"""The container files say what they should, as far as that shows without an engine."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import compose

from tests import house

# The wheel's own console script always exits 0, so its binary is called directly (06 section 4).
DOCKER_COMPOSE = Path(compose.__file__).parent / "docker-compose"


def config(file: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [DOCKER_COMPOSE, "-f", file, "config", "-q"],
        env={"PATH": os.defpath},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_compose_file_is_valid() -> None:
    checked = config(house.ROOT / "docker/compose.yml")

    assert checked.returncode == 0, checked.stderr


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
