"""What a person reads after the first start: where to sign in and what to paste."""

from __future__ import annotations

from controlplane.cli.bootstrapping import Bootstrapped

CURL = """\
  curl {base_url}/v1/messages -H 'content-type: application/json' \\
    -H 'anthropic-version: 2023-06-01' -H "x-api-key: ${{ANTHROPIC_API_KEY:-simulated}}" \\
    -H 'x-context-guru-token: {key}' -d '{body}'
"""
BODY = '{"model":"claude-sonnet-5","max_tokens":64,"messages":[{"role":"user","content":"Hello"}]}'
SIMULATED = "simulated here, costs nothing; choose a real one on the tenant's page"
BEFORE = "(as before; bootstrap --rotate makes a new one)"


def block(made: Bootstrapped, base_url: str, *, is_simulated: bool = False) -> str:
    """Sign-in, key, and a request of three lines. Secrets that are not new are named, not shown.

    is_simulated: the tenant's requests go to the simulated provider.
    """
    lines = [
        "",
        f"  Headrace     {base_url}/",
        f"  Sign in as   {made.email}",
        f"  Password     {made.password or BEFORE}",
        f"  Tenant       {made.tenant}",
        f"  Key          {made.data_plane_key or BEFORE}",
        f"  API token    {made.api_token or BEFORE}",
        *([f"  Provider     {SIMULATED}"] if is_simulated else []),
        "",
    ]
    if made.data_plane_key:
        request = CURL.format(base_url=base_url, key=made.data_plane_key, body=BODY)
        lines += ["  Your first request through the gateway:", "", request]
    return "\n".join(lines)


def reminder(email: str, base_url: str) -> str:
    """What later starts print."""
    return f"\n  Headrace     {base_url}/\n  Sign in as   {email}\n"
