"""headrace replay: send a recorded session through a gateway and print what it cost."""

from __future__ import annotations

import argparse
import asyncio
import secrets
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import aiohttp
import msgspec

from dataplane.replay.bodies import Style
from dataplane.replay.importer import load
from dataplane.replay.outcome import Run, TurnOutcome
from dataplane.replay.printing import as_json, difference_lines, head_line, total_lines, turn_line
from dataplane.replay.recording import Recording, RecordingError
from dataplane.replay.sender import Pace, Replay, Target

DEFAULT_MODELS = {"anthropic": "claude-sonnet-5", "openai": "gpt-5.6"}
SOME_TURN_FAILED = 1
NOTHING_REPLAYED = 2


def main(argv: Sequence[str] | None = None) -> int:
    """0: every turn was answered; 1: some were refused; 2: no recording, or nobody listens."""
    options = arguments().parse_args(argv)
    try:
        recording = load(options.file).resumed(options.from_turn)
        runs = asyncio.run(replayed(recording, options))
    except RecordingError as error:
        sys.stderr.write(f"{error}\n")
        return NOTHING_REPLAYED
    except aiohttp.ClientError as error:
        sys.stderr.write(f"{options.url}: {error}\n")
        return NOTHING_REPLAYED
    except KeyboardInterrupt:
        return NOTHING_REPLAYED
    if options.json:
        put([msgspec.json.encode(as_json(recording.name, runs)).decode()])
    elif len(runs) > 1:
        put(difference_lines(runs[0], runs[1]))
    return SOME_TURN_FAILED if any(run.failed for run in runs) else 0


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="headrace replay", description=__doc__)
    parser.add_argument("file", type=Path, help="session file, .traj or Claude Code .jsonl")
    parser.add_argument("--url", required=True, help="of the gateway, or of a provider")
    parser.add_argument("--key", default="", help="the tenant's key, cg_live_…")
    parser.add_argument("--provider-key", default="", help="default: a made-up one for each run")
    parser.add_argument("--session", default="", help="session id; default: a new one")
    parser.add_argument("--dialect", choices=("anthropic", "openai"), default="anthropic")
    parser.add_argument("--model", default="", help="instead of the recorded one")
    parser.add_argument(
        "--from-turn", type=int, default=1, help="begin here, as a resumed session does"
    )
    parser.add_argument("--max-tokens", type=int, default=1024)
    parser.add_argument("--cache-ttl", choices=("5m", "1h", "none"), default="5m")
    parser.add_argument("--stream", action="store_true", help="ask for streamed answers")
    add_timing(parser)
    add_comparison(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON value instead")
    return parser


def add_timing(parser: argparse.ArgumentParser) -> None:
    timing = parser.add_mutually_exclusive_group()
    timing.add_argument(
        "--compressed",
        action="store_true",
        help="send at once, naming the recorded times (needs HEADRACE_TEST_CLOCK=1 there)",
    )
    timing.add_argument("--real", action="store_true", help="wait for the gaps (the default)")
    timing.add_argument(
        "--named", action="store_true", help="wait, and name the recorded times up to now"
    )
    parser.add_argument("--speed", type=positive, default=1.0, help="divide the gaps by this")


def add_comparison(parser: argparse.ArgumentParser) -> None:
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--without", action="store_true", help="ask the gateway to change nothing")
    which.add_argument("--compare", action="store_true", help="with, then without, then the gap")


def positive(written: str) -> float:
    value = float(written)
    if not value > 0:
        raise argparse.ArgumentTypeError("must be greater than 0")
    return value


async def replayed(recording: Recording, options: argparse.Namespace) -> list[Run]:
    """The runs that were asked for, one after the other, each told as it goes."""
    bypasses = (False, True) if options.compare else (options.without,)
    runs = []
    for bypass in bypasses:
        label = "without" if bypass else "with"
        if not options.json:
            put([f"{recording.name}, {label} compaction", head_line()])
        replay = Replay(
            recording=recording,
            style=style(recording, options),
            target=target(recording, options, bypass=bypass),
            pace=pace(recording, options),
        )
        runs.append(await replay.run(label, noting(quiet=options.json)))
        if not options.json:
            put(total_lines(runs[-1]))
    return runs


def style(recording: Recording, options: argparse.Namespace) -> Style:
    recorded = recording.model if options.dialect == "anthropic" else ""
    return Style(
        dialect=options.dialect,
        model=options.model or recorded or DEFAULT_MODELS[options.dialect],
        max_tokens=options.max_tokens,
        stream=options.stream,
        cache_ttl=options.cache_ttl,
    )


def target(recording: Recording, options: argparse.Namespace, *, bypass: bool) -> Target:
    """Each run has a session of its own, and unless told otherwise a provider cache of its own."""
    own = secrets.token_hex(4)
    session = options.session or f"{session_name(recording.name)}-{own}"
    return Target(
        url=options.url,
        key=options.key,
        provider_key=options.provider_key or f"sk-replay-{own}-{'0' * 16}",
        session=f"{session}-without" if bypass and options.session else session,
        bypass=bypass,
    )


def session_name(name: str) -> str:
    """The part of a recording's name that a session id may carry."""
    return "".join(c if c.isascii() and (c.isalnum() or c in "._-") else "-" for c in name)[:100]


def pace(recording: Recording, options: argparse.Namespace) -> Pace:
    """Named times end when the last turn is sent, so none lies in the future."""
    if options.named:
        lasts = recording.turns[-1].at
        began = time.time() + lasts / options.speed - lasts
        return Pace(compressed_from=began, speed=options.speed, waits=True)
    return Pace(compressed_from=time.time() if options.compressed else None, speed=options.speed)


def noting(*, quiet: bool) -> Callable[[TurnOutcome], None]:
    return (lambda _: None) if quiet else (lambda outcome: put([turn_line(outcome)]))


def put(lines: Iterable[str]) -> None:
    for line in lines:
        sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
