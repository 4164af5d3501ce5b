"""Provider keys of callers that stand for a tenant: bind and unbind (03 §1.3, 04 §1.1)."""

from __future__ import annotations

from django.core.exceptions import ValidationError
from django.db import transaction

from controlplane.accounts import published, secrets
from controlplane.accounts.models import AgentKeyBinding, Tenant
from controlplane.accounts.problems import BoundElsewhereError, KeyTooShortError
from controlplane.audit.actions import Actor, Subject, record

SHORTEST_KEY = 20
OURS = "cg_"  # no provider's key begins so, and nodes pass nothing on that does


@transaction.atomic
def bind_agent_key(tenant: Tenant, agent_key: str, label: str, by: Actor | None) -> AgentKeyBinding:
    """From now on requests with this key of the caller's are the tenant's.

    KeyTooShortError; BoundElsewhereError, for it is never moved; ValidationError for a credential
    of ours. Binding it to the same tenant again changes nothing. Only the key's digest is kept.
    """
    agent_key = agent_key.strip()
    if agent_key.startswith(OURS):
        raise ValidationError("This is a credential of Headrace. Bind the provider's.")
    if len(agent_key) < SHORTEST_KEY:
        raise KeyTooShortError(SHORTEST_KEY)
    digest = secrets.digest_of(agent_key)
    earlier = AgentKeyBinding.objects.filter(key_digest=digest).first()
    if earlier is not None and earlier.tenant_id != tenant.pk:
        raise BoundElsewhereError
    if earlier is not None:
        return earlier
    binding = AgentKeyBinding(key_digest=digest, tenant=tenant, label=label.strip())
    binding.full_clean()
    binding.save()
    record("agent_key.bind", _subject(binding), by, after={"label": binding.label})
    published.publish_shard(digest, by)
    return binding


@transaction.atomic
def unbind_agent_key(binding: AgentKeyBinding, by: Actor | None) -> None:
    """The key stands for nobody; whoever owns it may bind it anywhere again."""
    record("agent_key.unbind", _subject(binding), by, before={"label": binding.label})
    digest = binding.key_digest
    binding.delete()
    published.publish_shard(digest, by)


def _subject(binding: AgentKeyBinding) -> Subject:
    return Subject(binding.uid, binding.label, binding.tenant.organisation.uid)
