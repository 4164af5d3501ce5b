"""Addresses of people: the doors, members, oneself, API tokens (04 §5.13, 5.16, 8.1)."""

from __future__ import annotations

from django.urls import path

from controlplane.ui.accounts import account, doors, members, second_factor, signin, tokens

PLACE = "members/<slug:place>"
PERSON = f"{PLACE}/people/<slug:person>"

urlpatterns = [
    path("login", signin.sign_in, name="login"),
    path("login/code", signin.give_code, name="login-code"),
    path("logout", signin.sign_out, name="logout"),
    path("theme", signin.choose_theme, name="theme"),
    path("members", members.members, name="members"),
    path(PLACE, members.members_there, name="members-there"),
    path(f"{PLACE}/invite", members.invite, name="invite"),
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
]
