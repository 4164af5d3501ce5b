"""What the control plane takes from the environment: the only reader of os.environ in it."""

from __future__ import annotations

import base64
import os
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from controlplane.data_dir import DATABASE_URL, data_dir_of
from dataplane.files import private_file, private_folder
from dataplane.settings import SettingsError, log_level, trusted_proxies

DEFAULT_BIND = "127.0.0.1:8000"
SEALING_KEY_BYTES = 32
LONGEST_KEY_ID = 32
LOOPBACK = ("localhost", "127.0.0.1", "::1")
SECOND_FACTOR = ("auto", "required", "optional")
_PORTS = range(1 << 16)
WILDCARDS = ("0.0.0.0", "::", "")  # noqa: S104  compared with, never bound here


@dataclass(frozen=True, slots=True)
class Environment:
    """data_dir: absolute. base_url: how people and agents reach us. upstreams: dialect to URL.

    outbound_ports: besides 443. secret_keys: (id, 32 bytes) that seal what we hold, the first
    seals and all open. celery_broker: where jobs are queued, "" for this process. node_token:
    what nodes elsewhere report with, "" for none. telemetry_max_bytes: of the telemetry database.
    channel_redis: URL over which several processes wake each other's live streams. second_factor:
    whether admins and managers owe one. trusted_proxies: networks whose X-Forwarded-For counts.
    capture_content: whether text of conversations may be kept at all.
    """

    data_dir: Path
    bind: str
    base_url: str
    secret_key: str
    allowed_hosts: tuple[str, ...]
    debug: bool
    log_level: str
    admin_email: str
    admin_password: str | None
    upstreams: Mapping[str, str]
    allow_insecure_upstreams: bool
    outbound_ports: frozenset[int]
    secret_keys: tuple[tuple[str, bytes], ...]
    celery_broker: str = ""
    node_token: str = ""
    telemetry_max_bytes: int = 5 << 30
    channel_redis: str = ""
    database_url: str = field(default="", repr=False)
    telemetry_database_url: str = field(default="", repr=False)
    second_factor: str = "auto"
    trusted_proxies: tuple[str, ...] = ()
    capture_content: bool = False

    @property
    def host(self) -> str:
        return self.bind.rpartition(":")[0].strip("[]") or "127.0.0.1"

    @property
    def port(self) -> int:
        return int(self.bind.rpartition(":")[2])

    @property
    def demands_second_factor(self) -> bool:
        """By itself where people come from elsewhere than this machine."""
        if self.second_factor == "auto":
            return (urlsplit(self.base_url).hostname or "") not in LOOPBACK
        return self.second_factor == "required"

    @property
    def is_https(self) -> bool:
        return self.base_url.startswith("https://")


def read(env: Mapping[str, str]) -> Environment:
    """Everything below HEADRACE_; creates the data directory and the keys if absent.

    SettingsError names the variable that is wrong, or the data directory that cannot be used.
    """
    data_dir = data_dir_of(env)
    try:
        private_folder(data_dir)
        return _read(env, data_dir)
    except OSError as problem:
        raise SettingsError(f"HEADRACE_DATA_DIR cannot be used: {problem}") from problem


def _read(env: Mapping[str, str], data_dir: Path) -> Environment:
    bind = checked_bind(env.get("HEADRACE_BIND") or DEFAULT_BIND)
    base_url = (env.get("HEADRACE_BASE_URL") or default_base_url(bind)).rstrip("/")
    return Environment(
        data_dir=data_dir,
        bind=bind,
        base_url=base_url,
        secret_key=env.get("HEADRACE_SECRET_KEY") or kept_secret(data_dir / "secret_key"),
        allowed_hosts=allowed_hosts(bind, base_url, env.get("HEADRACE_ALLOWED_HOSTS", "")),
        debug=env.get("HEADRACE_DEBUG") == "1",
        log_level=log_level(env),
        admin_email=(env.get("HEADRACE_ADMIN_EMAIL") or "admin@localhost").lower(),
        admin_password=env.get("HEADRACE_ADMIN_PASSWORD") or None,
        upstreams=pairs(env.get("HEADRACE_UPSTREAMS", "")),
        allow_insecure_upstreams=env.get("HEADRACE_ALLOW_INSECURE_UPSTREAMS") == "1",
        outbound_ports=ports(env.get("HEADRACE_OUTBOUND_PORTS", "")),
        secret_keys=sealing_keys(
            env.get("HEADRACE_SECRET_KEYS") or kept_secret(data_dir / "secret_keys", new_key)
        ),
        celery_broker=env.get("HEADRACE_CELERY_BROKER", ""),
        channel_redis=env.get("HEADRACE_CHANNEL_REDIS", ""),
        database_url=env.get(DATABASE_URL, ""),
        telemetry_database_url=env.get("HEADRACE_TELEMETRY_DATABASE_URL", ""),
        node_token=env.get("HEADRACE_NODE_TOKEN", ""),
        second_factor=one_of(SECOND_FACTOR, env, "HEADRACE_SECOND_FACTOR"),
        trusted_proxies=trusted_proxies(env),
        capture_content=env.get("HEADRACE_CAPTURE_CONTENT") == "1",
        telemetry_max_bytes=whole_number(env, "HEADRACE_TELEMETRY_MAX_BYTES", 5 << 30),
    )


