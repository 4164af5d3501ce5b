"""How long a document's check takes, and the pages that whoever writes one waits for."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager
from typing import Any

import aiohttp

from dataplane.core.components import components
from dataplane.core.config import spelling
from dataplane.core.config.check import check
from dataplane.core.config.layers import Context
from dataplane.core.config.presets import BUILT_IN
from tools.bench.saving import TOKEN, Embedded, signed_in, submit

# As if this build could run everything, so that nothing stops at what is missing.
EVERYTHING = Context(
    {name: dataclasses.replace(declared, lacks="") for name, declared in components().items()}
)
LINES, MORE_LINES = 400, 1000
BOMB_BYTES = 256 * 1024


def documents_to_check() -> Iterator[tuple[str, str, int]]:
    """What it is, the text, and how many milliseconds its check may take."""
    yield f"validate the largest preset, {LINES} lines", written_out(LINES), 50
    yield f"validate {MORE_LINES} lines", written_out(MORE_LINES), 150
    yield "refuse an alias bomb of 256 KiB", bomb(), 50


def written_out(lines: int) -> str:
    """The preset with the most components and every key of theirs, with a comment a line."""
    largest = max(BUILT_IN, key=lambda preset: len(_effective(preset.text)["pipeline"]))
    document = _effective(largest.text)
    text = ["components:"]
    for name, block in document["components"].items():
        text += spelling.block(name, block, indent=2, step=2)
    text.append(f"pipeline: {spelling.flow(document['pipeline'], as_json=False)}")
    commented = [f"{line}  # as the preset has it" for line in text]
    notes = [f"# note {number}: why it is as it is" for number in range(lines - len(commented))]
    return "\n".join([*commented, *notes]) + "\n"


def _effective(text: str) -> dict[str, Any]:
    found = check(text, context=EVERYTHING).effective
    if found is None:
        raise RuntimeError("a packaged preset does not validate")
    return found.document


def bomb() -> str:
    lines = ["a0: &a0 [x,x,x,x,x,x,x,x,x,x]"]
    lines += [f"a{i}: &a{i} [{','.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 15)]
    text = "\n".join(lines) + "\n#"
    return text + "x" * (BOMB_BYTES - len(text))


def check_ms(source: str, *, times: int) -> list[float]:
    """Processor time, which other work on the machine disturbs least."""
    taken = []
    for _ in range(times):
        started = time.thread_time()
        check(source, context=EVERYTHING)
        taken.append((time.thread_time() - started) * 1000)
    return taken


async def pages_ms(where: Embedded, *, times: int) -> tuple[list[float], list[float]]:
    """Of the effective view, and of the check that the editor asks for while somebody types."""
    page = f"{where.server.url}/config/bench"
    views, checks = [], []
    async with signed_in(where) as client:
        fields = {"source": "pipeline: [mask]\n", "message": "bench"}
        await submit(client, page, "/config/bench", fields)
        async with client.get(page) as answer:
            token = TOKEN.search(await answer.text())
        typed = {"source": written_out(LINES), "csrfmiddlewaretoken": token[1] if token else ""}
        for _ in range(times):
            views.append(await _ms(client.get(f"{page}/effective")))
            checks.append(await _ms(client.post(f"{page}/check", data=typed)))
    return views, checks


async def _ms(request: AbstractAsyncContextManager[aiohttp.ClientResponse]) -> float:
    """Until the whole answer is here."""
    started = time.perf_counter()
    async with request as answer:
        await answer.read()
        answer.raise_for_status()
    return (time.perf_counter() - started) * 1000
