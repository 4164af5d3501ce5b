"""No credential that is planted in a text survives its redaction (04 §8.7)."""

from __future__ import annotations

import base64
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataplane.core.text.redacted import redacted, scrubbed
from dataplane.core.text.secrets import HIDDEN
from tests.examples import examples

ALNUM = string.ascii_letters + string.digits
SIGN = "Z9"  # begins secrets, and is in no text around them
WORDS = st.text(string.ascii_letters + " \n.,;:(){}\"'=/", max_size=60)


def run_of(alphabet: str, least: int, most: int) -> st.SearchStrategy[str]:
    return st.text(alphabet, min_size=least, max_size=most)


@st.composite
def random_key(draw: st.DrawFn) -> str:
    """32 to 64 characters, none of them often."""
    return "".join(draw(st.permutations(ALNUM)))[: draw(st.integers(32, 62))]


def basic(pair: str) -> str:
    return base64.b64encode(pair.encode()).decode()


ANY = run_of(ALNUM, 20, 48).map(SIGN.__add__)
# How each is written around its secret part.
PLANTED = {
    "bearer": ("Authorization: Bearer {}", ANY),
    "bearer in JSON": ('{{"authorization": "Bearer {}"}}', ANY),
    "bearer alone": ("sent Bearer {} along", ANY),
    "basic": ("authorization: Basic {}", run_of(ALNUM, 8, 20).map(basic)),
    "x-api-key": ("-H 'x-api-key: {}'", ANY),
    "openai": ("{}", ANY.map("sk-proj-".__add__)),
    "anthropic": ("key={} ", ANY.map("sk-ant-api03-".__add__)),
    "ours": ("{}", ANY.map("cg_live_".__add__)),
    "github": ("{}", run_of(ALNUM, 36, 36).map("ghp_".__add__)),
    "aws id": ("{}", run_of(string.ascii_uppercase + string.digits, 16, 16).map("AKIA".__add__)),
    "aws secret": ("aws_secret_access_key = {}", random_key()),
    "google": ("{}", run_of(ALNUM, 35, 35).map("AIza".__add__)),
    "slack": ("{}", ANY.map("xoxb-".__add__)),
    "private key": (
        "-----BEGIN RSA PRIVATE KEY-----\n{}\n-----END RSA PRIVATE KEY-----",
        run_of(ALNUM + "+/\n", 64, 400).map(SIGN.__add__),
    ),
    "private key without an end": ("-----BEGIN OPENSSH PRIVATE KEY-----\n{}", ANY),
    "jwt": ("{}", st.tuples(ANY, ANY, ANY).map(lambda p: f"eyJ{p[0]}.eyJ{p[1]}.{p[2]}")),
    "address": ("postgres://app:{}@db.internal/app", ANY),
    "address without a user": ("redis://:{}@cache:6379/0", ANY),
    "cookie": ("Cookie: a=1; session={}", ANY),
    "set-cookie": ("set-cookie: id={}; HttpOnly", ANY),
    "cookie in JSON": ('{{"cookie": "id={}"}}', ANY),
    "connection string": ("Server=db;User Id=app;Password={};Encrypt=true", ANY),
    "connection string of a cloud": ("AccountName=a;AccountKey={};Suffix=x", random_key()),
    "password in JSON in JSON": (r'{{\"password\": \"{}\"}}', ANY),
    "api key in JSON": ('"api_key": "{}"', random_key()),
    "token as an option": ("--token {}", random_key()),
    "secret in yaml": ("client-secret-value: {}", random_key()),
    "export": ("export DEPLOY_TOKEN='{}'", random_key()),
}  # fmt: skip


@pytest.mark.parametrize("kind", PLANTED)
@examples(40)
@given(data=st.data())
def test_no_planted_secret_survives(kind: str, data: st.DataObject) -> None:
    written, secrets = PLANTED[kind]
    secret = data.draw(secrets)
    text = f"{data.draw(WORDS)}\n{written.format(secret)}\n{data.draw(WORDS)}"

    found = redacted(text)

    assert secret not in found.text
    assert SIGN not in secret or SIGN not in found.text
    assert found.taken >= 1
    assert HIDDEN in found.text


@given(st.text(string.ascii_lowercase + " \n", max_size=300))
def test_plain_words_stay_as_they_are(text: str) -> None:
    assert redacted(text) == (text, 0) or "bearer" in text or "basic" in text


@pytest.mark.parametrize(
    "text",
    [
        "the basic understanding of a session",
        "see <<cg:c9f0f895fb98ab91>> for the rest",
        "commit 3f786850e387550fdab836ed7e6dc881de23001b",
        "https://example.org/a/b?c=d",
        "tests/controlplane/telemetry/test_retention_of_requests.py",
    ],
)
def test_what_is_no_credential_stays(text: str) -> None:
    assert redacted(text) == (text, 0)


def test_the_name_of_a_value_stays_and_each_value_counts_once() -> None:
    found = redacted("Authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==\npassword=hunter2")

    assert found.text == f"Authorization: Basic {HIDDEN}\npassword={HIDDEN}"
    assert found.taken == 2


def test_a_log_line_loses_a_basic_credential_too() -> None:
    assert "QWxhZGRpbjpvcGVu" not in scrubbed("authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==")


@given(st.text(max_size=400))
def test_any_text_can_be_redacted_and_redacting_again_finds_no_more_shapes(text: str) -> None:
    once = redacted(text).text

    assert redacted(once).text == once
