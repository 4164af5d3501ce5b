"""The watching pages in the table of test_routes: methods, answers, and what is visited."""

from __future__ import annotations

from collections.abc import Mapping

from controlplane.accounts.models import Tenant, User
from controlplane.alarms import channels
from controlplane.alarms.channels import Terms
from controlplane.telemetry.queries.windows import now_ms
from tests.controlplane.alarms.conftest import opened
from tests.controlplane.ui.watched import MARKER, a_request, a_session, a_stream

SIGN_IN, OK, DONE, FORBIDDEN, ABSENT = "sign in", 200, 302, 403, 404
Line = tuple[str, str, tuple[int | str, ...], Mapping[str, str]]

# In the order of test_routes.VISITORS: nobody, an admin of elsewhere, viewer, operator, admin,
# manager.
MEMBERS = (SIGN_IN, OK, OK, OK, OK, OK)
READERS = (SIGN_IN, ABSENT, OK, OK, OK, OK)
OPERATORS_READ = (SIGN_IN, ABSENT, FORBIDDEN, OK, OK, OK)
OPERATORS_ACT = (SIGN_IN, ABSENT, FORBIDDEN, DONE, DONE, DONE)
SENT = (SIGN_IN, ABSENT, FORBIDDEN, FORBIDDEN, OK, OK)
CHANGED = (SIGN_IN, ABSENT, FORBIDDEN, FORBIDDEN, DONE, DONE)
ALARM = "alarms/<slug:alarm>"
SESSION = "sessions/<slug:tenant>/<str:session>"
ORIGINAL = f"{SESSION}/markers/<slug:marker>"
TEXTS = f"{SESSION}/texts/<slug:record>"
NODE = "nodes/<str:node>"
PLACE = "settings/channels/<slug:place>"
CHANNEL = f"{PLACE}/<slug:channel>"
TERMS = {"name": "mail", "kind": "email", "target": "ops@example.com", "least": "info"}
HOOK = {"name": "hook", "target": "https://hooks.example/y", "least": "info"}

LINES: tuple[Line, ...] = (
    ("GET", "alarms", MEMBERS, {}),
    ("GET", "bell", (OK,) * 6, {}),
    ("GET", ALARM, READERS, {}),
    ("POST", f"{ALARM}/acknowledge", OPERATORS_ACT, {"comment": "mine"}),
    ("POST", f"{ALARM}/resolve", OPERATORS_ACT, {"resolution": "done"}),
    ("POST", f"{ALARM}/silence", OPERATORS_ACT, {"reason": "planned", "until": "1"}),
    ("GET", "sessions", MEMBERS, {}),
    ("GET", SESSION, READERS, {}),
    ("GET", ORIGINAL, OPERATORS_READ, {}),
    ("POST", ORIGINAL, OPERATORS_READ, {}),
    ("GET", TEXTS, OPERATORS_READ, {}),
    ("POST", TEXTS, OPERATORS_READ, {}),
    ("GET", "requests", MEMBERS, {}),
    ("GET", "requests/<slug:record>", READERS, {}),
    ("GET", "nodes", MEMBERS, {}),
    ("GET", NODE, MEMBERS, {}),
    ("GET", f"{NODE}/remove", (SIGN_IN, FORBIDDEN, FORBIDDEN, FORBIDDEN, FORBIDDEN, OK), {}),
    ("POST", f"{NODE}/remove", (SIGN_IN, FORBIDDEN, FORBIDDEN, FORBIDDEN, FORBIDDEN, DONE), {}),
    ("GET", "system", (SIGN_IN, FORBIDDEN, FORBIDDEN, FORBIDDEN, FORBIDDEN, OK), {}),
    ("GET", "settings/channels", (SIGN_IN, DONE, FORBIDDEN, FORBIDDEN, DONE, DONE), {}),
    ("GET", PLACE, SENT, {}),
    ("POST", PLACE, CHANGED, TERMS),
    ("GET", CHANNEL, SENT, {}),
    ("POST", CHANNEL, CHANGED, HOOK),
    ("POST", f"{CHANNEL}/test", CHANGED, {}),
    ("POST", f"{CHANNEL}/rotate", SENT, {}),
    ("GET", f"{CHANNEL}/remove", SENT, {}),
    ("POST", f"{CHANNEL}/remove", CHANGED, {}),
)


def places_of(tenant: Tenant, admin: User) -> dict[str, str]:
    """What the watching pages of a tenant are about."""
    a_session(tenant.uid)
    a_stream("node-a", last_at=now_ms() - 86_400_000)  # it left: it may be removed
    terms = Terms(name="hook", kind="webhook", target="https://hooks.example/x")
    channel, _ = channels.add(tenant.organisation, terms, by=admin)
    return {
        "<slug:alarm>": opened(tenant.uid).uid,
        "<slug:record>": a_request(tenant.uid, "s1", 9).uid,
        "<slug:tenant>": tenant.uid,
        "<str:session>": "s1",
        "<slug:marker>": MARKER,
        "<str:node>": "node-a",
        "<slug:channel>": channel.uid,
    }
