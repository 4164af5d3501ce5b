"""Secrets: sealed, write-only, bound to their place, re-keyed (04 §8.5)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import msgspec
import pytest
from django.core.exceptions import ValidationError
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from controlplane.accounts import vault
from controlplane.accounts.held_keys import HeldKeys
from controlplane.accounts.models import Secret, Tenant, User
from controlplane.accounts.sealing import Keyring, Sealed, SealError
from controlplane.accounts.upstreams import UpstreamTerms, create_upstream
from controlplane.audit.models import AuditEvent
from controlplane.cli import main as headrace
from controlplane.fleet import queries
from dataplane.core import resource

OLD, NEW = ("old", b"o" * 32), ("new", b"n" * 32)
VALUE = "sk-ant-held-by-the-deployment"


@pytest.fixture(autouse=True)
def sealing_keys(settings: Any) -> None:
    settings.SECRET_SEALING_KEYS = (OLD,)


def put(owner: vault.Owner = None, name: str = "anthropic", value: str = VALUE) -> Secret:
    return vault.put_secret(owner, name, value, kind=Secret.Kind.PROVIDER_KEY, by=None)


@given(value=st.text(max_size=200), place=st.text(max_size=20))
def test_what_was_sealed_opens_at_its_place_with_any_key_of_the_ring(
    value: str, place: str
) -> None:
    sealed = Keyring([OLD]).seal(value, place=place)

    assert Keyring([NEW, OLD]).open(sealed, place=place) == value


@pytest.mark.parametrize("byte", [0, 11, 12, 20, -1])
def test_a_changed_byte_does_not_open(byte: int) -> None:
    sealed = Keyring([OLD]).seal(VALUE, place="a")
    broken = bytearray(sealed.ciphertext)
    broken[byte] ^= 1

    with pytest.raises(SealError):
        Keyring([OLD]).open(Sealed("old", bytes(broken)), place="a")


@pytest.mark.parametrize("length", [0, 1, 12, 27])
def test_a_truncated_value_does_not_open(length: int) -> None:
    sealed = Keyring([OLD]).seal(VALUE, place="a")

    with pytest.raises(SealError):
        Keyring([OLD]).open(Sealed("old", sealed.ciphertext[:length]), place="a")


def test_a_value_opens_neither_elsewhere_nor_with_another_key() -> None:
    sealed = Keyring([OLD]).seal(VALUE, place="a")

    for ring, place in (
        (Keyring([OLD]), "b"),
        (Keyring([NEW]), "a"),
        (Keyring([("old", NEW[1])]), "a"),
    ):
        with pytest.raises(SealError):
            ring.open(sealed, place=place)


def test_sealing_twice_gives_two_texts() -> None:
    ring = Keyring([OLD])

    assert ring.seal(VALUE, place="a").ciphertext != ring.seal(VALUE, place="a").ciphertext


def test_a_secret_is_kept_sealed_and_shown_by_its_fingerprint_alone(db: None) -> None:
    secret = put()

    (row,) = vault.secrets_of(None)
    assert (row.name, row.version, row.fingerprint) == ("anthropic", 1, secret.fingerprint)
    assert len(row.fingerprint) == 8
    everything = f"{row} {list(Secret.objects.values())} {list(AuditEvent.objects.values())}"
    assert VALUE not in everything
    assert VALUE.encode() not in bytes(Secret.objects.get().ciphertext)
    assert vault.reveal(secret) == VALUE


def test_a_new_value_replaces_the_old_one_and_raises_the_version(db: None) -> None:
    first = put()
    second = put(value="another")

    assert (second.pk, second.version) == (first.pk, 2)
    assert second.fingerprint != first.fingerprint
    assert vault.reveal(second) == "another"


def test_a_sealed_value_copied_to_another_row_does_not_open(tenant: Tenant) -> None:
    ours, theirs = put(tenant), put(tenant.organisation)
    theirs.ciphertext = ours.ciphertext

    with pytest.raises(SealError):
        vault.reveal(theirs)


def test_one_name_may_be_used_once_in_each_place(tenant: Tenant) -> None:
    rows = {put(owner).pk for owner in (None, tenant.organisation, tenant)}

    assert len(rows) == 3
    assert [row.name for row in vault.secrets_of(tenant)] == ["anthropic"]


@pytest.mark.parametrize(
    ("name", "value", "kind"),
    [
        ("Bad Name", "x", "other"),
        ("ok", " ", "other"),
        ("ok", "x" * 8193, "other"),
        ("ok", "x", "gold"),
    ],
)
def test_a_malformed_secret_is_refused(db: None, name: str, value: str, kind: str) -> None:
    with pytest.raises(ValidationError):
        vault.put_secret(None, name, value, kind=kind, by=None)
    assert not Secret.objects.exists()


def test_rekeying_makes_the_earlier_key_unnecessary(db: None, settings: Any) -> None:
    secret = put()
    settings.SECRET_SEALING_KEYS = (NEW, OLD)

    assert vault.rekey(by=None) == 1
    assert vault.rekey(by=None) == 0

    settings.SECRET_SEALING_KEYS = (NEW,)
    secret.refresh_from_db()
    assert vault.reveal(secret) == VALUE
    vault.refuse_unreadable()


def test_a_start_is_refused_when_a_secret_does_not_open(db: None, settings: Any) -> None:
    vault.refuse_unreadable()
    put()
    settings.SECRET_SEALING_KEYS = (NEW,)

    with pytest.raises(vault.UnreadableSecretsError, match="anthropic"):
        vault.refuse_unreadable()
    with pytest.raises(vault.UnreadableSecretsError):
        vault.rekey(by=None)


def test_headrace_secrets_rekey_says_how_many_it_sealed(
    db: None, settings: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    put()
    settings.SECRET_SEALING_KEYS = (NEW, OLD)
    assert headrace.main(["secrets", "rekey"]) == 0
    assert capsys.readouterr().out == "1 secrets sealed again\n"

    settings.SECRET_SEALING_KEYS = (OLD,)
    assert headrace.main(["secrets", "rekey"]) == 1
    assert "anthropic" in capsys.readouterr().err


def test_an_upstream_publishes_the_name_of_its_key_and_never_the_key(tenant: Tenant) -> None:
    terms = UpstreamTerms(key_secret=put(), key_header="x-goog-api-key")
    create_upstream(
        name="held", dialect="anthropic", base_url="https://api.example", by=None, terms=terms,
        resolve=lambda _host: (),
    )  # fmt: skip

    found = queries.published(resource.NODE, "default")
    assert found is not None
    (upstream,) = msgspec.json.decode(found.body, type=resource.NodeBody).upstreams
    assert (upstream.key_ref, upstream.header) == ("anthropic", "x-goog-api-key")
    assert VALUE.encode() not in found.body
    assert vault.secrets_of(None)[0].used_by == ["held"]


def test_a_secret_that_an_upstream_uses_cannot_be_removed(tenant: Tenant) -> None:
    secret = put()
    create_upstream(
        name="held", dialect="anthropic", base_url="https://api.example", by=None,
        terms=UpstreamTerms(key_secret=secret), resolve=lambda _host: (),
    )  # fmt: skip

    with pytest.raises(ValidationError):
        vault.remove_secret(secret, None)
    assert Secret.objects.filter(pk=secret.pk).exists()


def test_an_upstream_holds_a_provider_key_of_the_deployment_only(tenant: Tenant) -> None:
    for secret in (
        put(tenant.organisation),
        vault.put_secret(None, "mail", "x", kind=Secret.Kind.SMTP, by=None),
    ):
        with pytest.raises(ValidationError):
            create_upstream(
                name="held", dialect="anthropic", base_url="https://api.example", by=None,
                terms=UpstreamTerms(key_secret=secret), resolve=lambda _host: (),
            )  # fmt: skip


def test_held_keys_follow_what_is_kept_and_ask_once_when_nothing_changed(
    tenant: Tenant, admin: User, django_assert_num_queries: Any
) -> None:
    held = HeldKeys()
    now = timezone.now()
    secret = put()
    put(tenant.organisation, name="ours", value="not the deployment's")
    held.refresh(now)
    assert (held("anthropic"), held("ours"), held("absent")) == (VALUE, None, None)

    with django_assert_num_queries(1):
        held.refresh(now + timedelta(seconds=1))
    put(value="rotated")
    held.refresh(now)
    assert held("anthropic") == "rotated"

    vault.remove_secret(secret, admin)
    held.refresh(now)
    assert held("anthropic") is None


def test_a_held_key_that_does_not_open_is_absent_rather_than_an_end_to_looking(
    db: None, settings: Any
) -> None:
    put()
    settings.SECRET_SEALING_KEYS = (NEW,)
    held = HeldKeys()
    put(name="openai", value="opens")

    held.refresh(timezone.now())

    assert (held("anthropic"), held("openai")) == (None, "opens")
