"""A refusal of the simulated provider, before a dialect has spelled it."""

from __future__ import annotations

SERVER_FAULT = 500


class ProviderError(Exception):
    """The request is refused. kind: error type as the provider names it, by default the one that
    goes with the status; param and code are OpenAI's.
    """

    def __init__(
        self,
        message: str,
        *,
        status: int = 400,
        kind: str | None = None,
        param: str | None = None,
        code: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.status = status
        self.kind = kind
        self.param = param
        self.code = code


class ScriptError(ProviderError):
    """The script, not the request, is wrong: answered 500, so that no gateway repairs it."""

    def __init__(self, message: str) -> None:
        super().__init__(message, status=SERVER_FAULT, kind="simulator_script_error")
