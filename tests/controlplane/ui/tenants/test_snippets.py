"""The lines of the Connect page against a running gateway (04 §5.13).

What can run here runs: the Python clients and curl. Of the others the settings are read as their
client reads them, and sent to the address that it makes of them.
"""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from controlplane.ui.tenants.snippets import MODEL, Client, clients
from tests.dataplane.gateway import TA, Gateway, gateway, tenants
from tests.patience import PATIENCE_S, until

CHAT = {"model": MODEL["openai"], "messages": [{"role": "user", "content": "Hello"}]}
HELLO: list[Any] = [{"role": "user", "content": "Hello"}]
OWN_KEYS = {"ANTHROPIC_API_KEY": "sk-ant-own", "OPENAI_API_KEY": "sk-own"}


def client_of(base_url: str, name: str) -> Client:
    return next(each for each in clients(base_url, TA) if each.key == name)


def lines(base_url: str, name: str, number: int = 0) -> str:
    return client_of(base_url, name).lines[number].text


async def arrived(running: Gateway) -> int:
    """Requests that the tenant of the key has made, once what was answered is counted."""
    await until(lambda: not running.node.door.inflight)
    found: int = running.stats()["requests"]
    return found


# ---- what runs here ---------------------------------------------------------------------------


def with_anthropic(text: str) -> None:
    made: dict[str, Any] = {}
    exec(text, made)  # noqa: S102  the lines are what is tested
    # A model that its package calls deprecated is a warning, and so a failure here.
    made["client"].messages.create(model=MODEL["anthropic"], max_tokens=9, messages=HELLO)


def with_openai(text: str) -> None:
    made: dict[str, Any] = {}
    exec(text, made)  # noqa: S102
    made["client"].chat.completions.create(model=MODEL["openai"], messages=HELLO)


def with_a_shell(text: str) -> None:
    ran = subprocess.run(
        ["/bin/sh", "-c", f"set -eu\n{text} --fail --silent --show-error"],
        check=False, capture_output=True, text=True, timeout=PATIENCE_S,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout)["type"] == "message"


@pytest.mark.parametrize(
    ("name", "run"),
    [
        ("anthropic-python", with_anthropic),
        ("openai-python", with_openai),
        ("curl", with_a_shell),
    ],
)
async def test_the_lines_run_as_they_are_pasted(
    tmp_path: Path,
    simulator: Any,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    run: Callable[[str], None],
) -> None:
    for variable, value in OWN_KEYS.items():
        monkeypatch.setenv(variable, value)
    async with gateway(tmp_path, tenants(), simulator.url) as running:
        await asyncio.to_thread(run, lines(running.url, name))

        assert await arrived(running) == 1
    (sent,) = simulator.requests
    own = {
        value for slot, value in sent.headers if slot.lower() in (b"x-api-key", b"authorization")
    }
    assert any(value.removeprefix(b"Bearer ").startswith(b"sk-") for value in own)
    assert TA.encode() not in b"".join(value for _, value in sent.headers)


# ---- what is read as its client reads it ------------------------------------------------------


def claude_code(text: str) -> tuple[str, dict[str, str]]:
    """Variables of the shell; the header's is "Name: Value", the package adds /v1/messages."""
    found = dict(re.findall(r'export (\w+)="?([^"\n]+)"?', text))
    name, _, value = found["ANTHROPIC_CUSTOM_HEADERS"].partition(": ")
    return f"{found['ANTHROPIC_BASE_URL']}/v1/messages", {name: value}


def codex(text: str) -> tuple[str, dict[str, str]]:
    """TOML; the Responses API is at base_url + /responses."""
    settings = tomllib.loads(text)
    provider = settings["model_providers"][settings["model_provider"]]
    assert provider["wire_api"] == "responses"
    return f"{provider['base_url']}/responses", provider["http_headers"]


def opencode(text: str) -> tuple[str, dict[str, str]]:
    """JSON; the AI SDK adds /messages to the base."""
    options = json.loads(text)["provider"]["anthropic"]["options"]
    return f"{options['baseURL']}/messages", options["headers"]


def cline(text: str) -> tuple[str, dict[str, str]]:
    """Fields of a form; the OpenAI package behind it adds /chat/completions."""
    found = dict(re.findall(r"^(.+?) {2,}(.+)$", text, re.MULTILINE)) | dict(
        re.findall(r"^(Custom Headers) +(.+)$", text, re.MULTILINE)
    )
    name, _, value = found["Custom Headers"].partition(": ")
    return f"{found['Base URL']}/chat/completions", {name: value}


def typescript(path: str) -> Callable[[str], tuple[str, dict[str, str]]]:
    def read(text: str) -> tuple[str, dict[str, str]]:
        (base,) = re.findall(r'baseURL: "([^"]+)"', text)
        ((name, value),) = re.findall(r'defaultHeaders: \{ "([^"]+)": "([^"]+)" \}', text)
        return f"{base}{path}", {name: value}

    return read


def langchain(path: str) -> Callable[[str], tuple[str, dict[str, str]]]:
    def read(text: str) -> tuple[str, dict[str, str]]:
        compile(text, "snippet", "exec")
        (base,) = re.findall(r'base_url="([^"]+)"', text)
        ((name, value),) = re.findall(r'default_headers=\{"([^"]+)": "([^"]+)"\}', text)
        return f"{base}{path}", {name: value}

    return read


Read = Callable[[str], tuple[str, dict[str, str]]]
MESSAGES = {"model": MODEL["anthropic"], "max_tokens": 9, "messages": HELLO}


@pytest.mark.parametrize(
    ("name", "number", "read", "body"),
    [
        ("claude-code", 0, claude_code, MESSAGES),
        ("codex", 0, codex, {"model": MODEL["openai"], "input": "Hello"}),
        ("opencode", 0, opencode, MESSAGES),
        ("cline", 0, cline, CHAT),
        ("anthropic-typescript", 0, typescript("/v1/messages"), MESSAGES),
        ("openai-typescript", 0, typescript("/chat/completions"), CHAT),
        ("langchain", 0, langchain("/v1/messages"), MESSAGES),
        ("langchain", 1, langchain("/chat/completions"), CHAT),
    ],
)
async def test_the_settings_lead_to_the_tenant(
    tmp_path: Path, simulator: Any, name: str, number: int, read: Read, body: dict[str, Any]
) -> None:
    async with (
        gateway(tmp_path, tenants(), simulator.url) as running,
        httpx.AsyncClient(trust_env=False, timeout=PATIENCE_S) as http,
    ):
        address, headers = read(lines(running.url, name, number))
        own = {"x-api-key": "sk-own", "authorization": "Bearer sk-own"}
        answer = await http.post(address, json=body, headers={**own, **headers})

        assert (answer.status_code, await arrived(running)) == (200, 1), answer.text


def test_every_client_of_the_page_is_tried() -> None:
    tried = {"anthropic-python", "openai-python", "curl", "claude-code", "codex", "opencode",
             "cline", "anthropic-typescript", "openai-typescript", "langchain"}  # fmt: skip

    assert {client.key for client in clients("https://gate.example", TA)} == tried
