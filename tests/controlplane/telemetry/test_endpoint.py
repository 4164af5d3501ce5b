"""A node elsewhere posts its batches: they are stored once, or the node is told what to do."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client
from pytest_django.live_server_helper import LiveServer

from controlplane.telemetry import writer
from controlplane.telemetry.models import RequestRecord
from controlplane.telemetry.writer import Writer
from dataplane.adapters.figures.uplink_http import PATH, HttpSink, UnavailableError
from dataplane.core.uplink import BATCH_MAX_BYTES, RejectedError
from tests.controlplane.telemetry.batches import batch, row, written

pytestmark = pytest.mark.django_db(transaction=True)
TOKEN = "cg_node_of_the_test"


@pytest.fixture(autouse=True)
def running(settings: Any) -> Iterator[Writer]:
    settings.NODE_TOKEN = TOKEN
    made = Writer()
    writer.register(made)
    yield made
    writer.unregister()
    made.close()


def post(body: bytes, *, token: str = TOKEN, **headers: str) -> int:
    answer = Client().post(
        PATH, body, "application/json", headers={"authorization": f"Bearer {token}", **headers}
    )
    return answer.status_code


def one() -> bytes:
    return written(batch(1, [row(1)]))


def test_a_batch_is_stored_and_a_repeated_one_is_answered_alike() -> None:
    assert [post(one()), post(one())] == [204, 204]
    assert RequestRecord.objects.count() == 1


def test_one_row_that_cannot_be_stored_costs_a_node_nothing_but_that_row() -> None:
    assert post(written(batch(1, [row(1), row(2, output=2**70), row(3, cost_usd="NaN")]))) == 204
    assert RequestRecord.objects.get().uid.endswith("1")


def test_a_packed_batch_is_unpacked() -> None:
    assert post(gzip.compress(one()), **{"content-encoding": "gzip"}) == 204


@pytest.mark.parametrize("token", ["", "cg_node_of_another", "ü"])
def test_without_the_credential_nothing_is_taken(token: str) -> None:
    assert post(one(), token=token) == 401


def test_without_a_credential_of_ours_nobody_is_a_node(settings: Any) -> None:
    settings.NODE_TOKEN = ""

    assert post(one(), token="") == 401


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b'{"node_id":1}'])
def test_what_is_no_batch_is_refused_for_good(body: bytes) -> None:
    assert post(body) == 400


def test_a_batch_that_unpacks_to_too_much_is_refused_before_it_fills_memory() -> None:
    bomb = gzip.compress(b" " * (BATCH_MAX_BYTES * 4))

    assert post(bomb, **{"content-encoding": "gzip"}) == 413
    assert post(b" " * (BATCH_MAX_BYTES + 1)) == 413
    assert post(b"not gzip", **{"content-encoding": "gzip"}) == 400


def test_a_process_without_a_writer_asks_the_node_to_come_back() -> None:
    writer.unregister()

    assert post(one()) == 503


async def test_a_nodes_sink_and_the_endpoint_understand_each_other(live_server: LiveServer) -> None:
    await HttpSink(live_server.url, TOKEN).send(one())

    assert await RequestRecord.objects.acount() == 1


async def test_a_node_tells_a_refusal_from_a_pause(live_server: LiveServer) -> None:
    with pytest.raises(RejectedError):
        await HttpSink(live_server.url, TOKEN).send(b"[]")
    with pytest.raises(UnavailableError):
        await HttpSink(live_server.url, "wrong").send(one())
