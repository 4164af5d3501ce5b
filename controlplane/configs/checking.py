"""The control plane's use of the one validator and the one resolver (04 section 0.4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from controlplane.accounts.models import Tenant
from controlplane.configs.documents import document_of, server_default
from controlplane.configs.models import ConfigDocument, ConfigVersion
from dataplane.core.components import components
from dataplane.core.config.canonical import content_hash
from dataplane.core.config.check import Checked, check
from dataplane.core.config.layers import Context, Layer
from dataplane.core.config.problems import ConfigError, DocumentRef
from dataplane.core.config.resolve import Effective


@dataclass(frozen=True, slots=True)
class Accepted:
    """A document without errors. canonical: its JSON text; warnings: with the advice."""

    canonical: str
    content_hash: str
    warnings: list[dict[str, Any]]


def accept(document: ConfigDocument, source: str) -> Accepted:
    """What the text means as the next version of the document; ConfigError(problems)."""
    checked = _checked(document, source, number=None)
    if checked.canonical is None:
        raise ConfigError(checked.problems)
    return Accepted(
        checked.canonical.decode(),
        content_hash(checked.canonical),
        [msgspec.to_builtins(problem) for problem in checked.problems],
    )


def effective(tenant: Tenant) -> tuple[Effective, Sequence[ConfigVersion]]:
    """The tenant's layers merged, and the versions that went in, lowest first.

    ConfigError when they no longer go together; its problems name the layer.
    """
    layers = [head for head in (server_default().head, document_of(tenant).head) if head]
    if not layers:
        raise LookupError("a deployment has a server default before it has tenants")
    top = layers[-1]
    checked = _checked(top.document, top.source, number=top.number)
    if checked.effective is None:
        raise ConfigError(checked.problems)
    return checked.effective, layers


def _checked(document: ConfigDocument, source: str, *, number: int | None) -> Checked:
    ref = DocumentRef(document.kind, _name(document), number)
    return check(source, context=Context(components(), below=_below(document), document=ref))


def _below(document: ConfigDocument) -> tuple[Layer, ...]:
    head = server_default().head
    if document.tenant_id is None or head is None:
        return ()
    return (Layer(DocumentRef(ConfigDocument.Kind.SERVER_DEFAULT, "", head.number), head.source),)


def _name(document: ConfigDocument) -> str:
    tenant = document.tenant
    return f"{tenant.organisation.slug}/{tenant.slug}" if tenant else ""
