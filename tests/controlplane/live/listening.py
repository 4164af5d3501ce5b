"""A process of its own that says a line for each wake-up it hears, after one when it listens."""

from __future__ import annotations

import asyncio
import sys

import django

from controlplane.settings.environment import name_settings_module


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    name_settings_module()
    django.setup()
    from controlplane.live import wakes

    say("listening")
    asyncio.run(wakes.listen(lambda: say("woken")))
