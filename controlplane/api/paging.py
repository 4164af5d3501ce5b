"""Keyset pages: a cursor names the last row seen, so new rows move nothing (04 §6.1)."""

from __future__ import annotations

from datetime import timedelta
from http import HTTPStatus
from typing import Any, Generic, TypeVar

from django.core import signing
from django.db.models import Model, QuerySet
from pydantic import BaseModel

from controlplane.api.refusals import RefusedError

GOOD_FOR = timedelta(hours=24)
SALT = "api.cursor"
PAGE, LARGEST = 50, 500
Row = TypeVar("Row", bound=Model)
Item = TypeVar("Item")


class Page(BaseModel, Generic[Item]):
    items: list[Item]
    next_cursor: str | None
    prev_cursor: str | None


class Slice(Generic[Row]):
    """One page of rows, newest first, with the cursors of its neighbours."""

    def __init__(self, rows: QuerySet[Row], *, limit: int, cursor: str | None) -> None:
        place, forward = _read(cursor)
        if place is not None:
            rows = rows.filter(pk__lt=place) if forward else rows.filter(pk__gt=place)
        found = list(rows.order_by("-pk" if forward else "pk")[: limit + 1])
        more = len(found) > limit
        self.rows: list[Row] = found[:limit] if forward else found[:limit][::-1]
        has_next = more if forward else cursor is not None
        has_prev = cursor is not None if forward else more
        self._next = self.rows[-1].pk if self.rows and has_next else None
        self._prev = self.rows[0].pk if self.rows and has_prev else None

    @property
    def cursors(self) -> dict[str, str | None]:
        return {
            "next_cursor": _written(self._next, forward=True),
            "prev_cursor": _written(self._prev, forward=False),
        }


def _written(place: Any, *, forward: bool) -> str | None:
    return None if place is None else signing.dumps([place, forward], salt=SALT)


def _read(cursor: str | None) -> tuple[int | None, bool]:
    if not cursor:
        return None, True
    try:
        place, forward = signing.loads(cursor, salt=SALT, max_age=GOOD_FOR)
    except signing.SignatureExpired:
        detail = "This cursor is more than a day old. Begin again."
        raise RefusedError(HTTPStatus.GONE, "cursor.expired", detail) from None
    except (signing.BadSignature, ValueError):
        detail = "This is no cursor of ours."
        raise RefusedError(HTTPStatus.BAD_REQUEST, "cursor.invalid", detail) from None
    return int(place), bool(forward)
