"""Where each V, P and K case of configuration is tested, and why some are not yet.

V and P: 04 §2.11 and 3.6; K: 08-field-cases.md. A name is file::function.
"""

from __future__ import annotations

CORE, ADAPTERS = "tests/dataplane/core/config", "tests/dataplane/adapters"
SERVING = "tests/dataplane/core/serving"
CONFIGS, API = "tests/controlplane/configs", "tests/controlplane/api"
UI, PAGES = "tests/controlplane/ui", "tests/journeys/pages"

NUMBERS = {
    "V": range(1, 10),
    "P": range(1, 7),
    "K": (1, 2, 3, 7, 8, 10, 13, 14, 19),
}
ALL = {f"{letter}-{number:02}" for letter, each in NUMBERS.items() for number in each}

TESTED: dict[str, tuple[str, ...]] = {
    "V-01": (
        f"{CORE}/test_codes.py::test_a_code_is_raised_at_its_place",
        f"{CORE}/test_codes.py::test_every_code_has_a_fixture",
        f"{CORE}/test_fix_removed.py::test_every_removed_and_refused_key_of_the_specification_is_in_the_table",
    ),
    "V-02": (f"{CORE}/test_validate.py::test_a_document_with_ten_faults_gets_ten_errors",),
    "V-03": (f"{CORE}/test_registry.py::test_off_is_a_text",),
    "V-04": (f"{CORE}/test_parse.py::test_a_duplicate_key_names_both_places",),
    "V-05": (
        f"{CORE}/test_registry.py::test_a_value_other_than_the_default_changes_that_key_only",
    ),
    "V-06": (
        f"{CORE}/test_fix_removed.py::test_the_fix_of_a_removed_or_refused_key_leaves_a_valid_document",
    ),
    "V-07": (f"{CORE}/test_parse.py::test_an_alias_bomb_is_refused_by_counting",),
    "V-08": (f"{CORE}/test_resolve.py::test_a_node_finds_the_same_errors_as_the_editor",),
    "V-09": (
        f"{CORE}/test_validate.py::test_a_credential_is_refused_and_never_repeated",
        f"{CONFIGS}/test_field_cases.py::"
        "test_v_09_a_credential_is_refused_by_every_way_in_and_is_in_no_log",
    ),
    "P-01": (
        f"{CORE}/test_properties.py::"
        "test_the_highest_layer_that_writes_a_leaf_wins_whatever_the_others_write",
    ),
    "P-02": (
        f"{CORE}/test_resolve.py::test_the_origin_of_a_value_is_a_line_that_contains_its_key",
    ),
    "P-03": (
        f"{CONFIGS}/test_layers.py::"
        "test_following_the_default_again_is_a_version_and_numbering_goes_on",
        f"{API}/test_documents.py::test_following_the_default_again_is_a_tombstone",
    ),
    "P-04": (
        f"{CONFIGS}/test_layers.py::"
        "test_a_promotion_gives_each_follower_one_revision_and_the_pinned_none",
        f"{CONFIGS}/test_field_cases.py::"
        "test_p_04_a_promotion_gives_each_follower_one_revision_however_many_there_are",
    ),
    "P-05": (
        f"{CORE}/test_properties.py::"
        "test_two_effective_documents_have_one_hash_exactly_when_they_have_one_form",
        f"{CORE}/test_properties.py::test_another_process_finds_the_same_hash",
    ),
    "P-06": (f"{CORE}/test_resolve.py::test_a_built_in_preset_validates_without_an_error",),
    "K-01": (
        f"{CORE}/test_fix.py::test_a_field_case_is_refused_at_every_path_it_names",
        f"{CONFIGS}/test_field_cases.py::"
        "test_case_k_01_02_03_the_api_names_every_place_of_the_case",
    ),
    "K-02": (f"{CORE}/test_validate.py::test_an_unknown_key_is_refused_wherever_it_stands",),
    "K-03": (f"{CORE}/test_parse.py::test_a_duplicate_key_in_json_is_refused_as_in_yaml",),
    "K-07": (
        f"{API}/test_documents.py::test_a_save_without_a_state_or_on_an_old_one_is_refused",
        f"{API}/test_checks.py::test_a_preset_is_cloned_saved_promoted_and_rolled_back",
        f"{UI}/configs/test_text.py::"
        "test_a_save_that_comes_too_late_shows_three_texts_and_brings_them_together",
        f"{CONFIGS}/test_field_cases.py::"
        "test_case_k_07_a_rollback_based_on_an_older_state_loses_nothing",
    ),
    "K-08": (
        f"{CONFIGS}/test_field_cases.py::test_case_k_08_a_save_that_is_undone_is_never_pushed",
        f"{CONFIGS}/test_field_cases.py::"
        "test_case_k_08_a_late_commit_is_pushed_once_when_a_reader_can_fetch_it",
    ),
    "K-10": (
        "tests/controlplane/fleet/test_embedded_source.py::"
        "test_a_commit_of_another_process_is_found_by_looking",
    ),
    "K-13": (
        f"{ADAPTERS}/serving/test_snapshots.py::"
        "test_case_k_13_what_does_not_validate_leaves_the_earlier_document_serving",
        f"{PAGES}/test_config_story.py::"
        "test_a_document_that_the_node_refuses_is_shown_with_its_answer_and_agents_go_on",
    ),
    "K-19": (
        f"{SERVING}/test_overrides.py::test_nothing_is_honoured_without_the_policy",
        f"{UI}/configs/test_history.py::test_the_effective_view_says_where_each_value_comes_from",
        f"{UI}/configs/test_history.py::"
        "test_case_k_19_the_effective_view_names_the_environment_that_wins",
        f"{UI}/configs/test_history.py::test_case_k_19_a_save_names_what_overrides_it",
        f"{API}/test_documents.py::test_case_k_19_a_save_answers_with_what_overrides_it",
        "tests/controlplane/cli/test_headrace.py::"
        "test_case_k_19_a_plan_and_a_check_warn_of_what_overrides_them",
    ),
}

# Cases that cannot hold yet: what they ask for is not part of the product so far.
LATER = {
    "K-14": "There is no subset of sessions yet: it comes with rollouts.",
}

# What is not tested of a case that is.
OPEN_PARTS = {
    "V-07": "The times stand in docs/performance.md: no test is timed.",
    "P-05": "One version of Python is supported and tested so far.",
    "K-10": "Four remote nodes and a lost Redis link come with the fleet.",
}
