"""Bodies of requests: JSON, or a text in YAML for the operations that take one."""

from __future__ import annotations

import json
from typing import Any

from django.http import HttpRequest
from ninja.parser import Parser


class BodyParser(Parser):
    """A body of text/yaml stands for {"source_yaml": …}."""

    def parse_body(self, request: HttpRequest) -> Any:
        """ValueError for what is not JSON in UTF-8."""
        if request.content_type == "text/yaml":
            return {"source_yaml": request.body.decode()}
        return json.loads(request.body)
