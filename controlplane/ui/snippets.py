"""Lines to paste, so that an agent or a program talks through the gateway with a key."""

from __future__ import annotations

from dataclasses import dataclass

PLACEHOLDER = "cg_live_\N{HORIZONTAL ELLIPSIS}"


@dataclass(frozen=True, slots=True)
class Snippet:
    """key: a name for the element that holds it."""

    key: str
    title: str
    text: str


def claude_code(base_url: str, key: str = PLACEHOLDER) -> Snippet:
    return Snippet(
        "setup-claude",
        "Claude Code",
        f"export ANTHROPIC_BASE_URL={base_url}/anthropic\n"
        f'export ANTHROPIC_CUSTOM_HEADERS="x-context-guru-token: {key}"\n'
        "claude",
    )


def snippets(base_url: str, key: str) -> tuple[Snippet, ...]:
    """Ready lines for curl, Claude Code and the two client packages."""
    return (
        _curl(base_url, key),
        claude_code(base_url, key),
        _package(
            "anthropic", "import anthropic", "anthropic.Anthropic", f"{base_url}/anthropic", key
        ),
        _package("openai", "import openai", "openai.OpenAI", f"{base_url}/openai/v1", key),
    )


def _curl(base_url: str, key: str) -> Snippet:
    return Snippet(
        "setup-curl",
        "curl",
        f"curl {base_url}/anthropic/v1/messages \\\n"
        f"  -H 'x-context-guru-token: {key}' \\\n"
        '  -H "x-api-key: $ANTHROPIC_API_KEY" \\\n'
        "  -H 'anthropic-version: 2023-06-01' -H 'content-type: application/json' \\\n"
        '  -d \'{"model": "claude-sonnet-4-5", "max_tokens": 64, '
        '"messages": [{"role": "user", "content": "Hello"}]}\'',
    )


def _package(name: str, load: str, client: str, base_url: str, key: str) -> Snippet:
    return Snippet(
        f"setup-{name}",
        f"{name} package",
        f'{load}\n\nclient = {client}(\n    base_url="{base_url}",\n'
        f'    default_headers={{"x-context-guru-token": "{key}"}},\n)',
    )
