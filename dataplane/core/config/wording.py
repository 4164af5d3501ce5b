"""The texts of every problem: what is wrong, why it matters, what to write instead.

A text is filled in with the facts that the finder knows. The one home of severity and words;
codes are those of 04-controlplane-and-dashboard.md 2.5.
"""

from __future__ import annotations

from dataplane.core.config.advice import ADVICE, PLACES
from dataplane.core.config.phrases import Wording, advice, error, warning

SYNTAX = {
    "config.syntax": error(
        "This is not valid YAML: {what}.", "Nothing behind this point could be read.", "{fix}"
    ),
    "config.encoding": error(
        "The document contains {what} at byte {offset}.",
        "A document is UTF-8 text without control characters other than tab and line ends.",
        "Remove it, and save the file as UTF-8.",
    ),
    "config.too_large": error(
        "The document has {size:,} bytes; at most {limit:,} are allowed.",
        "Every node keeps every document in memory.",
        "Remove what repeats the defaults.",
    ),
    "config.too_deep": error(
        "The document is nested more than {limit} levels deep.",
        "No key of a document needs that many levels.",
        "Check the indentation, and brackets that were never closed.",
    ),
    "config.too_many_nodes": error(
        "The document has more than {limit:,} {what}.",
        "Aliases are counted as if they were written out.",
        "Write the values out where they are needed.",
    ),
    "config.multiple_documents": error(
        "A second document begins here.",
        "`---` starts another document, and only one can be in force.",
        "Delete this line and everything behind it.",
    ),
    "config.not_a_mapping": error(
        "The document is {actual}; it must be a block of keys.",
        "Every setting has a name, such as `pipeline:` or `components:`.",
        "Write `key: value` lines.",
    ),
    "config.duplicate_key": error(
        "Duplicate key {key}: first at {first}, again at {second}.",
        "Only one of the two could take effect, and which one would be a guess.",
        "Delete one of them.",
    ),
    "config.non_string_key": error(
        "{shown} cannot be a key: it is {actual}.",
        "Every key of a document is text.",
        "{fix}",
    ),
    "config.merge_key": error(
        "The merge key << is not supported.",
        "YAML 1.2 has no merge keys; other programs would read this document differently.",
        "Write the keys out.",
    ),
    "config.unsupported_tag": error(
        "The tag {tag} {what}.",
        "A document holds text, numbers, true and false, lists and blocks.",
        "Delete the tag.",
    ),
    "config.empty_document": advice(
        "The document is empty.", "An empty tenant document follows the default."
    ),
    "config.null_value": error(
        "{name} has no value.",
        "Absent and empty are not the same: a key that is not written means its default.",
        "{fix}",
    ),
}

KEYS = {
    "config.unknown_key": error("{where} has no key {key}.{note}", "{reason}", "{fix}"),
    "config.removed_key": error("{name} was removed.", "{reason}", "{fix}"),
    "config.refused_key": error("{name} is refused here.", "{reason}", "{fix}"),
    "config.not_in_effect": warning(
        "{name} is not in effect in this build.",
        "It is checked and kept, but obeying it needs {lacks}.",
        "Delete it, or leave it for a later release.",
    ),
    "config.deprecated_key": warning(
        "{name} will be removed in the next release; it still counts.",
        "{instead} says the same and stays.",
        "Write {instead} instead.",
    ),
    "config.component_unavailable": error("{what} cannot run in this build.", "{reason}", "{fix}"),
    "config.unknown_component": error(
        "There is no component {name}.",
        "This build has: {known}.",
        "{fix}",
    ),
    "config.component_takes_no_config": error(
        "{component} takes no configuration.",
        "A block here would look configured and change nothing.",
        "Delete the block; {component} in the pipeline is what enables it.",
    ),
    "config.duplicate_component": error(
        "{component} is in the pipeline twice: as entry {first} and as entry {second}.",
        "A component has one block of keys and runs once per request.",
        "Delete one of the entries.",
    ),
    "config.component_not_in_pipeline": warning(
        "{component} is configured but not in the pipeline, so it does not run.",
        "A block configures, the pipeline enables.",
        "Add {component} to the pipeline, or delete this block.",
    ),
    "config.pipeline_overrides_preset": advice(
        "This pipeline replaces the one of preset {preset}.",
        "From the preset would come: {would}. Not in this pipeline: {missing}.",
        "Delete `pipeline` to follow the preset's.",
    ),
    "config.empty_pipeline": advice(
        "The pipeline is empty: every request passes through unchanged.",
        "Nothing is saved and nothing is removed.",
    ),
}