def from_process() -> Environment:
    return read(os.environ)


def checked_bind(text: str) -> str:
    """An address and a port with a colon between them, or no address for this machine."""
    port = text.rpartition(":")[2]
    if ":" not in text or not port.isdecimal() or int(port) not in _PORTS:
        raise SettingsError(f"HEADRACE_BIND is of the form address:port, not {text!r}.")
    return text


def whole_number(env: Mapping[str, str], name: str, default: int) -> int:
    text = env.get(name) or str(default)
    if not text.isdecimal():
        raise SettingsError(f"{name} must be a whole number, not {text!r}.")
    return int(text)


def default_base_url(bind: str) -> str:
    host, _, port = bind.rpartition(":")
    return f"http://127.0.0.1:{port}" if host.strip("[]") in WILDCARDS else f"http://{bind}"


def allowed_hosts(bind: str, base_url: str, more: str) -> tuple[str, ...]:
    """Loopback, the bound host, the public one, and a comma-separated list of others."""
    bound = bind.rpartition(":")[0]
    public = urlsplit(base_url).hostname or ""
    names = ["localhost", "127.0.0.1", "[::1]", bound, public, *more.split(",")]
    wanted = [name.strip() for name in names]
    return tuple(dict.fromkeys(name for name in wanted if name.strip("[]") not in WILDCARDS))


def pairs(text: str) -> dict[str, str]:
    """ "anthropic=https://…,openai=https://…" as a map; SettingsError for a part without "="."""
    found = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, equals, value = part.partition("=")
        if not equals or not value:
            raise SettingsError(f"HEADRACE_UPSTREAMS: {part!r} is not of the form dialect=URL.")
        found[name.strip()] = value.strip()
    return found


def ports(text: str) -> frozenset[int]:
    """ "8443,9443" as numbers; SettingsError for a part that is none."""
    parts = [part.strip() for part in text.split(",") if part.strip()]
    for part in parts:
        if not part.isdecimal() or int(part) not in _PORTS:
            raise SettingsError(f"HEADRACE_OUTBOUND_PORTS: {part!r} is no port.")
    return frozenset(map(int, parts))


def one_of(words: Sequence[str], env: Mapping[str, str], name: str) -> str:
    """The variable's value, the first word where it is unset; SettingsError for another word."""
    found = env.get(name) or words[0]
    if found not in words:
        raise SettingsError(f"{name} is one of {', '.join(words)}, not {found!r}.")
    return found


def sealing_keys(text: str) -> tuple[tuple[str, bytes], ...]:
    """ "id:base64,…" as (id, 32 bytes); SettingsError names a wrong part, never its key."""
    found = tuple(_sealing_key(part.strip()) for part in text.split(",") if part.strip())
    if len({key_id for key_id, _ in found}) != len(found):
        raise SettingsError("HEADRACE_SECRET_KEYS: two keys share an id.")
    return found


def _sealing_key(text: str) -> tuple[str, bytes]:
    key_id, colon, encoded = text.partition(":")
    if not colon:
        raise SettingsError("HEADRACE_SECRET_KEYS: a key has no id before it; write id:base64.")
    try:
        key = base64.b64decode(encoded, validate=True)
    except ValueError:
        key = b""
    if not key_id or len(key_id) > LONGEST_KEY_ID or len(key) != SEALING_KEY_BYTES:
        raise SettingsError(
            f"HEADRACE_SECRET_KEYS: {key_id!r} needs 32 bytes in base64 after its id."
        )
    return key_id, key


def new_key() -> str:
    """One sealing key as HEADRACE_SECRET_KEYS spells it; its id tells it from later ones."""
    encoded = base64.b64encode(secrets.token_bytes(SEALING_KEY_BYTES)).decode()
    return f"{secrets.token_hex(4)}:{encoded}"


def new_secret() -> str:
    return secrets.token_urlsafe(48)


def kept_secret(path: Path, make: Callable[[], str] = new_secret) -> str:
    """The secret in the file, made at the first start; two starting processes agree on one."""
    if not path.exists():
        fresh = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
        private_file(fresh).write_text(make())
        try:
            path.hardlink_to(fresh)
        except FileExistsError:
            pass
        finally:
            fresh.unlink()
    return private_file(path).read_text()


def name_settings_module() -> None:
    """Tell Django where its settings are, for a process that nobody told."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "controlplane.settings")
