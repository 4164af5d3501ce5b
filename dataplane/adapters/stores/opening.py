"""What other threads ask of a node whose memory is its event loop's: the figures of its counters,
and one original for a person on the control plane's pages (04 §5.7).

Opening one counts as nobody's recovery and keeps nothing verbatim: the model has not seen it.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

from dataplane.adapters.stores import StoreSet
from dataplane.core.effects import Found, Recall, Recalled, Scope
from dataplane.core.text.marker import is_minted_shape

WITHIN_S = 5
T = TypeVar("T")


class Thread:
    """The thread of an event loop. Whoever else calls has to wait for its turn there."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._ident = threading.get_ident()

    def answer(self, question: Callable[[], T]) -> T:
        """What it comes to on the loop, between two steps of any request and never within one.

        TimeoutError when the loop does not come to it in time.
        """
        if threading.get_ident() == self._ident:
            return question()
        answer: Future[T] = Future()
        self._loop.call_soon_threadsafe(_answered, question, answer)
        try:
            return answer.result(WITHIN_S)
        finally:
            answer.cancel()


def _answered(question: Callable[[], T], answer: Future[T]) -> None:
    if not answer.set_running_or_notify_cancel():
        return
    try:
        answer.set_result(question())
    except Exception as error:  # noqa: BLE001  it is raised where it was asked
        answer.set_exception(error)


def opened(
    store: StoreSet, loop: asyncio.AbstractEventLoop | None, owner: Scope, marker_id: str
) -> Recalled:
    """The original of a marker, whichever key of the tenant it was removed for.

    Who may read the tenant's texts, and that the marker is one of that session, was checked.
    Called from another thread than the loop's, which it would hold. A store that does not answer
    in time is a store error.
    """
    if not is_minted_shape(marker_id):
        return Recalled(Found.MALFORMED)
    if loop is None:
        return Recalled(Found.STORE_ERROR)
    wanted = Recall(owner, marker_id, time.time(), keep=False, shared=True)
    asked = asyncio.run_coroutine_threadsafe(store.recall(wanted), loop)
    try:
        return asked.result(WITHIN_S)
    except TimeoutError:
        asked.cancel()
        return Recalled(Found.STORE_ERROR)