VALUES = {
    "config.wrong_type": error("{name} must be {wanted}, not {actual}.", "{meaning}", "{fix}"),
    "config.not_in_enum": error(
        "{name} cannot be {actual}.", "{meaning}", "Write one of: {choices}."
    ),
    "config.unsupported_value": error(
        "{name} cannot be {actual} yet.", "{reason}", "Write one of: {choices}."
    ),
    "config.below_min": error(
        "{name} must be at least {bound}; it is {actual}.", "{reason}", "{fix}"
    ),
    "config.above_max": error("{name} must be {bound}; it is {actual}.", "{reason}", "{fix}"),
    "config.not_finite": error(
        "{name} must be an ordinary number, not {actual}.",
        "Infinity, NaN and numbers too large to hold cannot be compared with anything.",
        "Write the number you mean, or delete the key to use the default.",
    ),
    "config.bad_length": error(
        "{name} has {size} {what}; allowed are {low} to {high}.", "{meaning}"
    ),
    "config.bad_pattern": error(
        "{name} contains what is not allowed there.", "{meaning}", "It must match {pattern}."
    ),
    "config.inline_secret": error(
        "This looks like {what}.",
        "Versions of a document are kept for ever and shown to others, so a credential in one "
        "could never be taken back.",
        "Remove it here and revoke it where it was issued: it has been typed into a document.",
    ),
    "config.limit_exceeded": error(
        "The {what} has {count}; at most {limit} are allowed.", "{reason}", "{fix}"
    ),
    "config.removed_value": error(
        "{name} can no longer be {actual}.", "{reason}", "Write one of: {choices}."
    ),
    "config.filter_invalid": error(
        "This filter does not load: {what}",
        "At {at}. A filter that does not load would look like one that never matches.",
        "Mend the filter document.",
    ),
    "config.regex_invalid": error(
        "A regular expression of this filter is wrong. {what}", "At {at}.", "Mend the expression."
    ),
    "config.regex_too_slow": error(
        "A regular expression of this filter could run for ever.",
        "{what} At {at}. It would hold up the requests of everybody.",
        "Repeat one thing at a time, or begin the alternatives with different characters.",
    ),
    "config.secret_not_found": error(
        "There is no secret named {name}.",
        "{known}",
        "Store it under this name first, or write the name of one that is there.",
    ),
    "config.url_not_allowed": error(
        "{name} is not the address of an enabled upstream.",
        "Requests go only where this deployment allows them to. Enabled: {known}.",
        "Write one of these addresses, or have this one added as an upstream.",
    ),
}

ACROSS = {
    "config.must_run_alone": error(
        "{component} must be the only component of the pipeline; beside it: {others}.",
        "It changes the number of messages, so what another component edits in place would no "
        "longer be where it was.",
        "Leave {component} alone in the pipeline, or take it out.",
    ),
    "config.store_required": error(
        "{component} needs the store, which is disabled.",
        "{reason}",
        "Enable the store, or take {component} out of the pipeline.",
    ),
    "config.irreversible_mode": warning(
        "What {component} removes cannot be brought back: marker_mode is {mode}.",
        "Only full keeps the original where the model can ask for it.{policy}",
        "Write marker_mode: full, or delete the key.",
    ),
    "config.nothing_to_do": error(
        "{component} has nothing left to do.",
        "It is in the pipeline, but {why}.",
        "Change one of these keys, or take {component} out of the pipeline.",
    ),
    "config.conflicting_keys": error(
        "{name} and {other} exclude each other.",
        "The second is written {at}; only one of the two could take effect.",
        "Delete one of them.",
    ),
    "config.requires_key": error(
        "{name} needs {other}.",
        "Without it, {name} has no effect.",
        "Write {other} as well, or delete {name}.",
    ),
    "config.store_disabled_marker_full": error(
        "{component} leaves markers, but the store is disabled.",
        "marker_mode is full{by_default}: a marker would point at an original that nobody kept.",
        "Write marker_mode: off for {component}, or enable the store.",
    ),
    "config.store_disabled_marker_summary": warning(
        "What {component} removes cannot be brought back: the store is disabled.",
        "marker_mode summary keeps no original, so the removal is one-way.",
        "Enable the store if the model should be able to ask for the original.",
    ),
    "config.keepalive_idle_too_long": error(
        "{name} must be below 300; it is {actual}.",
        "The provider's cache lives 300 seconds from the start of the previous request: a later "
        "ping writes it again at 1.25 times the price instead of refreshing it at 0.1 times.",
        "Write 280, or delete the key to use that default.",
    ),
    "config.stash_ttl_above_ttl": warning(
        "store.stash_ttl_seconds is {stash}, more than store.ttl_seconds, which is {ttl}.",
        "Originals never outlive what the store remembers of them: {ttl} takes effect.",
        "Lower stash_ttl_seconds, or raise ttl_seconds.",
    ),
    "config.schema_too_new": error(
        "The document has schema {version}; this build knows schemas up to {known}.",
        "It may contain keys whose meaning is not known here.",
        "Upgrade this node, or send it a document of its schema.",
    ),
    "config.schema_too_old": error(
        "The document has schema {version}; this build knows schemas from {known} on.",
        "What its keys meant then is not known here.",
        "Save the document again, so that it is written in the current schema.",
    ),
    "config.preset_archived": warning(
        "Preset {name} is archived.",
        "Those who use it keep it; it is no longer meant for new uses.",
        "Choose another preset.",
    ),
    "config.preset_cycle": error(
        "The presets behind {name} {what}: {chain}.",
        "Each is read before the one that extends it, at most {limit} in a row.",
        "Name a preset that does not lead back here.",
    ),
    "config.preset_not_found": error(
        "There is no preset {name}.", "Presets you can use: {known}.", "{fix}"
    ),
    "config.preset_version_not_found": error(
        "Preset {name} has no version {version}.",
        "Versions you can use: {known}.",
        "Write {name} to follow its current version.",
    ),
}

WORDINGS: dict[str, Wording] = {**SYNTAX, **KEYS, **VALUES, **ACROSS, **PLACES, **ADVICE}
