"""The OpenAPI document as it is served and as docs/openapi.json keeps it (04 §6.1, 6.7)."""

from __future__ import annotations

import json
from typing import Any

from controlplane.api.refusals import MEDIA_TYPE

FIRST_REFUSAL = 400
SECURITY = {
    "token": {"type": "http", "scheme": "bearer", "description": "cg_api_…"},
    "session": {"type": "apiKey", "in": "cookie", "name": "cg_session"},
}


def described(schema: Any) -> dict[str, Any]:
    """Refusals are problem documents, whatever the other answers are."""
    found: dict[str, Any] = dict(schema)
    for operations in found["paths"].values():
        for operation in operations.values():
            for status, response in operation["responses"].items():
                content = response.get("content", {})
                if int(status) >= FIRST_REFUSAL and "application/json" in content:
                    response["content"] = {MEDIA_TYPE: content["application/json"]}
    found["components"]["securitySchemes"] = SECURITY
    return found


def as_text(schema: Any) -> str:
    """Stable from one run to the next."""
    return json.dumps(schema, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
