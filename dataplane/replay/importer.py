"""Finds out what kind of recording a file is, by what it holds, and reads it."""

from __future__ import annotations

from pathlib import Path

import msgspec

from dataplane.replay import session_file, trajectory, transcript
from dataplane.replay.recording import Recording, RecordingError


def load(path: Path) -> Recording:
    """Read a session file, a SWE-agent trajectory or a Claude Code transcript.

    RecordingError, with the place in the file, when it is none of them or cannot be read.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise RecordingError(f"{path}: {error}") from error
    try:
        return read(text, path.stem)
    except (KeyError, TypeError, AttributeError) as error:
        raise RecordingError(f"{path}: not the shape it seems to have ({error!r})") from error


def read(text: str, name: str) -> Recording:
    """name: of the recording, where the file holds none."""
    try:
        value = msgspec.json.decode(text)
    except msgspec.DecodeError:
        return transcript.read(text, name)  # several JSON values, one a line
    if session_file.is_session_file(value):
        return session_file.read(value, name)
    if trajectory.is_trajectory(value):
        return trajectory.read(value, name)
    return transcript.read(text, name)
