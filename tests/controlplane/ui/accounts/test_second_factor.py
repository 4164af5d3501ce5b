"""A second factor: set up, asked for, lost, demanded (04 §5.16, 8.1)."""

from __future__ import annotations

import re
import time
from typing import Any

import pytest
from django.test import Client

from controlplane.accounts import second_factor, totp, vault
from controlplane.accounts.models import Organisation, RecoveryCode, SecondFactor, User
from controlplane.accounts.tokens import issue_token
from controlplane.audit.models import AuditEvent
from controlplane.cli import factor
from controlplane.settings.environment import read
from tests.controlplane.conftest import PASSWORD, person
from tests.controlplane.ui.conftest import Browser

KEY = re.compile(r'id="factor-key"[^>]*>([A-Z2-7 ]+)<')
CODES = re.compile(r"[a-z2-7]{4}(?:-[a-z2-7]{4}){3}")


def enrolled(user: User) -> tuple[str, list[str]]:
    """The secret in the authenticator, and the recovery codes."""
    secret = second_factor.begin(user).secret
    step = int(time.time() // totp.STEP_S) - 1  # so that the present code is still good
    return secret, list(second_factor.confirm(user, totp.code_at(secret, step)))


def shown_by(secret: str) -> str:
    return totp.code_at(secret, int(time.time() // totp.STEP_S))


def signed_in_so_far(client: Client, user: User) -> str:
    """The ticket between password and code."""
    answer = client.post("/login", {"email": user.email, "password": PASSWORD})
    found = re.search(r'name="ticket" value="([^"]+)"', answer.content.decode())
    assert found is not None
    assert "cg_session" not in answer.cookies
    return found[1]


# ---- setting up -------------------------------------------------------------------------------


def test_the_key_on_the_page_is_what_the_first_code_proves(admin: User, browser: Browser) -> None:
    client = browser(admin)
    page = client.get("/me/second-factor").content.decode()
    found = KEY.search(page)
    assert found is not None

    wrong = client.post("/me/second-factor", {"code": "000000"})
    done = client.post("/me/second-factor", {"code": shown_by(found[1].replace(" ", ""))})

    assert wrong.status_code == 422
    assert len(CODES.findall(done.content.decode())) == second_factor.RECOVERY_CODES
    assert "no-store" in done["Cache-Control"]
    assert second_factor.has_one(admin)
    actions = AuditEvent.objects.values_list("action", flat=True)
    assert "user.enrol_second_factor" in actions


def test_the_picture_carries_no_style_of_its_own(admin: User, browser: Browser) -> None:
    page = browser(admin).get("/me/second-factor").content.decode()

    drawn = page[page.index("<svg viewBox") : page.index("Time-based")]
    assert "style=" not in drawn
    assert "script" not in drawn


def test_the_secret_is_kept_sealed_and_codes_as_digests(admin: User) -> None:
    secret, codes = enrolled(admin)

    kept = SecondFactor.objects.get(user=admin)
    assert secret.encode() not in bytes(kept.ciphertext)
    hashes = set(RecoveryCode.objects.values_list("code_hash", flat=True))
    assert not hashes & set(codes)


# ---- signing in -------------------------------------------------------------------------------


def test_the_password_alone_no_longer_opens_the_account(client: Client, admin: User) -> None:
    secret, _ = enrolled(admin)
    ticket = signed_in_so_far(client, admin)
    assert client.get("/tenants").status_code == 302

    answer = client.post(
        "/login/code", {"ticket": ticket, "code": shown_by(secret), "next": "/tenants"}
    )

    assert (answer.status_code, answer["location"]) == (302, "/tenants")
    assert client.get("/tenants").status_code == 200


def test_a_code_opens_one_session_and_no_second(client: Client, admin: User) -> None:
    secret, _ = enrolled(admin)
    code = shown_by(secret)
    first = {"ticket": signed_in_so_far(client, admin), "code": code}
    client.post("/login/code", first)

    other = Client()
    again = other.post("/login/code", {"ticket": signed_in_so_far(other, admin), "code": code})

    assert again.status_code == 422
    assert second_factor.WRONG in again.content.decode()


def test_a_recovery_code_stands_in_once_however_it_is_typed(client: Client, admin: User) -> None:
    _, codes = enrolled(admin)
    typed = codes[0].replace("-", " ").upper()

    first = client.post("/login/code", {"ticket": signed_in_so_far(client, admin), "code": typed})
    other = Client()
    again = other.post("/login/code", {"ticket": signed_in_so_far(other, admin), "code": typed})

    assert (first.status_code, again.status_code) == (302, 422)
    assert "9 of 10 recovery codes" in client.get("/me").content.decode()


def test_the_sixth_code_within_a_minute_is_told_to_wait(client: Client, admin: User) -> None:
    secret, _ = enrolled(admin)
    ticket = signed_in_so_far(client, admin)

    tries = [client.post("/login/code", {"ticket": ticket, "code": "000000"}) for _ in range(5)]
    late = client.post("/login/code", {"ticket": ticket, "code": shown_by(secret)})

    assert [each.status_code for each in tries] == [422] * 5
    assert late.status_code == 429


@pytest.mark.parametrize("page", ["remove", "codes"])
def test_whoever_sits_at_an_open_session_cannot_guess_the_code(
    admin: User, browser: Browser, page: str
) -> None:
    secret, _ = enrolled(admin)
    client, path = browser(admin), f"/me/second-factor/{page}"

    tries = [client.post(path, {"code": "000000"}).status_code for _ in range(5)]
    late = client.post(path, {"code": shown_by(secret)})

    assert tries == [422] * 5
    assert late.status_code == 429
    assert "Too many wrong codes" in late.content.decode()
    assert second_factor.has_one(admin)


@pytest.mark.parametrize("change", ["another password", "disabled", "forged"])
def test_a_ticket_ends_with_what_it_stood_for(client: Client, admin: User, change: str) -> None:
    secret, _ = enrolled(admin)
    ticket = signed_in_so_far(client, admin)
    if change == "another password":
        admin.set_password("another long password")
        admin.save()
    elif change == "disabled":
        User.objects.filter(pk=admin.pk).update(is_active=False)
    else:
        ticket = ticket[:-2] + "xx"

    answer = client.post("/login/code", {"ticket": ticket, "code": shown_by(secret)})

    assert answer.status_code == 422
    assert "Begin again" in answer.content.decode()


# ---- lost -------------------------------------------------------------------------------------


def test_taking_it_away_takes_a_code(admin: User, browser: Browser) -> None:
    secret, _ = enrolled(admin)
    client = browser(admin)

    assert client.post("/me/second-factor/remove", {"code": "000000"}).status_code == 422
    assert client.post("/me/second-factor/remove", {"code": shown_by(secret)}).status_code == 302
    assert not second_factor.has_one(admin)
    assert not RecoveryCode.objects.exists()


def test_a_manager_and_no_admin_helps_somebody_who_lost_it(
    organisation: Organisation, admin: User, manager: User, browser: Browser
) -> None:
    colleague = person("operator", organisation, "colleague@example.com")
    enrolled(colleague)
    path = f"/members/acme/people/{colleague.uid}/second-factor"

    assert browser(admin).post(path).status_code == 403
    assert second_factor.has_one(colleague)
    browser(manager).post(path)

    assert not second_factor.has_one(colleague)
    event = AuditEvent.objects.get(action="user.remove_second_factor")
    assert (event.actor_label, event.object_label) == (manager.email, colleague.email)


def test_a_manager_does_not_take_away_their_own_without_its_code(
    manager: User, browser: Browser
) -> None:
    enrolled(manager)

    path = f"/members/_deployment/people/{manager.uid}/second-factor"
    assert browser(manager).post(path).status_code == 403
    assert second_factor.has_one(manager)


def test_the_last_manager_is_helped_by_the_command(
    manager: User, capsys: pytest.CaptureFixture[str]
) -> None:
    enrolled(manager)

    assert factor.remove("nobody@example.com") == 1
    assert factor.remove(manager.email.upper()) == 0
    assert not second_factor.has_one(manager)
    assert "password alone" in capsys.readouterr().out


def test_new_sealing_keys_take_the_authenticators_along(admin: User, settings: Any) -> None:
    secret, _ = enrolled(admin)
    (old,) = settings.SECRET_SEALING_KEYS[:1]
    settings.SECRET_SEALING_KEYS = (("newer", b"n" * 32), old)

    assert vault.rekey(None) == 1

    settings.SECRET_SEALING_KEYS = (("newer", b"n" * 32),)
    vault.refuse_unreadable()
    assert second_factor.accepts(admin, shown_by(secret))


def test_a_start_is_refused_when_no_key_opens_an_authenticator(admin: User, settings: Any) -> None:
    enrolled(admin)
    settings.SECRET_SEALING_KEYS = (("other", b"o" * 32),)

    with pytest.raises(vault.UnreadableSecretsError, match=r"second factor of admin@example\.com"):
        vault.refuse_unreadable()


# ---- demanded ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("variables", "is_demanded"),
    [
        ({}, False),
        ({"HEADRACE_BASE_URL": "https://headrace.example"}, True),
        ({"HEADRACE_BASE_URL": "http://localhost:8000"}, False),
        ({"HEADRACE_BASE_URL": "https://headrace.example", "HEADRACE_SECOND_FACTOR": "optional"},
         False),
        ({"HEADRACE_SECOND_FACTOR": "required"}, True),
    ],
)  # fmt: skip
def test_a_deployment_that_others_reach_demands_it_by_itself(
    tmp_path: Any,
    variables: dict[str, str],
    is_demanded: bool,  # noqa: FBT001
) -> None:
    found = read({"HEADRACE_DATA_DIR": str(tmp_path), **variables})

    assert found.demands_second_factor == is_demanded


def test_a_word_that_is_no_choice_stops_the_start(tmp_path: Any) -> None:
    with pytest.raises(
        ValueError, match="HEADRACE_SECOND_FACTOR is one of auto, required, optional"
    ):
        read({"HEADRACE_DATA_DIR": str(tmp_path), "HEADRACE_SECOND_FACTOR": "never"})


@pytest.mark.parametrize(
    ("role", "owes"), [("viewer", False), ("operator", False), ("admin", True), ("manager", True)]
)
def test_who_may_change_what_others_rely_on_sets_it_up_before_anything_else(
    organisation: Organisation,
    browser: Browser,
    settings: Any,
    role: str,
    owes: bool,  # noqa: FBT001
) -> None:
    settings.SECOND_FACTOR_DEMANDED = True
    user = person(role, None if role == "manager" else organisation)
    client = browser(user)

    page = client.get("/tenants")
    api = client.get("/api/v1/tenants")

    if not owes:
        assert (page.status_code, api.status_code) == (200, 200)
        return
    assert (page.status_code, page["location"]) == (302, "/me/second-factor")
    assert (api.status_code, api.json()["code"]) == (403, "auth.second_factor_owed")
    assert "The other pages open" in client.get("/me/second-factor").content.decode()
    enrolled(user)
    assert client.get("/tenants").status_code == 200
    assert client.get("/api/v1/tenants").status_code == 200


def test_a_token_is_a_credential_of_its_own_and_owes_nothing(admin: User, settings: Any) -> None:
    settings.SECOND_FACTOR_DEMANDED = True
    _, plaintext = issue_token(admin, "ci", admin)

    answer = Client(headers={"authorization": f"Bearer {plaintext}"}).get("/api/v1/tenants")

    assert answer.status_code == 200
