"""python -m dataplane.simulator: serve until interrupted."""

from __future__ import annotations

import argparse
import asyncio
import signal
import sys

import uvloop

from dataplane.simulator.server import KEPT_REQUESTS, Simulator


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m dataplane.simulator", description=__doc__)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=9100, help="0: any free one")
    parser.add_argument("--delay-ms", type=float, default=0.0, help="pause between stream events")
    parser.add_argument("--minimum-tokens", type=int, default=1024, help="smallest cached prefix")
    parser.add_argument(
        "--record", action="store_true", help="keep requests for GET /_sim/requests?since=N"
    )
    return parser.parse_args()


async def _serve(arguments: argparse.Namespace) -> None:
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopped.set)
    simulator = Simulator(
        host=arguments.host,
        port=arguments.port,
        delay_ms=arguments.delay_ms,
        minimum_tokens=arguments.minimum_tokens,
        keep=KEPT_REQUESTS if arguments.record else 0,
    )
    async with simulator:
        sys.stdout.write(f"simulated provider ready on {simulator.url}\n")
        sys.stdout.flush()
        await stopped.wait()


if __name__ == "__main__":
    uvloop.run(_serve(_arguments()))
