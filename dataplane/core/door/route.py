"""Which address means what (03-proxy-and-recovery.md 1.1).

The path carries only the dialect; which upstream serves it is the tenant's configuration.
"""

from __future__ import annotations

import re
from typing import NamedTuple
from urllib.parse import quote, unquote

from dataplane.core.door.misspelt import BARE, meant
from dataplane.core.wire.message import Dialect

_FAMILIES = ("anthropic", "openai")
_MESSAGES, _CHAT, _RESPONSES = "/v1/messages", "/v1/chat/completions", "/v1/responses"
_SHAPED = {
    ("anthropic", _MESSAGES): Dialect.ANTHROPIC,
    ("openai", _CHAT): Dialect.OPENAI_CHAT,
    ("bob", _CHAT): Dialect.OPENAI_CHAT,
    ("openai", _RESPONSES): Dialect.OPENAI_RESPONSES,
}
_NAMED = {
    _MESSAGES: "messages",
    _MESSAGES + "/count_tokens": "count_tokens",
    _CHAT: "chat_completions",
    _RESPONSES: "responses",
    "/v1/models": "models",
    "/v1/embeddings": "embeddings",
}
_OTHERS = "passthrough"
_SHOWN = 200  # characters of an address
NAMES = (*_NAMED.values(), _OTHERS)
_CREATES_RESPONSES = frozenset((_RESPONSES, _RESPONSES + "/input_tokens", _RESPONSES + "/compact"))
_STATELESS = _CREATES_RESPONSES | {
    _MESSAGES,
    _MESSAGES + "/count_tokens",
    _CHAT,
    "/v1/embeddings",
}
_BASE = re.compile(r"(?:/t/(?!cg_)[^/]+)?(?:/(?:anthropic|openai|inference))?(?:/v1)?/?")
_FETCHED = re.compile(
    r"/v1/responses/(?P<response>[^/]+)(?:/cancel|/input_items)?|/v1/conversations/[^/]+/items"
)
_MODELS = re.compile(r"/v1/models(?:/[A-Za-z0-9._:@-]+)?")
OWN_PREFIX = "cg_"


class Route(NamedTuple):
    """A provider route. family: the name under which a tenant chooses its upstream.

    dialect: set when the pipeline runs on this route. path: at the upstream. slug: tenant slug
    that the address narrows to, "" for none. name: a closed set, for labels and logs.
    """

    name: str
    family: str
    path: str
    dialect: Dialect | None
    slug: str = ""

    @property
    def may_be_large(self) -> bool:
        """The provider's own compaction of a conversation, which may be the whole of it."""
        return self.path == _RESPONSES + "/compact"

    @property
    def is_about_a_response(self) -> bool:
        """The body may go on with a response, to have it counted or compacted."""
        return self.family == "openai" and self.path in _CREATES_RESPONSES and not self.dialect

    @property
    def is_fetched(self) -> bool:
        """What the provider kept is read or ended: a response, or what a conversation holds."""
        is_kept = self.family == "openai" and self.path not in _CREATES_RESPONSES
        return is_kept and _FETCHED.fullmatch(self.path) is not None

    @property
    def fetched(self) -> str:
        """The id of the response that is fetched, "" where it is none."""
        found = _FETCHED.fullmatch(self.path) if self.is_fetched else None
        return unquote(found["response"] or "") if found else ""

    def of(self, response: str) -> Route:
        """The same route for another response."""
        start = len(_RESPONSES) + 1
        rest = self.path[start:].partition("/")
        return self._replace(path=f"{_RESPONSES}/{quote(response, safe='')}{rest[1]}{rest[2]}")

    @property
    def names_stored_state(self) -> bool:
        """The body may name what the provider stored earlier."""
        return self.path in _STATELESS

    def is_open_to_all(self, method: str) -> bool:
        """False where the provider's account, not the request, decides what is seen or changed."""
        if method == "GET":
            return _MODELS.fullmatch(self.path) is not None and ".." not in self.path
        return method == "POST" and self.path in _STATELESS

    @property
    def envelope(self) -> str:
        """Whose error envelope the caller understands."""
        return "anthropic" if self.family == "anthropic" else "openai"


class RouteError(ValueError):
    """The address is refused; the argument is the name of the refusal.

    envelope: whose error envelope the caller understands, "" where the address does not tell.
    detail: what else the caller is told.
    """

    def __init__(self, name: str, *, envelope: str = "", detail: str = "") -> None:
        super().__init__(name)
        self.envelope = envelope
        self.detail = detail


# First segments of the paths that belong to the data plane (03 §1).
FIRST_SEGMENTS = frozenset(
    {"v1", "anthropic", "openai", "inference", "t"}  # provider routes
    | {"compact", "expand", "stats", "metrics", "healthz", "readyz", "debug"}
    | BARE  # of a client whose base URL lacks the version, which is told so
)


def is_data_plane(method: str, path: str) -> bool:
    """Where pages are served beside it; a probe of the base address always is the data plane's."""
    if path == "/" and method in {"HEAD", "OPTIONS"}:
        return True
    return path.lstrip("/").partition("/")[0] in FIRST_SEGMENTS


def is_base(path: str) -> bool:
    """True for an address that clients put their routes behind; agents probe it by itself."""
    return _BASE.fullmatch(path) is not None


def match(path: str, *, method: str, is_anthropic: bool) -> Route:
    """The route of an address. Raises RouteError.

    path: as the client spelt it, percent escapes included; it goes on in the same spelling.
    is_anthropic: the request carries `anthropic-version`, which decides for bare addresses that
    both families have.
    """
    found = _route(path, is_anthropic=is_anthropic)
    if found.name == _OTHERS and (right := meant(path)) is not None:
        envelope = _route(right.path, is_anthropic=is_anthropic).envelope
        detail = f"{method} {right.path[:_SHOWN]} is meant: {right.change}."
        raise RouteError("wrong_base_url", envelope=envelope, detail=detail)
    if not found.path.startswith("/v1/"):
        named = path != found.path and not found.slug
        raise RouteError("not_found", envelope=found.envelope if named else "")
    if found.dialect is not None and method != "POST":
        raise RouteError("method_not_allowed", envelope=found.envelope)
    return found


def _route(path: str, *, is_anthropic: bool) -> Route:
    """Whatever the address would be, misspelt or not. Raises RouteError for a key in it."""
    slug, path = _narrowed(path)
    family, path = _family(path, is_anthropic=is_anthropic)
    dialect = _SHAPED.get((family, path))
    return Route(_NAMED.get(path, _OTHERS), family, path, dialect, slug)


def _narrowed(path: str) -> tuple[str, str]:
    written = unquote(path)
    if OWN_PREFIX in written and any(p.startswith(OWN_PREFIX) for p in written.split("/")):
        raise RouteError("token_in_url")
    if not path.startswith("/t/"):
        return "", path
    slug, slash, rest = path[len("/t/") :].partition("/")
    if not slug or not slash:
        raise RouteError("not_found")
    return slug, "/" + rest


def _family(path: str, *, is_anthropic: bool) -> tuple[str, str]:
    for family in _FAMILIES:
        if path.startswith(f"/{family}/"):
            return family, path[len(family) + 1 :]
    if path.startswith("/inference/"):
        return "bob", path[len("/inference") :]
    if _is_under(path, _MESSAGES):
        return "anthropic", path
    if path == _CHAT or _is_under(path, _RESPONSES):
        return "openai", path
    return ("anthropic" if is_anthropic else "openai"), path


def _is_under(path: str, place: str) -> bool:
    return path == place or path.startswith(place + "/")
