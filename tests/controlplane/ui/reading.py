"""A page as the text that a browser gets."""

from __future__ import annotations

from django.test import Client


def text_of(client: Client, path: str, **query: str) -> str:
    answer = client.get(path, query)
    assert answer.status_code == 200, path
    return answer.content.decode()
