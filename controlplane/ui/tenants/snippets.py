"""Lines to paste, so that an agent or a program talks through the gateway with a key.

Each speaks one dialect. What a client's settings are called is its own documentation's; where it
cannot send a header of ours, its text says how it is recognised instead (03 §1.3).
"""

from __future__ import annotations

import json
from dataclasses import dataclass

PLACEHOLDER = "cg_live_\N{HORIZONTAL ELLIPSIS}"
HEADER = "x-context-guru-token"
MODEL = {"anthropic": "claude-sonnet-5", "openai": "gpt-5"}


@dataclass(frozen=True, slots=True)
class Snippet:
    """key: a name for the element that holds it. where: the file or the place that it goes to."""

    key: str
    where: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """An agent or a package. note: what else has to be known, one sentence each."""

    key: str
    title: str
    dialect: str
    lines: tuple[Snippet, ...]
    notes: tuple[str, ...] = ()


def clients(base_url: str, key: str = PLACEHOLDER) -> tuple[Client, ...]:
    """Everything that the Connect page knows how to set up, agents first."""
    return (
        _claude_code(base_url, key),
        _codex(base_url, key),
        _opencode(base_url, key),
        _cline(base_url, key),
        _anthropic_python(base_url, key),
        _anthropic_typescript(base_url, key),
        _openai_python(base_url, key),
        _openai_typescript(base_url, key),
        _langchain(base_url, key),
        _curl(base_url, key),
    )


def claude_code(base_url: str, key: str = PLACEHOLDER) -> Snippet:
    return Snippet(
        "setup-claude-code",
        "shell",
        f"export ANTHROPIC_BASE_URL={base_url}/anthropic\n"
        f'export ANTHROPIC_CUSTOM_HEADERS="{HEADER}: {key}"\n'
        "claude",
    )


def _claude_code(base_url: str, key: str) -> Client:
    return Client(
        key="claude-code",
        title="Claude Code",
        dialect="anthropic",
        lines=(claude_code(base_url, key),),
        notes=(
            "Works with an API key and with a subscription: either is passed through.",
            "To keep them, put them under “env” in ~/.claude/settings.json.",
            "Releases that switch tool search off behind another address than Anthropic's keep it "
            "with ENABLE_TOOL_SEARCH=true.",
            "CLAUDE_CODE_ATTRIBUTION_HEADER=0 leaves out a line of the system prompt that differs "
            "from session to session, so that sessions share a cached prompt.",
        ),
    )


def _codex(base_url: str, key: str) -> Client:
    text = (
        'model_provider = "headrace"\n\n'
        "[model_providers.headrace]\n"
        'name = "Headrace"\n'
        f'base_url = "{base_url}/openai/v1"\n'
        'wire_api = "responses"\n'
        'env_key = "OPENAI_API_KEY"\n'
        f'http_headers = {{ "{HEADER}" = "{key}" }}'
    )
    return Client(
        key="codex",
        title="Codex CLI",
        dialect="openai",
        lines=(Snippet("setup-codex", "~/.codex/config.toml", text),),
        notes=(
            "It reads its own key from OPENAI_API_KEY; a ChatGPT sign-in is not used here.",
            f'To keep the key out of the file: env_http_headers = {{ "{HEADER}" = '
            '"HEADRACE_KEY" }, and the key in that variable.',
            "Leave supports_websockets out: the attempt is refused, and it goes on over HTTP.",
        ),
    )


def _opencode(base_url: str, key: str) -> Client:
    options = {"baseURL": f"{base_url}/anthropic/v1", "headers": {HEADER: key}}
    text = json.dumps({"provider": {"anthropic": {"options": options}}}, indent=2)
    return Client(
        key="opencode",
        title="OpenCode",
        dialect="anthropic",
        lines=(Snippet("setup-opencode", "opencode.json", _shown(text)),),
        notes=(f"For OpenAI models the same under “openai”, with {base_url}/openai/v1.",),
    )


