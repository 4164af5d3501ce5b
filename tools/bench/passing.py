"""What a request costs that is only passed through: the node alone, and embedded with its pages.

Beside the yardstick, a proxy that does nothing, and nginx where that is installed.
"""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import statistics
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil

from tools.bench import bodies, load
from tools.bench.processes import Server, free_port
from tools.bench.saving import embedded
from tools.bench.scenarios import KEY, OFF, Bench, Row, headers

# So many that the ten milliseconds in which the kernel counts processor time do not show.
WARM_UP, REQUESTS, TIMES = 100, 3000, 3
SETTLE_S = 1.5  # until the last requests are reported and stored: that is part of what they cost
SHAPES = ((2, 1), (2, 4), (16, 1), (16, 4))  # KB, and how many side by side
REST_S = 30
Place = tuple[Server, str]  # and the key that it knows

_NGINX = """\
daemon off; master_process off; pid {folder}/pid; error_log {folder}/errors;
events {{}}
http {{
  access_log off; client_body_buffer_size 1m;
  client_body_temp_path {folder}/1; proxy_temp_path {folder}/2; fastcgi_temp_path {folder}/3;
  uwsgi_temp_path {folder}/4; scgi_temp_path {folder}/5;
  upstream provider {{ server {upstream}; keepalive 16; }}
  server {{
    listen 127.0.0.1:{port};
    location / {{
      proxy_pass http://provider; proxy_http_version 1.1; proxy_set_header Connection "";
      proxy_buffering off;
    }}
  }}
}}
"""


async def pass_through(bench: Bench) -> list[Row]:
    with embedded(bench.simulator.url, document=OFF) as whole, _nginx(bench.simulator) as nginx:
        places = {
            "bare proxy": (bench.bare, KEY),
            "node alone": (bench.off, KEY),
            "embedded": (whole.server, whole.key),
        }
        if nginx is not None:
            places["nginx"] = (nginx, KEY)
        rows = [_at_rest(await _resting(whole.server))]
        for kilobytes, side_by_side in SHAPES:
            rows += await _shape(places, kilobytes, side_by_side)
        if nginx is None:
            rows.append(Row("nginx", "not installed", "", None))
        return rows


async def _shape(places: dict[str, Place], kilobytes: int, side_by_side: int) -> list[Row]:
    body = bodies.plain_body(kilobytes << 10)
    taken: dict[str, list[float]] = {name: [] for name in places}
    for _ in range(TIMES):  # interleaved, so that a noisy moment hits all
        for name, place in places.items():
            taken[name].append(await _cpu_ms(place, body, side_by_side))
    cpu_ms = {name: statistics.median(each) for name, each in taken.items()}
    where = (
        f"{kilobytes} KB, {side_by_side} side by side" if side_by_side > 1 else f"{kilobytes} KB"
    )
    rows = [
        Row(f"{name}, {where}: CPU per request", f"{each:.3f} ms", "", None)
        for name, each in cpu_ms.items()
    ]
    for name, bound in (("node alone", 2.5), ("embedded", 3.0)):
        ratio = cpu_ms[name] / cpu_ms["bare proxy"]
        what = f"{name}, {where}: against the bare proxy"
        rows.append(Row(what, f"{ratio:.2f} ×", f"≤ {bound:g} ×", ratio <= bound))
    return rows


async def _cpu_ms(place: Place, body: bytes, side_by_side: int) -> float:
    """Processor milliseconds per request."""
    server, key = place
    url = server.url + "/v1/messages"
    await load.requests(url, [(body, headers(key=key))] * WARM_UP, side_by_side=side_by_side)
    before = server.cpu_s()
    await load.requests(url, [(body, headers(key=key))] * REQUESTS, side_by_side=side_by_side)
    await asyncio.sleep(SETTLE_S)
    return (server.cpu_s() - before) / REQUESTS * 1000


async def _resting(server: Server) -> float:
    """Processor seconds of a second in which nothing is asked."""
    await asyncio.sleep(SETTLE_S)
    before = server.cpu_s()
    await asyncio.sleep(REST_S)
    return (server.cpu_s() - before) / REST_S


def _at_rest(share: float) -> Row:
    return Row("embedded, at rest: share of a core", f"{share:.2%}", "≤ 0.5 %", share <= 0.005)


@contextlib.contextmanager
def _nginx(provider: Server) -> Iterator[Server | None]:
    """None where it is not installed."""
    program = shutil.which("nginx", path="/usr/sbin:/usr/local/sbin:/usr/bin:/usr/local/bin")
    if program is None:
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="headrace-bench-") as folder:
        port, file = free_port(), Path(folder) / "nginx.conf"
        upstream = provider.url.removeprefix("http://")
        file.write_text(_NGINX.format(folder=folder, upstream=upstream, port=port))
        child = subprocess.Popen(  # noqa: S603  our own configuration
            [program, "-c", str(file)], stderr=subprocess.DEVNULL
        )
        try:
            yield Server(f"http://127.0.0.1:{port}", psutil.Process(child.pid), 0.0)
        finally:
            child.terminate()
            child.wait(timeout=10)
