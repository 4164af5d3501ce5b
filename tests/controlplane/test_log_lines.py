"""No line of the log shows a credential, whoever wrote it (04 §8.3)."""

from __future__ import annotations

import io
import logging
import logging.config

import pytest
from django.conf import settings
from django.test import Client

CREDENTIALS = (
    "cg_live_" + "A" * 26, "cg_api_" + "B" * 38, "cg_link_" + "C" * 32,
    "sk-ant-api03-" + "k" * 40, "Bearer abc.def", "https://user:pass@proxy.example",
)  # fmt: skip


def printer(stream: io.StringIO) -> logging.Logger:
    """A logger that prints as the settings say."""
    line = dict(settings.LOGGING["formatters"]["line"])
    made = logging.config.DictConfigurator({}).configure_custom(line)
    shown = logging.StreamHandler(stream)
    shown.setFormatter(made)
    log = logging.Logger("of-this-test")
    log.addHandler(shown)
    return log


@pytest.mark.parametrize("credential", CREDENTIALS)
def test_a_credential_is_hidden_in_the_message_and_in_a_traceback(credential: str) -> None:
    stream = io.StringIO()
    log = printer(stream)

    log.error("refused %s", credential)
    try:
        raise ValueError(credential)
    except ValueError:
        log.exception("failed")

    assert credential.split(" ")[-1].partition("@")[0] not in stream.getvalue()
    assert stream.getvalue().count("«secret»") >= 2


@pytest.mark.django_db
def test_an_answer_to_a_visitor_is_not_an_error_of_ours() -> None:
    heard = logging.getLogger("django.request")

    assert not heard.isEnabledFor(logging.WARNING)
    assert heard.isEnabledFor(logging.ERROR)
    assert Client().get("/nowhere").status_code == 404
