"""Where nodes elsewhere report to: POST /api/dp/v1/telemetry (03 §9.2 and 9.9).

204 for a batch that is stored, also for one that was stored before. 429 or 503: send it again.
"""

from __future__ import annotations

import gzip
import io
import logging
import zlib
from concurrent.futures import TimeoutError as TooSlowError
from http import HTTPStatus

from django.conf import settings
from django.db import DatabaseError
from django.http import HttpRequest, HttpResponse
from django.utils.crypto import constant_time_compare
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from controlplane.telemetry.writer import BusyError, Writer, running
from dataplane.core.uplink import BATCH_MAX_BYTES, RejectedError

log = logging.getLogger("headrace.telemetry")
STORED_WITHIN_S = 10
RETRY_AFTER_S = 2


class TooLargeError(Exception):
    """More bytes than a batch may have."""


@csrf_exempt
@require_POST
def telemetry(request: HttpRequest) -> HttpResponse:
    if not _is_node(request):
        return HttpResponse(status=HTTPStatus.UNAUTHORIZED, headers={"www-authenticate": "Bearer"})
    writer = running()
    if writer is None:
        return _later(HTTPStatus.SERVICE_UNAVAILABLE)
    try:
        return _store(writer, _body(request))
    except TooLargeError:
        return HttpResponse(status=HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
    except (RejectedError, OSError, EOFError, zlib.error):
        return HttpResponse(status=HTTPStatus.BAD_REQUEST)


def _is_node(request: HttpRequest) -> bool:
    wanted = settings.NODE_TOKEN
    given = request.headers.get("authorization", "").removeprefix("Bearer ")
    return bool(wanted) and constant_time_compare(given, wanted)


def _body(request: HttpRequest) -> bytes:
    """What was sent, unpacked; never more of it than a batch may have."""
    if int(request.headers.get("content-length") or 0) > BATCH_MAX_BYTES:
        raise TooLargeError
    if request.headers.get("content-encoding") != "gzip":
        return request.body
    with gzip.GzipFile(fileobj=io.BytesIO(request.body)) as packed:
        body = packed.read(BATCH_MAX_BYTES + 1)
    if len(body) > BATCH_MAX_BYTES:
        raise TooLargeError
    return body


def _store(writer: Writer, body: bytes) -> HttpResponse:
    try:
        writer.submit(body).result(timeout=STORED_WITHIN_S)
    except BusyError:
        return _later(HTTPStatus.TOO_MANY_REQUESTS)
    except (DatabaseError, TooSlowError):
        log.warning("headrace.telemetry_postponed", exc_info=True)
        return _later(HTTPStatus.SERVICE_UNAVAILABLE)
    return HttpResponse(status=HTTPStatus.NO_CONTENT)


def _later(status: HTTPStatus) -> HttpResponse:
    return HttpResponse(status=status, headers={"retry-after": str(RETRY_AFTER_S)})
