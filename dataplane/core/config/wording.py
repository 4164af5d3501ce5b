"""The texts of every problem: what is wrong, why it matters, what to write instead.

A text is filled in with the facts that the finder knows. The one home of severity and words;
codes are those of 04-controlplane-and-dashboard.md section 2.5.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Severity = Literal["error", "warning", "advice"]


@dataclass(frozen=True, slots=True)
class Wording:
    severity: Severity
    message: str
    reason: str = ""
    fix: str = ""


def _error(message: str, reason: str = "", fix: str = "") -> Wording:
    return Wording("error", message, reason, fix)


def _warning(message: str, reason: str = "", fix: str = "") -> Wording:
    return Wording("warning", message, reason, fix)


def _advice(message: str, reason: str = "", fix: str = "") -> Wording:
    return Wording("advice", message, reason, fix)


SYNTAX = {
    "config.syntax": _error(
        "This is not valid YAML: {what}.", "Nothing behind this point could be read.", "{fix}"
    ),
    "config.encoding": _error(
        "The document contains {what} at byte {offset}.",
        "A document is UTF-8 text without control characters other than tab and line ends.",
        "Remove it, and save the file as UTF-8.",
    ),
    "config.too_large": _error(
        "The document has {size:,} bytes; at most {limit:,} are allowed.",
        "Every node keeps every document in memory.",
        "Remove what repeats the defaults.",
    ),
    "config.too_deep": _error(
        "The document is nested more than {limit} levels deep.",
        "No key of a document needs that many levels.",
        "Check the indentation, and brackets that were never closed.",
    ),
    "config.too_many_nodes": _error(
        "The document has more than {limit:,} {what}.",
        "Aliases are counted as if they were written out.",
        "Write the values out where they are needed.",
    ),
    "config.multiple_documents": _error(
        "A second document begins here.",
        "`---` starts another document, and only one can be in force.",
        "Delete this line and everything behind it.",
    ),
    "config.not_a_mapping": _error(
        "The document is {actual}; it must be a block of keys.",
        "Every setting has a name, such as `pipeline:` or `components:`.",
        "Write `key: value` lines.",
    ),
    "config.duplicate_key": _error(
        "Duplicate key {key}: first at {first}, again at {second}.",
        "Only one of the two could take effect, and which one would be a guess.",
        "Delete one of them.",
    ),
    "config.non_string_key": _error(
        "{shown} cannot be a key: it is {actual}.",
        "Every key of a document is text.",
        "{fix}",
    ),
    "config.merge_key": _error(
        "The merge key << is not supported.",
        "YAML 1.2 has no merge keys; other programs would read this document differently.",
        "Write the keys out.",
    ),
    "config.unsupported_tag": _error(
        "The tag {tag} {what}.",
        "A document holds text, numbers, true and false, lists and blocks.",
        "Delete the tag.",
    ),
    "config.empty_document": _advice(
        "The document is empty.", "An empty tenant document follows the default."
    ),
    "config.null_value": _error(
        "{name} has no value.",
        "Absent and empty are not the same: a key that is not written means its default.",
        "{fix}",
    ),
}

KEYS = {
    "config.unknown_key": _error("{where} has no key {key}.{note}", "{reason}", "{fix}"),
    "config.removed_key": _error("{name} was removed.", "{reason}", "{fix}"),
    "config.refused_key": _error("{name} is refused here.", "{reason}", "{fix}"),
    "config.unknown_component": _error(
        "There is no component {name}.",
        "This build has: {known}.",
        "{fix}",
    ),
    "config.component_takes_no_config": _error(
        "{component} takes no configuration.",
        "A block here would look configured and change nothing.",
        "Delete the block; {component} in the pipeline is what enables it.",
    ),
    "config.duplicate_component": _error(
        "{component} is in the pipeline twice: as entry {first} and as entry {second}.",
        "A component has one block of keys and runs once per request.",
        "Delete one of the entries.",
    ),
    "config.component_not_in_pipeline": _warning(
        "{component} is configured but not in the pipeline, so it does not run.",
        "A block configures, the pipeline enables.",
        "Add {component} to the pipeline, or delete this block.",
    ),
    "config.pipeline_overrides_preset": _advice(
        "This pipeline replaces the one of preset {preset}.",
        "From the preset would come: {would}. Not in this pipeline: {missing}.",
        "Delete `pipeline` to follow the preset's.",
    ),
    "config.empty_pipeline": _advice(
        "The pipeline is empty: every request passes through unchanged.",
        "Nothing is saved and nothing is removed.",
    ),
}

VALUES = {
    "config.wrong_type": _error("{name} must be {wanted}, not {actual}.", "{meaning}", "{fix}"),
    "config.not_in_enum": _error(
        "{name} cannot be {actual}.", "{meaning}", "Write one of: {choices}."
    ),
    "config.unsupported_value": _error(
        "{name} cannot be {actual} yet.", "{reason}", "Write one of: {choices}."
    ),
    "config.below_min": _error(
        "{name} must be at least {bound}; it is {actual}.", "{reason}", "{fix}"
    ),
    "config.above_max": _error(
        "{name} must be at most {bound}; it is {actual}.", "{reason}", "{fix}"
    ),
    "config.not_finite": _error(
        "{name} must be an ordinary number, not {actual}.",
        "Infinity, NaN and numbers too large to hold cannot be compared with anything.",
        "Write the number you mean, or delete the key to use the default.",
    ),
    "config.bad_length": _error(
        "{name} has {size} {what}; allowed are {low} to {high}.", "{meaning}"
    ),
    "config.bad_pattern": _error(
        "{name} contains what is not allowed there.", "{meaning}", "It must match {pattern}."
    ),
    "config.inline_secret": _error(
        "This looks like {what}.",
        "Versions of a document are kept for ever and shown to others, so a credential in one "
        "could never be taken back.",
        "Remove it here and revoke it where it was issued: it has been typed into a document.",
    ),
    "config.limit_exceeded": _error(
        "The pipeline has {count} entries; at most {limit} are allowed.",
        "Every entry runs on every request.",
        "Shorten the pipeline.",
    ),
}

ACROSS = {
    "config.store_disabled_marker_full": _error(
        "{component} leaves markers, but the store is disabled.",
        "marker_mode is full{by_default}: a marker would point at an original that nobody kept.",
        "Write marker_mode: off for {component}, or enable the store.",
    ),
    "config.store_disabled_marker_summary": _warning(
        "What {component} removes cannot be brought back: the store is disabled.",
        "marker_mode summary keeps no original, so the removal is one-way.",
        "Enable the store if the model should be able to ask for the original.",
    ),
    "config.keepalive_idle_too_long": _error(
        "{name} must be below 300; it is {actual}.",
        "The provider's cache lives 300 seconds from the start of the previous request: a later "
        "ping writes it again at 1.25 times the price instead of refreshing it at 0.1 times.",
        "Write 280, or delete the key to use that default.",
    ),
    "config.stash_ttl_above_ttl": _warning(
        "store.stash_ttl_seconds is {stash}, more than store.ttl_seconds, which is {ttl}.",
        "Originals never outlive what the store remembers of them: {ttl} takes effect.",
        "Lower stash_ttl_seconds, or raise ttl_seconds.",
    ),
    "config.schema_too_new": _error(
        "The document has schema {version}; this build knows schemas up to {known}.",
        "It may contain keys whose meaning is not known here.",
        "Upgrade this node, or send it a document of its schema.",
    ),
    "config.preset_not_found": _error(
        "There is no preset {name}.", "Presets you can use: {known}.", "{fix}"
    ),
    "config.preset_version_not_found": _error(
        "Preset {name} has no version {version}.",
        "Versions you can use: {known}.",
        "Write {name} to follow its current version.",
    ),
}

ADVICE = {
    "advice.mask_on_caching_backend": _advice(
        "mask will decline most outputs with the gate cached_prefix.",
        "Outputs old enough to mask are the ones the provider already holds in its prompt cache, "
        "and cold_cache is not set.",
        "Set mask.cold_cache: true to mask at depth once the cache has expired.",
    ),
    "advice.order_lossless_first": _advice(
        "{component} comes after {before}, which removes content.",
        "A lossless component behind a lossy one sees fewer tokens, so its share of the saving "
        "reads too low.",
        "Move {component} before {before}.",
    ),
    "advice.cachesplit_not_last": _advice(
        "cachesplit is not last in the pipeline.",
        "It edits the system prompt, not the messages, so nothing behind it depends on it.",
        "Move cachesplit to the end.",
    ),
    "advice.identical_to_default": _advice(
        "This document says the same as the {below} document.",
        "A copy does not follow when the default changes.",
        "Follow the default instead.",
    ),
    "advice.keepalive_spends": _advice(
        "Keep-alive pings spend the caller's money while the caller is away.",
        "Each ping reads the whole cached prefix once.",
        "Check keepalive_max_pings and keepalive_max_usd_per_ping.",
    ),
}

WORDINGS: dict[str, Wording] = {**SYNTAX, **KEYS, **VALUES, **ACROSS, **ADVICE}
