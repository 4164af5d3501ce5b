"""Gates that several components share: one name, one meaning (01-components.md 1.4)."""

from __future__ import annotations

from dataplane.core.declaration import Gate

NON_TEXT_BLOCKS = Gate(
    "non_text_blocks", "A text rewrite would drop the message's non-text blocks."
)
MARKER_OR_KEPT_VERBATIM = Gate(
    "marker_or_kept_verbatim",
    "Already offloaded by an earlier component, or expanded by the agent.",
)
BELOW_MIN_TOKENS = Gate("below_min_tokens", "The output is smaller than min_tokens.")
CACHED_PREFIX = Gate(
    "cached_prefix",
    "Inside the provider's cached prefix: a new decision there would make the provider write "
    "the suffix again.",
)
MARKER_NO_WIN = Gate(
    "marker_no_win", "The replacement, marker included, would not be smaller than the output."
)
STASH_RESERVE_EXHAUSTED = Gate(
    "stash_reserve_exhausted", "The store refused the original; the output stays verbatim."
)
STASH_UNAVAILABLE = Gate(
    "stash_unavailable", "The store did not answer in time; the output stays verbatim."
)
STASH_COLLISION = Gate(
    "stash_collision", "Another original already has this id; the output stays verbatim."
)
NO_RECOVERY_PATH = Gate(
    "no_recovery_path",
    "The model could not ask for the original on this request, so nothing new is removed.",
)

# Raised by the pipeline on behalf of every offload; a component does not declare them again.
OFFLOAD_GATES = (
    MARKER_NO_WIN,
    STASH_RESERVE_EXHAUSTED,
    STASH_UNAVAILABLE,
    STASH_COLLISION,
    NO_RECOVERY_PATH,
)