def _cline(base_url: str, key: str) -> Client:
    text = (
        "API Provider      OpenAI Compatible\n"
        f"Base URL          {base_url}/openai/v1\n"
        "API Key           your own key of the provider\n"
        "Model ID          a model of the provider\n"
        f"Custom Headers    {HEADER}: {key}"
    )
    return Client(
        key="cline",
        title="Cline",
        dialect="openai",
        lines=(Snippet("setup-cline", "Settings, API Configuration", text),),
        notes=(
            "Its Anthropic provider takes a custom base URL, "
            f"{base_url}/anthropic, but no header. Bind the Anthropic key that it uses to the "
            "tenant, under Agent keys; or, where Headrace holds the provider's key, put the key "
            "above into API Key.",
        ),
    )


def _anthropic_python(base_url: str, key: str) -> Client:
    return Client(
        key="anthropic-python",
        title="anthropic, Python",
        dialect="anthropic",
        lines=(_python("anthropic", "Anthropic", f"{base_url}/anthropic", key),),
        notes=("ANTHROPIC_API_KEY stays the caller's own.",),
    )


def _openai_python(base_url: str, key: str) -> Client:
    return Client(
        key="openai-python",
        title="openai, Python",
        dialect="openai",
        lines=(_python("openai", "OpenAI", f"{base_url}/openai/v1", key),),
        notes=("OPENAI_API_KEY stays the caller's own.",),
    )


def _python(package: str, name: str, address: str, key: str) -> Snippet:
    return Snippet(
        f"setup-{package}-python",
        "Python",
        f'import {package}\n\nclient = {package}.{name}(\n    base_url="{address}",\n'
        f'    default_headers={{"{HEADER}": "{key}"}},\n)',
    )


def _anthropic_typescript(base_url: str, key: str) -> Client:
    lines = _typescript("Anthropic", "@anthropic-ai/sdk", f"{base_url}/anthropic", key)
    return Client(
        key="anthropic-typescript",
        title="anthropic, TypeScript",
        dialect="anthropic",
        lines=(lines,),
        notes=("ANTHROPIC_API_KEY stays the caller's own.",),
    )


def _openai_typescript(base_url: str, key: str) -> Client:
    lines = _typescript("OpenAI", "openai", f"{base_url}/openai/v1", key)
    return Client(
        key="openai-typescript",
        title="openai, TypeScript",
        dialect="openai",
        lines=(lines,),
        notes=("OPENAI_API_KEY stays the caller's own.",),
    )


def _typescript(name: str, package: str, address: str, key: str) -> Snippet:
    return Snippet(
        f"setup-{name.lower()}-typescript",
        "TypeScript",
        f'import {name} from "{package}";\n\nconst client = new {name}({{\n'
        f'  baseURL: "{address}",\n  defaultHeaders: {{ "{HEADER}": "{key}" }},\n}});',
    )


def _langchain(base_url: str, key: str) -> Client:
    anthropic = _chat_model("anthropic", "ChatAnthropic", f"{base_url}/anthropic", key)
    openai = _chat_model("openai", "ChatOpenAI", f"{base_url}/openai/v1", key)
    return Client(
        key="langchain",
        title="LangChain",
        dialect="anthropic",
        lines=(anthropic, openai),
        notes=("The second one speaks the OpenAI dialect and takes an upstream for it.",),
    )


def _chat_model(provider: str, name: str, address: str, key: str) -> Snippet:
    return Snippet(
        f"setup-langchain-{provider}",
        f"Python, langchain-{provider}",
        f"from langchain_{provider} import {name}\n\nmodel = {name}(\n"
        f'    model="{MODEL[provider]}",\n    base_url="{address}",\n'
        f'    default_headers={{"{HEADER}": "{key}"}},\n)',
    )


def _curl(base_url: str, key: str) -> Client:
    text = (
        f"curl {base_url}/anthropic/v1/messages \\\n"
        f"  -H '{HEADER}: {key}' \\\n"
        '  -H "x-api-key: $ANTHROPIC_API_KEY" \\\n'
        "  -H 'anthropic-version: 2023-06-01' -H 'content-type: application/json' \\\n"
        f'  -d \'{{"model": "{MODEL["anthropic"]}", "max_tokens": 64, '
        '"messages": [{"role": "user", "content": "Hello"}]}\''
    )
    return Client(
        key="curl",
        title="curl",
        dialect="anthropic",
        lines=(Snippet("setup-curl", "shell", text),),
    )


def _shown(text: str) -> str:
    """JSON with the ellipsis of the placeholder as itself."""
    return text.replace("\\u2026", "\N{HORIZONTAL ELLIPSIS}")
