"""Opening what a marker stands for, through the client (04 §5.7, 8.7)."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.accounts.models import Tenant, User
from controlplane.audit.models import AuditEvent
from controlplane.ui.frame.shown_text import pages_of
from tests.controlplane.ui.conftest import Browser
from tests.controlplane.ui.watched import MARKER, a_session
from tests.fakes.node import NOTHING, FakeNode

Register = Callable[[FakeNode], None]
pytestmark = pytest.mark.django_db(databases=["default", "telemetry"])


def test_opening_an_original_takes_the_permission_and_leaves_a_line_without_its_text(
    browser: Browser, admin: User, viewer: User, tenant: Tenant, node: Register
) -> None:
    a_session(tenant.uid)
    fake = FakeNode(NOTHING)
    fake.originals[tenant.uid, "s1", MARKER] = b"the <b>hushed</b>\xe2\x80\xae log"
    node(fake)
    place = f"/sessions/{tenant.uid}/s1/markers/{MARKER}"

    assert browser(viewer).post(place).status_code == 403
    session = browser(viewer).get(f"/sessions/{tenant.uid}/s1")
    assert session.status_code == 200
    assert place not in session.content.decode()
    assert "hushed" not in browser(admin).get(place).content.decode()
    shown = browser(admin).post(place)

    page = shown.content.decode()
    assert "the &lt;b&gt;hushed&lt;/b&gt;⟨U+202E⟩ log" in page
    assert "no-store" in shown["cache-control"]
    event = AuditEvent.objects.get(action="content.read")
    assert event.actor_label == admin.email
    assert event.after == {"session": "s1", "marker": MARKER, "found": "resolved"}


def test_an_original_that_cannot_be_given_says_why(
    browser: Browser, manager: User, tenant: Tenant, node: Register
) -> None:
    everyone = browser(manager)
    a_session(tenant.uid)
    place = f"/sessions/{tenant.uid}/s1/markers/{MARKER}"

    assert "No node that holds it" in everyone.post(place).content.decode()
    node(FakeNode(NOTHING))
    assert "no such marker" in everyone.post(place).content.decode()
    assert AuditEvent.objects.filter(action="content.read").count() == 2


@given(data=st.binary(max_size=200), size=st.integers(4, 40))
def test_the_parts_of_a_text_are_all_of_it(data: bytes, size: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("controlplane.ui.frame.shown_text.PAGE_BYTES", size)
        offset: int | None = 0
        ends = [0]
        while offset is not None:
            part = pages_of(data, str(offset))
            assert part.start == ends[-1]
            ends.append(part.end)
            offset = part.later
    assert ends[-1] == len(data)
