"""The agents, set up with what the page Connect says, and how each is asked one thing and ends."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from controlplane.ui.tenants.snippets import clients
from tests import house

PROGRAMS = house.ROOT / ".venv/agents/node_modules/.bin"
PROVIDER_KEY = "sk-test-of-the-agent"


@dataclass(frozen=True, slots=True)
class Agent:
    """tool: what runs a command, and its argument that takes one. set_up: writes what belongs into
    the agent's home and working folder, given the gateway's address and the tenant's key; says
    what stands in its environment.
    """

    name: str
    command: tuple[str, ...]
    tool: str
    argument: str
    set_up: Callable[[Path, str, str], Mapping[str, str]]

    def calls(self, command: str) -> dict[str, object]:
        """The model's call of its tool, as a block of a script."""
        given = {self.argument: command, "description": "asked by a test"}
        if self.argument == "cmd":
            given.pop("description")
        return {"type": "tool_use", "name": self.tool, "input": given}


def lines_of(client: str, url: str, key: str) -> str:
    """What Connect tells the people of that client to paste."""
    found = next(each for each in clients(url, key) if each.key == client)
    return found.lines[0].text


def claude_code(home: Path, url: str, key: str) -> Mapping[str, str]:
    exports = re.findall(r'^export (\w+)="?(.*?)"?$', lines_of("claude-code", url, key), re.M)
    quiet = {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1"}
    # IS_SANDBOX: it refuses to run tools unasked as root anywhere else.
    return {**dict(exports), **quiet, "ANTHROPIC_API_KEY": PROVIDER_KEY, "IS_SANDBOX": "1"}


CODEX_FOR_A_TEST = """
model = "gpt-5.6"
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false
"""
CODEX_QUIET = "\n[analytics]\nenabled = false\n"


def codex(home: Path, url: str, key: str) -> Mapping[str, str]:
    (home / ".codex").mkdir()
    text = CODEX_FOR_A_TEST + lines_of("codex", url, key) + CODEX_QUIET
    (home / ".codex/config.toml").write_text(text, encoding="utf-8")
    return {"OPENAI_API_KEY": PROVIDER_KEY}


def codex_with_websockets(home: Path, url: str, key: str) -> Mapping[str, str]:
    """As its built-in provider is, which has them."""
    found = codex(home, url, key)
    file = home / ".codex/config.toml"
    name = 'name = "Headrace"\n'
    text = file.read_text(encoding="utf-8").replace(name, name + "supports_websockets = true\n")
    file.write_text(text, encoding="utf-8")
    return found


OPENCODE_FOR_A_TEST = {
    "model": "anthropic/claude-sonnet-5",
    "autoupdate": False,
    "share": "disabled",
    "permission": "allow",
}
OPENCODE_QUIET = ("AUTOUPDATE", "MODELS_FETCH", "LSP_DOWNLOAD", "DEFAULT_PLUGINS", "SHARE")


def opencode(home: Path, url: str, key: str) -> Mapping[str, str]:
    (home / "work/opencode.json").write_text(lines_of("opencode", url, key), encoding="utf-8")
    quiet = {f"OPENCODE_DISABLE_{name}": "1" for name in OPENCODE_QUIET}
    mine = json.dumps(OPENCODE_FOR_A_TEST)
    return {**quiet, "OPENCODE_CONFIG_CONTENT": mine, "ANTHROPIC_API_KEY": PROVIDER_KEY}


AGENTS = (
    Agent(
        "claude-code",
        ("claude", "--dangerously-skip-permissions", "--model", "claude-sonnet-5", "-p"),
        "Bash",
        "command",
        claude_code,
    ),
    Agent("codex", ("codex", "exec", "--skip-git-repo-check"), "exec_command", "cmd", codex),
    Agent("opencode", ("opencode", "run"), "bash", "command", opencode),
)


def environment(home: Path, more: Mapping[str, str]) -> dict[str, str]:
    """Nothing of the user's own: no settings, no sign-in, no proxy."""
    path = os.environ["PATH"]  # noqa: TID251  where node is
    return {"PATH": path, "HOME": str(home), "SHELL": "/bin/bash", "TERM": "dumb", **more}
