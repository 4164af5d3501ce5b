"""The environment, read once into one frozen value (03 §Appendix A)."""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

from dataplane.core.config.imposed import Imposed
from dataplane.core.session.naming import SessionKeys
from dataplane.core.text.secrets import shown
from dataplane.encryption import EncryptionError, StoreEncryption, encryption_from

_MIB = 1 << 20
PROVIDERS = {"anthropic": "https://api.anthropic.com", "openai": "https://api.openai.com"}
_OFF = ("off", "0", "false")
_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")


class SettingsError(ValueError):
    """A setting that the process must not start with; the message names it."""


class BodyLimits(NamedTuple):
    """maximum: bytes, more are refused. big: bytes from which a body needs a place in memory.

    idle_timeout_s: between two chunks. total_timeout_s: until it is there whole.
    """

    maximum: int
    big: int
    idle_timeout_s: float
    total_timeout_s: float


@dataclass(frozen=True, slots=True)
class SharedStore:
    """The Redis that keeps originals for several nodes, and what it is asked for.

    replicas: how many must have a commit in their append-only file besides it. assume_noeviction:
    the operator vouches for a Redis that does not show its configuration.
    """

    url: str = field(repr=False)
    replicas: int = 0
    assume_noeviction: bool = False
    commit_timeout_ms: int = 1500


@dataclass(frozen=True, slots=True)
class Settings:
    """Sizes in bytes, durations in seconds unless the name says otherwise.

    document: of the only tenant of a node that asks nobody who they are (single-tenant mode), None
    for a node that does; upstreams: dialect to address, for that tenant.
    keepalive: False keeps no idle session's cache alive, whatever documents ask for.
    trusted_proxies: networks whose X-Forwarded-For counts. allowed_hosts: names beside those of the
    loopback by which this machine may be called where being on it is the credential.
    environment: where keys that an upstream names by variable are read when they are needed.
    report_url: of the control plane that is told of every request, "" for none; report_token: the
    credential for that.
    """

    state_dir: Path
    snapshot: Path | None = None
    document: Path | None = None
    upstreams: Mapping[str, str] = field(default_factory=dict)
    bind: str = "127.0.0.1:8000"
    test_clock: bool = False
    metrics_token: str = ""
    log_level: str = "INFO"
    force_model: str = ""
    store_durability: Literal["process", "host"] = "process"
    store_commit_timeout_ms: int = 250
    store_sweep_every_s: float = 60
    store_encryption: StoreEncryption | None = None
    store_redis: SharedStore | None = None
    failpoint: str = ""
    responses_partial: bool = False
    openai_prompt_cache_key: bool = False
    derive: Literal["v1", "v2"] = "v1"
    node_inflight_max: int = 512
    body_max: int = 32 * _MIB
    body_max_compaction: int = 128 * _MIB
    body_idle_timeout_s: float = 30
    body_total_timeout_s: float = 300
    inline_body_max: int = 64 << 10
    connect_timeout_s: float = 5
    first_byte_timeout_s: float = 600
    silence_timeout_s: float = 900
    auth_fail_per_min: int = 10
    big_body_bytes: int = 8 * _MIB
    big_body_slots: int = 16
    keepalive: bool = True
    keepalive_max_sessions: int = 512
    keepalive_max_bytes: int = 128 * _MIB
    report_url: str = ""
    report_token: str = field(default="", repr=False)
    trusted_proxies: tuple[str, ...] = ()
    allowed_hosts: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)

    def secret(self, name: str) -> str | None:
        """A key that the environment holds, as it is now."""
        return self.environment.get(name)

    def body_limits(self, *, compaction: bool) -> BodyLimits:
        """compaction: for a request whose purpose is to make a conversation smaller."""
        return BodyLimits(
            self.body_max_compaction if compaction else self.body_max,
            self.big_body_bytes,
            self.body_idle_timeout_s,
            self.body_total_timeout_s,
        )

    @property
    def shadow_dir(self) -> Path:
        """What mode observe keeps of its projections."""
        return self.state_dir / "shadow"

    @property
    def session_keys(self) -> SessionKeys:
        return SessionKeys(self.openai_prompt_cache_key, with_system=self.derive == "v2")

    @property
    def imposed(self) -> tuple[Imposed, ...]:
        """What is set here above every document, for those who wonder why theirs has no effect."""
        model = str(shown(self.force_model))
        switches = (
            ("HEADRACE_RESPONSES_PARTIAL", self.responses_partial),
            ("HEADRACE_OPENAI_PROMPT_CACHE_KEY", self.openai_prompt_cache_key),
            ("HEADRACE_TEST_CLOCK", self.test_clock),
        )
        found = [Imposed("HEADRACE_FORCE_MODEL", model, "/force_model", model)] if model else []
        if not self.keepalive:
            found.append(Imposed("HEADRACE_KEEPALIVE", "off", "/cache/keepalive", value=False))
        if self.derive != "v1":
            found.append(Imposed("HEADRACE_DERIVE", self.derive))
        return (*found, *(Imposed(name, "1") for name, is_on in switches if is_on))

    @property
    def is_single_tenant(self) -> bool:
        return self.document is not None

    @property
    def config_dir(self) -> Path:
        """What was last good; apart where nobody is asked, so that no other node starts from it."""
        return self.state_dir / ("config-single" if self.is_single_tenant else "config")

    @property
    def binds_loopback(self) -> bool:
        host = self.bind.rpartition(":")[0].strip("[]")
        return host == "localhost" or is_loopback(host)


