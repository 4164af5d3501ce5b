"""The built-in presets, as documents.

One that needs a component this build cannot run is listed all the same: naming it is
config.component_unavailable at the name.
Source: 04-controlplane-and-dashboard.md 3.1; 01-components.md 4.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

_VERSION = re.compile("[1-9][0-9]{0,8}")


@dataclass(frozen=True, slots=True)
class Preset:
    """One version of a preset. text: YAML. note: one sentence for the picker. archived: not for
    new uses.
    """

    name: str
    version: int
    text: str
    note: str = ""
    archived: bool = False


_TRIO = ("format", "textclean", "searchfold")


def _listed(*names: str) -> str:
    """A document that is a pipeline and nothing else."""
    return "pipeline:\n" + "".join(f"  - {name}\n" for name in names)


BUILT_IN = (
    Preset(
        "house",
        1,
        """\
pipeline:
  - format
  - dedup
  - toon
  - cmdfilter
  - searchfold
  - textclean
  - extract
  - cachesplit
  - toolfilter
components:
  extract:
    min_tokens: 400
""",
        "Deterministic, without a model.",
    ),
    Preset(
        "housellm",
        1,
        """\
pipeline:
  - format
  - dedup
  - toon
  - cmdfilter
  - searchfold
  - textclean
  - extract_llm
  - extract_llm_sweep
  - extract
  - cachesplit
  - toolfilter
components:
  extract:
    min_tokens: 400
  extract_llm:
    aggressiveness: medium
    context: recent
    context_messages: 2
    economic_gate: true
    fire_on: pressure
    llm_every_n_requests: 1
    llm_max_per_request: 8
    llm_max_per_session: 0
    min_tokens: 3000
    model:
      model: claude-haiku-4-5
      source: incoming
    strategy: code
    trigger:
      min_request_tokens: 3000
  extract_llm_sweep:
    min_tokens: 1000
""",
        "house with both passes that ask a model; it spends money of its own.",
    ),
    Preset(
        "codesmart",
        1,
        """\
pipeline:
  - format
  - textclean
  - searchfold
  - dedup
  - failed_run
  - cmdfilter
  - extract_llm
  - extract
  - linecap
  - cachesplit
components:
  extract:
    min_tokens: 400
  extract_llm:
    strategy: code
    model:
      source: config
    min_tokens: 3000
    trigger:
      min_request_tokens: 3000
    llm_every_n_requests: 1
    llm_max_per_request: 4
""",
        "For coding agents, with the deployment's compaction model.",
    ),
    Preset(
        "codesafe",
        1,
        """\
pipeline:
  - format
  - textclean
  - searchfold
  - dedup
  - failed_run
  - cmdfilter
  - extract
  - collapse
  - linecap
  - cachesplit
components:
  collapse:
    max_tokens: 3000
""",
        "For coding agents, without a model.",
    ),
    Preset("off", 1, "pipeline: []\n", "Pass-through; the control arm of every comparison."),
    Preset(
        "cache",
        1,
        "pipeline:\n  - cachesplit\n",
        "No content dropped, no markers, no injected tool.",
    ),
    Preset(
        "safe",
        1,
        _listed("format", "textclean", "searchfold", "cachesplit"),
        "Lossless only.",
    ),
    Preset(
        "balanced",
        1,
        _listed(*_TRIO, "dedup", "failed_run", "cmdfilter", "linecap", "cachesplit"),
        "For traffic that is not an agent's.",
    ),
    Preset(
        "aggressive",
        1,
        _listed(
            *_TRIO, "dedup", "failed_run", "cmdfilter", "smartcrush", "extract", "extract_llm",
            "linecap", "cachesplit",
        ),
        "Deeper savings, with a model.",
    ),
    Preset(
        "coding",
        1,
        _listed(*_TRIO, "dedup", "cmdfilter", "extract", "linecap", "cachesplit"),
        "For coding agents, deterministic.",
    ),
    Preset(
        "mcp",
        1,
        _listed("format", "textclean", "smartcrush", "cachesplit"),
        "For long arrays of like items.",
    ),
    Preset(
        "agent",
        1,
        _listed(
            *_TRIO, "dedup", "failed_run", "mask", "extract", "extract_llm", "cachesplit"
        ),
        "For long agent sessions; mask removes the most.",
    ),
    Preset(
        "general",
        1,
        _listed(
            *_TRIO, "dedup", "failed_run", "cmdfilter", "mask", "extract", "extract_llm",
            "collapse", "linecap", "cachesplit",
        ),
        "All-round, with a model.",
    ),
    Preset("summarize", 1, _listed("summarize"), "For one long transcript; it runs alone."),
    Preset(
        "agentdiet",
        1,
        """\
pipeline:
  - format
  - agentdiet
  - cachesplit
components:
  agentdiet:
    delay_steps: 2
    context_steps: 1
    min_step_tokens: 500
    min_saved_tokens: 400
    max_keep_ratio: 0.8
    model:
      source: config
""",
        "A published baseline to compare with.",
    ),
)  # fmt: skip


def split(reference: str) -> tuple[str, int | None]:
    """ "name" or "name@3": the name, and the version when one is pinned (0 for an odd one)."""
    name, at, version = reference.partition("@")
    if not at:
        return name, None
    return name, int(version) if _VERSION.fullmatch(version) else 0


def find(presets: Iterable[Preset], reference: str) -> Preset | None:
    """The preset that a document names; of an unpinned name, the first that is listed."""
    name, version = split(reference)
    return next(
        (preset for preset in presets if preset.name == name and version in (None, preset.version)),
        None,
    )
