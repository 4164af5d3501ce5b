"""The pages about accounts: connecting, keys, people, tokens, upstreams, prices, the trail."""

from __future__ import annotations

from django.urls import path

from controlplane.ui import (
    account,
    audit,
    capture,
    connect,
    doors,
    held_secrets,
    keys,
    members,
    prices,
    second_factor,
    tenant_life,
    tokens,
    upstreams,
)

TENANT = "tenants/<slug:slug>"
KEY = f"{TENANT}/keys/<slug:uid>"
PLACE = "members/<slug:place>"
PERSON = f"{PLACE}/people/<slug:person>"

urlpatterns = [
    path("connect", connect.connect, name="connect"),
    path("connect/<slug:slug>", connect.connect_tenant, name="connect-tenant"),
    path("connect/<slug:slug>/keys/<slug:uid>", connect.first_request, name="first-request"),
    path("new-tenant", tenant_life.create, name="new-tenant"),
    path(f"{TENANT}/switch", tenant_life.switch, name="switch"),
    path(f"{TENANT}/texts/agree", capture.agree, name="agree-to-texts"),
    path(f"{TENANT}/texts/withdraw", capture.withdraw, name="withdraw-texts"),
    path(f"{TENANT}/texts/purge", capture.purge, name="purge-texts"),
    path(f"{TENANT}/keys", keys.issue, name="keys"),
    path(f"{KEY}/rotate", keys.rotate, name="rotate"),
    path(f"{KEY}/revoke", keys.revoke, name="revoke"),
    path(f"{TENANT}/agent-keys", keys.bind, name="agent-keys"),
    path(f"{TENANT}/agent-keys/<slug:binding>/unbind", keys.unbind, name="unbind"),
    path("members", members.members, name="members"),
    path(PLACE, members.members_there, name="members-there"),
    path(f"{PLACE}/invite", members.invite, name="invite"),
    path(f"{PLACE}/texts/allow", capture.open_organisation, name="allow-texts"),
    path(f"{PLACE}/texts/forbid", capture.close_organisation, name="forbid-texts"),
    path(f"{PLACE}/invitations/<slug:invitation>/withdraw", members.withdraw, name="withdraw"),
    path(PERSON, members.member, name="member"),
    path(f"{PERSON}/remove", members.remove, name="remove-member"),
    path(f"{PERSON}/activity", members.activity, name="activity"),
    path(f"{PERSON}/reset", members.reset, name="reset"),
    path(f"{PERSON}/second-factor", members.forget_factor, name="forget-factor"),
    path("join/<str:link>", doors.join, name="join"),
    path("new-password/<str:link>", doors.new_password, name="new-password"),
    path("me", account.me, name="me"),
    path("me/name", account.set_name, name="my-name"),
    path("me/password", account.set_password, name="my-password"),
    path("me/second-factor", second_factor.enrol, name="second-factor"),
    path("me/second-factor/codes", second_factor.codes, name="recovery-codes"),
    path("me/second-factor/remove", second_factor.remove, name="give-up-factor"),
    path("me/machines/others", account.revoke_others, name="revoke-others"),
    path("me/machines/<slug:session>/revoke", account.revoke_machine, name="revoke-machine"),
    path("me/tokens", tokens.issue, name="my-tokens"),
    path("tokens", tokens.tokens, name="tokens"),
    path("tokens/<slug:token>/rotate", tokens.rotate, name="rotate-token"),
    path("tokens/<slug:token>/revoke", tokens.revoke, name="revoke-token"),
    path("upstreams", upstreams.upstreams, name="upstream-list"),
    path("upstreams/<slug:upstream>", upstreams.change, name="upstream"),
    path("secrets", held_secrets.secrets, name="secrets"),
    path("secrets/<slug:secret>", held_secrets.replace, name="secret"),
    path("secrets/<slug:secret>/remove", held_secrets.remove, name="remove-secret"),
    path("prices", prices.prices, name="prices"),
    path("audit", audit.audit, name="audit"),
]
