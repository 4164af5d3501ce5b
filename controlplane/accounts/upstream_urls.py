"""Which address may be an upstream: checked where a manager enters it (03 section 1.5)."""

from __future__ import annotations

from ipaddress import ip_address
from urllib.parse import SplitResult, urlsplit

from django.core.exceptions import ValidationError


def checked(base_url: str, *, allow_insecure: bool = False) -> str:
    """The address as scheme://host[:port]; ValidationError says which rule it breaks.

    Plain http is for loopback, elsewhere it takes allow_insecure.
    """
    parts, port = _split(base_url.strip())
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValidationError("An upstream is written https://host or https://host:port.")
    if "@" in parts.netloc:
        raise ValidationError("An upstream carries no user name or password.")
    if parts.path.strip("/") or "?" in base_url or "#" in base_url:
        raise ValidationError("An upstream ends after the host and port: no path, query, fragment.")
    if parts.scheme == "http" and not (allow_insecure or is_loopback(parts.hostname)):
        raise ValidationError(
            "Plain http is accepted for this machine only (127.0.0.1, localhost)."
        )
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"{parts.scheme}://{host}{f':{port}' if port else ''}"


def _split(url: str) -> tuple[SplitResult, int | None]:
    try:
        parts = urlsplit(url)
        return parts, parts.port
    except ValueError as problem:
        raise ValidationError("This is not an address.") from problem


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
