"""Gates that several components share: one name, one meaning (01-components.md 1.4)."""

from __future__ import annotations

from dataplane.core.port.signals import Gate

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
NO_NEW_OFFLOADS = Gate(
    "no_new_offloads",
    "The operator's switch lets nothing new be removed; earlier removals are repeated.",
)
REPLAY_ONLY = Gate(
    "replay_only",
    "The session only repeats what it removed before; nothing new is removed from it.",
)
REFUSED_BY_PROVIDER = Gate(
    "refused_by_provider",
    "The provider refused a body with this replacement and took it with the original.",
)

EMPTY = Gate("empty", "The output has no text.")
EMPTY_OR_MARKER_PRESENT = Gate(
    "empty_or_marker_present", "The output has no text, or an earlier component has replaced it."
)
KEPT_VERBATIM_AFTER_EXPAND = Gate(
    "kept_verbatim_after_expand", "The agent asked for this content back, so it stays."
)
BELOW_MIN_SIZE = Gate("below_min_size", "The output has fewer bytes than min_size.")
BELOW_OUTPUT_FLOOR = Gate(
    "below_output_floor", "The output is smaller than the floor for a single output."
)
NO_MODEL = Gate("no_model", "There was no model to ask on this request.")
BELOW_REQUEST_TRIGGER = Gate(
    "below_request_trigger", "The request has not reached the sizes of the trigger."
)
WINDOW_NOT_EXACT = Gate(
    "window_not_exact", "A share of the window was asked for, and the model's window is not known."
)
CACHE_STATE_DECLINED = tuple(
    Gate(
        f"cache_state_declined_{phase}",
        f"The prompt cache was {phase.replace('_', '-')}, which cache_state does not allow.",
    )
    for phase in ("warm", "pre_expiry", "cold", "unknown")
)

READ_BY_CODE = Gate(
    "read_by_code",
    "A running program reads the result and not the model, so it arrives as the tool printed it.",
)

# Raised by the pipeline on behalf of every component; none declares them again.
RUN_GATES = (READ_BY_CODE,)
# The same of every offload.
OFFLOAD_GATES = (
    *RUN_GATES,
    MARKER_NO_WIN,
    STASH_RESERVE_EXHAUSTED,
    STASH_UNAVAILABLE,
    STASH_COLLISION,
    NO_RECOVERY_PATH,
    NO_NEW_OFFLOADS,
    REPLAY_ONLY,
    REFUSED_BY_PROVIDER,
)