_COUNTED = (
    "store_commit_timeout_ms",
    "store_sweep_every_s",
    "node_inflight_max",
    "body_max",
    "body_max_compaction",
    "body_idle_timeout_s",
    "body_total_timeout_s",
    "inline_body_max",
    "connect_timeout_s",
    "first_byte_timeout_s",
    "silence_timeout_s",
    "auth_fail_per_min",
    "big_body_bytes",
    "big_body_slots",
    "keepalive_max_sessions",
    "keepalive_max_bytes",
)
# Where 0 means something; elsewhere it would refuse every request, or end every wait at once.
_MAY_BE_ZERO = frozenset(
    (
        "inline_body_max",
        "silence_timeout_s",
        "auth_fail_per_min",
        "keepalive_max_sessions",
        "keepalive_max_bytes",
    )
)
_SWITCHED = ("responses_partial", "openai_prompt_cache_key")


def is_loopback(host: str) -> bool:
    """True for an address of the loopback range; False for names and everything else."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def from_environment(environ: Mapping[str, str] | None = None) -> Settings:
    """Settings from HEADRACE_* variables. Raises SettingsError for what must not start."""
    found = _read(os.environ if environ is None else environ)
    if found.snapshot and found.document:
        raise SettingsError("A node has HEADRACE_SNAPSHOT or HEADRACE_DOCUMENT, not both.")
    if found.test_clock and not found.binds_loopback:
        raise SettingsError(
            f"HEADRACE_TEST_CLOCK=1 needs a loopback address, but HEADRACE_BIND is {found.bind}."
        )
    return found


def _read(env: Mapping[str, str]) -> Settings:
    data_dir = Path(env.get("HEADRACE_DATA_DIR") or "var")
    state_dir = Path(env.get("HEADRACE_STATE_DIR") or data_dir / "state")
    snapshot = env.get("HEADRACE_SNAPSHOT")
    document = env.get("HEADRACE_DOCUMENT")
    return Settings(
        state_dir=state_dir,
        snapshot=Path(snapshot) if snapshot else None,
        document=Path(document) if document else None,
        upstreams=_upstreams(env.get("HEADRACE_UPSTREAMS", "")) if document else {},
        bind=env.get("HEADRACE_BIND") or "127.0.0.1:8000",
        test_clock=env.get("HEADRACE_TEST_CLOCK") == "1",
        metrics_token=env.get("HEADRACE_METRICS_TOKEN", ""),
        log_level=log_level(env),
        force_model=env.get("HEADRACE_FORCE_MODEL", ""),
        store_durability=_durability(env),
        store_encryption=_encryption(env, state_dir),
        store_redis=_shared_store(env),
        failpoint=env.get("HEADRACE_FAILPOINT", ""),
        derive=_derive(env),
        keepalive=env.get("HEADRACE_KEEPALIVE", "on").strip().lower() not in _OFF,
        report_url=env.get("HEADRACE_REPORT_URL", ""),
        report_token=env.get("HEADRACE_NODE_TOKEN", ""),
        trusted_proxies=trusted_proxies(env),
        allowed_hosts=tuple(_listed(env.get("HEADRACE_ALLOWED_HOSTS", "").lower())),
        environment=env,
        **_counts(env),
        **_switches(env),
    )


def trusted_proxies(env: Mapping[str, str]) -> tuple[str, ...]:
    """The networks whose X-Forwarded-For counts, in CIDR form: HEADRACE_TRUSTED_PROXIES alone says
    so, whatever the server that carries us believes.
    """
    try:
        return tuple(
            str(ipaddress.ip_network(network))
            for network in _listed(env.get("HEADRACE_TRUSTED_PROXIES", ""))
        )
    except ValueError as problem:
        raise SettingsError(f"HEADRACE_TRUSTED_PROXIES: {problem}.") from problem


def _listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def log_level(env: Mapping[str, str]) -> str:
    """The name of a level of the logging module."""
    text = env.get("HEADRACE_LOG_LEVEL") or "info"
    if text.upper() not in _LEVELS:
        known = ", ".join(_LEVELS).lower()
        raise SettingsError(f"HEADRACE_LOG_LEVEL is one of {known}, not {text!r}.")
    return text.upper()


def _counts(env: Mapping[str, str]) -> dict[str, Any]:
    """The settings that are whole numbers, each from the variable of its name."""
    found = {}
    for name in _COUNTED:
        count = _count(env, _variable(name), -1, least=0 if name in _MAY_BE_ZERO else 1)
        if count >= 0:
            found[name] = count
    return found


def _count(env: Mapping[str, str], name: str, default: int, *, least: int = 0) -> int:
    text = env.get(name)
    if not text:
        return default
    if not text.isdecimal():
        raise SettingsError(f"{name} must be a whole number, not {text!r}.")
    if int(text) < least:
        raise SettingsError(f"{name} must be at least {least}, not {text}.")
    return int(text)


def _variable(name: str) -> str:
    return "HEADRACE_" + name.upper()


def _switches(env: Mapping[str, str]) -> dict[str, Any]:
    """The settings that are on or off."""
    found = {}
    for name in _SWITCHED:
        if text := env.get(variable := _variable(name)):
            if text.lower() not in {"0", "1", "false", "true"}:
                raise SettingsError(f"{variable} is 1 or 0, not {text!r}.")
            found[name] = text.lower() in {"1", "true"}
    return found


def _derive(env: Mapping[str, str]) -> Literal["v1", "v2"]:
    text = env.get("HEADRACE_DERIVE") or "v1"
    if text in {"v1", "v2"}:
        return "v2" if text == "v2" else "v1"
    raise SettingsError(f"HEADRACE_DERIVE is v1 or v2, not {text!r}.")


def _upstreams(text: str) -> dict[str, str]:
    """Dialect to address, from `anthropic=https://…,openai=https://…`."""
    found = dict(PROVIDERS)
    for part in filter(None, text.split(",")):
        dialect, equals, url = part.strip().partition("=")
        if not equals or dialect not in PROVIDERS or not url.startswith(("http://", "https://")):
            raise SettingsError(f"HEADRACE_UPSTREAMS: {part!r} is not anthropic=URL or openai=URL.")
        found[dialect] = url
    return found


def _shared_store(env: Mapping[str, str]) -> SharedStore | None:
    name = "HEADRACE_STORE_REDIS_URL"
    url = env.get(name, "")
    if not url:
        return None
    if not url.startswith(("redis://", "rediss://", "unix://")):
        raise SettingsError(f"{name} begins with redis://, rediss:// or unix://.")
    return SharedStore(
        url,
        replicas=_count(env, "HEADRACE_STORE_REDIS_REPLICAS", 0),
        assume_noeviction=env.get("HEADRACE_STORE_REDIS_ASSUME_NOEVICTION") == "1",
        commit_timeout_ms=_count(env, "HEADRACE_STORE_COMMIT_TIMEOUT_MS", 1500, least=1),
    )


def _encryption(env: Mapping[str, str], state_dir: Path) -> StoreEncryption | None:
    name = "HEADRACE_STORE_ENCRYPTION"
    try:
        return encryption_from(env.get(name, ""), env, state_dir=state_dir)
    except EncryptionError as error:
        raise SettingsError(f"{name}: {error}.") from error


def _durability(env: Mapping[str, str]) -> Literal["process", "host"]:
    text = env.get("HEADRACE_STORE_DURABILITY") or "process"
    if text in {"process", "host"}:
        return "host" if text == "host" else "process"
    raise SettingsError(f"HEADRACE_STORE_DURABILITY is process or host, not {text!r}.")
