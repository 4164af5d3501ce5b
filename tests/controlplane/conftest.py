"""A real database with a deployment in it: two organisations with a tenant each."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.db import connection, connections

from controlplane.accounts.actions import create_organisation, create_tenant
from controlplane.accounts.members import set_member
from controlplane.accounts.models import Membership, Organisation, Tenant, User
from controlplane.configs.actions import ensure_server_default
from controlplane.fleet import running
from dataplane.settings import Settings
from tests.fakes.node import NOTHING, FakeNode
from tests.patience import PATIENCE_S

PASSWORD = "correct horse battery"
BOTH = ("default", "telemetry")
HERE = Path(__file__).parent


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A test that uses a database may use both: pages read the telemetry one, too."""
    for item in items:
        used = {"db", "transactional_db"} & set(getattr(item, "fixturenames", ()))
        marker = item.get_closest_marker("django_db")
        if item.path.is_relative_to(HERE) and (used or marker):
            stated = dict(marker.kwargs) if marker else {}
            item.add_marker(pytest.mark.django_db(**{**stated, "databases": BOTH}), append=False)


@pytest.fixture(scope="session")
def django_db_modify_db_settings(
    django_db_modify_db_settings: None, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """A file waits for its turn however busy the machine is, and need not survive a power cut."""
    place = tmp_path_factory.mktemp("databases")
    for alias in BOTH:
        database = connections.settings[alias]
        if "sqlite" in database["ENGINE"]:
            options = database["OPTIONS"]
            said = re.sub(r"synchronous=\w+", "synchronous=OFF", options["init_command"])
            options |= {"timeout": PATIENCE_S, "init_command": said}
            test = database["TEST"]
            test["NAME"] = str(place / Path(test["NAME"]).name)


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None, django_db_blocker: Any) -> None:
    """Emptying tables after a transactional test is a DELETE, which write-once tables refuse."""
    with django_db_blocker.unblock(), connection.cursor() as cursor:
        for name, table in triggers(cursor):
            if name.endswith("_no_delete"):
                drop_trigger(cursor, name, table)


def triggers(cursor: Any) -> list[tuple[str, str]]:
    """The name and the table of each of our triggers."""
    if connection.vendor == "sqlite":
        cursor.execute("SELECT name, tbl_name FROM sqlite_master WHERE type = 'trigger'")
    else:
        cursor.execute(
            "SELECT tgname, tgrelid::regclass::text FROM pg_trigger WHERE NOT tgisinternal"
        )
    return list(cursor.fetchall())


def drop_trigger(cursor: Any, name: str, table: str) -> None:
    where = "" if connection.vendor == "sqlite" else f" ON {table}"
    cursor.execute(f"DROP TRIGGER {name}{where}")


@pytest.fixture(autouse=True)
def fast_passwords(settings: Any) -> None:
    """The real parameters cost a tenth of a second a password; they have a test of their own."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


@pytest.fixture
def organisation(db: None) -> Organisation:
    ensure_server_default()
    return create_organisation(name="Acme", slug="acme", by=None)


@pytest.fixture
def tenant(organisation: Organisation) -> Tenant:
    return create_tenant(organisation, slug="orchid", by=None)


@pytest.fixture
def other_tenant(organisation: Organisation) -> Tenant:
    """A tenant of another organisation."""
    other = create_organisation(name="Globex", slug="globex", by=None)
    return create_tenant(other, slug="orchid", by=None)


def person(role: str, organisation: Organisation | None, email: str = "") -> User:
    """Someone with this role there; None for the deployment."""
    user = User.objects.create_user(email or f"{role}@example.com", PASSWORD)
    set_member(user, organisation, role, None)
    return user


@pytest.fixture
def admin(organisation: Organisation) -> User:
    return person(Membership.Role.ADMIN, organisation)


@pytest.fixture
def manager(db: None) -> User:
    return person(Membership.Role.MANAGER, None)


@pytest.fixture
def forced() -> Iterator[None]:
    """A node whose environment is above every document (08 §K-19)."""
    node = FakeNode(NOTHING)
    node.settings = Settings(Path("var/state"), force_model="m9", derive="v2")
    running.register(node)
    yield
    running.unregister()
