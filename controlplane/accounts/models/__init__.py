"""Who owns what: organisations, tenants, people, credentials and upstreams (04 §1.1, 1.2)."""

from __future__ import annotations

from controlplane.accounts.models.credentials import (
    AgentKeyBinding,
    ApiToken,
    DataPlaneKey,
    Secret,
)
from controlplane.accounts.models.factors import RecoveryCode, SecondFactor
from controlplane.accounts.models.ownership import (
    SLUG,
    Organisation,
    Tenant,
    TenantUpstream,
    Upstream,
)
from controlplane.accounts.models.people import (
    Invitation,
    Membership,
    PasswordReset,
    SignInAttempt,
    User,
    Users,
    WebSession,
)

__all__ = [
    "SLUG",
    "AgentKeyBinding",
    "ApiToken",
    "DataPlaneKey",
    "Invitation",
    "Membership",
    "Organisation",
    "PasswordReset",
    "RecoveryCode",
    "SecondFactor",
    "Secret",
    "SignInAttempt",
    "Tenant",
    "TenantUpstream",
    "Upstream",
    "User",
    "Users",
    "WebSession",
]
