"""Whether a page of somebody else opened a live channel (04 §8.4).

A browser sends the cookies of this site with a request that another site makes, and asks no
leave before a websocket. Programs name no origin.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from controlplane.settings import ENVIRONMENT


def is_foreign(scope: Any) -> bool:
    """True where the browser says that the page is of another origin than this one."""
    headers = {name.lower(): value.decode("latin-1") for name, value in scope["headers"]}
    origin = headers.get(b"origin")
    if origin is None:
        return headers.get(b"sec-fetch-site") == "cross-site"
    ours = {headers.get(b"host", "").lower(), urlsplit(ENVIRONMENT.base_url).netloc.lower()}
    return urlsplit(origin).netloc.lower() not in ours - {""}
