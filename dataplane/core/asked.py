"""What a request says outside its body."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from dataplane.core.session.lineage import MAIN, Prints
from dataplane.core.session.naming import ONLY_IDS, SessionKeys
from dataplane.core.session.resend import FREE, Restraint
from dataplane.core.wire.message import Dialect


class Asked(NamedTuple):
    """What a request says outside its body.

    at: seconds, the instant that everything in this request is decided by. force_model: the
    operator's model for the whole process, "" for none. stays_here: the result goes back to the
    caller and not to a provider, so nothing is declared in it and no turn of the agent is counted.
    restraint: what a session of the tenant must not send, because a provider refused it.
    thread_of: which lineage of such a session a history continues. Both are asked by
    Scope.session_key. keys: what may name a session
    on this node. shapes_parts: of a conversation whose history the provider holds, too. captures:
    the tenant agreed that changed texts are kept. window_of: input tokens that a model takes, 0 for
    unknown.
    """

    dialect: Dialect
    tenant: str = ""
    principal: str = ""
    at: float = 0.0
    session_header: str = ""
    agent_header: str = ""
    wants_bypass: bool = False
    is_encoded: bool = False
    force_model: str = ""
    stays_here: bool = False
    restraint: Callable[[str], Restraint] = lambda _: FREE
    thread_of: Callable[[str, Prints], str] = lambda _, __: MAIN
    keys: SessionKeys = ONLY_IDS
    shapes_parts: bool = False
    captures: bool = False
    window_of: Callable[[str], int] = lambda _: 0
