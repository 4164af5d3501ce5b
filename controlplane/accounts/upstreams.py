"""The deployment's allow-list of providers: add, move, change (04 §1.2)."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import transaction

from controlplane.accounts import published, upstream_urls
from controlplane.accounts.models import Secret, Upstream
from controlplane.accounts.upstream_urls import Resolve, Rules, addresses_of
from controlplane.audit.actions import Actor, Subject, record


@dataclass(frozen=True, slots=True, kw_only=True)
class UpstreamTerms:
    """How an upstream is reached and paid. key_secret: a provider key of the deployment."""

    allow_insecure: bool = False
    allow_private: bool = False
    key_secret: Secret | None = None
    key_header: str = ""
    allow_server_state: bool = False
    wan_compression: bool = False
    proxy_url: str = ""
    header_timeout_s: int = 0
    enabled: bool = True


def create_upstream(
    *,
    name: str,
    dialect: str,
    base_url: str,
    by: Actor | None,
    terms: UpstreamTerms | None = None,
    resolve: Resolve = addresses_of,
) -> Upstream:
    """ValidationError when the address breaks a rule of the allow-list or the name is taken."""
    terms = terms or UpstreamTerms()
    address = _checked(base_url, terms, resolve)
    upstream = Upstream(name=name, dialect=dialect)
    with transaction.atomic():
        _apply(upstream, terms, address)
        upstream.save()
        after = {"name": name, "dialect": dialect, **state_of(upstream)}
        record("upstream.create", Subject(upstream.uid, name), by, after=after)
        published.publish_upstreams(by)
    return upstream


def move_upstream(
    upstream: Upstream, *, base_url: str, by: Actor | None, resolve: Resolve = addresses_of
) -> Upstream:
    """Give a named upstream another address; every tenant that chose it follows."""
    before = {"base_url": upstream.base_url}
    upstream.base_url = upstream_urls.checked(base_url, rules_of(upstream), resolve=resolve)
    after, subject = {"base_url": upstream.base_url}, Subject(upstream.uid, upstream.name)
    with transaction.atomic():
        upstream.save(update_fields=["base_url"])
        record("upstream.move", subject, by, before=before, after=after)
        published.publish_upstreams(by)
    return upstream


def change_upstream(
    upstream: Upstream,
    terms: UpstreamTerms,
    *,
    base_url: str,
    by: Actor | None,
    resolve: Resolve = addresses_of,
) -> Upstream:
    """All of its terms at once; ValidationError when a tenant still uses one that is disabled."""
    before, subject = state_of(upstream), Subject(upstream.uid, upstream.name)
    address = _checked(base_url, terms, resolve)
    with transaction.atomic():
        _apply(upstream, terms, address)
        if not terms.enabled and upstream.chosen_by.exists():
            raise ValidationError("Tenants still use this upstream.")
        upstream.save()
        record("upstream.change", subject, by, before=before, after=state_of(upstream))
        published.publish_upstreams(by)
    return upstream


@transaction.atomic
def remove_upstream(upstream: Upstream, by: Actor | None) -> None:
    """ValidationError while a tenant still uses it."""
    if upstream.chosen_by.exists():
        raise ValidationError("Tenants still use this upstream.")
    subject = Subject(upstream.uid, upstream.name)
    record("upstream.remove", subject, by, before=state_of(upstream))
    upstream.delete()
    published.publish_upstreams(by)


def rules_of(terms: Upstream | UpstreamTerms) -> Rules:
    return Rules(
        allow_insecure=terms.allow_insecure,
        allow_private=terms.allow_private,
        ports=settings.OUTBOUND_PORTS,
    )


def terms_of(upstream: Upstream) -> UpstreamTerms:
    return UpstreamTerms(**{name: getattr(upstream, name) for name in _NAMES})


@dataclass(frozen=True, slots=True)
class _Address:
    base_url: str
    proxy_url: str


def _checked(base_url: str, terms: UpstreamTerms, resolve: Resolve) -> _Address:
    """Names are looked up here, before a transaction: that may take long, and on SQLite everybody
    else who writes would wait for it.
    """
    rules, proxy_url = rules_of(terms), terms.proxy_url
    return _Address(
        upstream_urls.checked(base_url, rules, resolve=resolve),
        upstream_urls.checked(proxy_url, rules, resolve=resolve) if proxy_url else "",
    )


def _apply(upstream: Upstream, terms: UpstreamTerms, address: _Address) -> None:
    for name in _NAMES:
        setattr(upstream, name, getattr(terms, name))
    secret = terms.key_secret
    if secret is not None and (secret.kind != Secret.Kind.PROVIDER_KEY or secret.scope):
        raise ValidationError("An upstream holds a provider key of the deployment.")
    upstream.base_url, upstream.proxy_url = address.base_url, address.proxy_url
    upstream.full_clean()


def state_of(upstream: Upstream) -> dict[str, Any]:
    """Everything that can be changed about it, as plain values."""
    terms = {name: getattr(upstream, name) for name in _NAMES if name != "key_secret"}
    held = upstream.key_secret.name if upstream.key_secret else None
    return {"base_url": upstream.base_url, "key_secret": held, **terms}


_NAMES = tuple(field.name for field in fields(UpstreamTerms))
