"""What a Responses request fixed for its answer, which repeats most of it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Terms:
    """stores: the provider keeps the response. declared: the recovery tool was added to the
    request, so a response that repeats its tools must not name it. answers: a call of ours can be
    answered; else it is only taken out. continued: the response that the request goes on with, by
    its own id and by the one that the client knows.
    """

    stores: bool = True
    declared: bool = False
    answers: bool = True
    continued: tuple[str, str] | None = None


PLAIN = Terms()
