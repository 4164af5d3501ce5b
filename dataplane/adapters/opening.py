"""Open one original for a person on the control plane's pages (04 section 5.7).

It counts as nobody's recovery and keeps nothing verbatim: the model has not seen it.
"""

from __future__ import annotations

import asyncio
import time

from dataplane.adapters.stores import StoreSet
from dataplane.core.effects import Found, Recall, Recalled, Scope
from dataplane.core.expand.marker import is_minted_shape

WITHIN_S = 5


def opened(
    store: StoreSet, loop: asyncio.AbstractEventLoop | None, owner: Scope, marker_id: str
) -> Recalled:
    """The original of a marker that the session owns.

    Called from another thread than the loop's, which it would hold. A store that does not answer
    in time is a store error.
    """
    if not is_minted_shape(marker_id):
        return Recalled(Found.MALFORMED)
    if loop is None:
        return Recalled(Found.STORE_ERROR)
    wanted = Recall(owner, marker_id, time.time(), keep=False)
    asked = asyncio.run_coroutine_threadsafe(store.recall(wanted), loop)
    try:
        return asked.result(WITHIN_S)
    except TimeoutError:
        asked.cancel()
        return Recalled(Found.STORE_ERROR)
