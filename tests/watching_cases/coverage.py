"""Where each D and A case of 08-field-cases.md is tested, and what of them is not yet."""

from __future__ import annotations

NUMBERS = {
    "D": (1, 2, 5, 6, 7, 9, 10, 12, 13, 14, 15),
    "A": (1, 2, 5, 6, 8, 9, 10, 13),
}
ALL = {f"{letter}-{number:02}" for letter, each in NUMBERS.items() for number in each}

_AGREEMENT = "tests/controlplane/telemetry/test_agreement.py::"
_INGEST = "tests/controlplane/telemetry/test_ingest.py::"
_SSE = "tests/controlplane/live/test_sse.py::"
_HUB = "tests/controlplane/live/test_hub.py::"
_LIVE_PAGE = "tests/journeys/pages/test_live.py::"
_PAGES = "tests/journeys/pages/test_pages.py::"
_WRITER = "tests/controlplane/telemetry/test_writer.py::"
_WORKERS = "tests/dataplane/telemetry/test_workers.py::"

TESTS: dict[str, tuple[str, ...]] = {
    "D-01": (
        _SSE + "test_case_d_01_connections_that_are_reset_give_everything_back",
        _SSE + "test_a_page_that_leaves_gives_its_place_back",
    ),
    "D-02": (
        _SSE + "test_case_d_02_a_slow_viewer_and_a_normal_one_end_on_the_exact_total",
        _HUB + "test_a_reader_with_too_much_waiting_starts_anew_and_holds_one_frame",
    ),
    "D-05": (
        _LIVE_PAGE + "test_a_gate_count_climbs_and_is_there_again_after_the_server_was_killed",
        _LIVE_PAGE + "test_signing_out_elsewhere_ends_the_stream_and_asks_to_sign_in",
        _PAGES + "test_a_gateway_that_is_gone_is_said",
    ),
    "D-06": (_PAGES + "test_a_refresh_moves_neither_the_focus_nor_an_open_note_nor_the_scroll",),
    "D-07": (
        _WORKERS + "test_case_d_07_every_worker_says_the_same_of_the_host_and_never_less",
        _WORKERS
        + "test_case_d_07_a_worker_that_is_killed_and_replaced_takes_nothing_off_the_totals",
    ),
    "D-09": (
        "tests/dataplane/telemetry/test_metrics.py::"
        "test_case_d_09_ten_thousand_sessions_add_no_series",
    ),
    "D-10": (
        _AGREEMENT + "test_every_candidate_is_accounted_for",
        _INGEST + "test_candidates_and_requests_of_a_gate_are_kept_apart",
    ),
    "D-12": (
        "tests/dataplane/adapters/figures/test_uplink.py::"
        "test_a_full_queue_drops_rows_and_says_so_but_keeps_every_counter",
        _INGEST + "test_rows_that_a_node_dropped_are_remembered_and_their_counters_count",
    ),
    "D-13": (
        "tests/journeys/pages/test_alarms.py::"
        "test_a_lost_original_is_on_screen_within_five_seconds_and_stays_until_resolved",
        "tests/controlplane/alarms/test_watching.py::"
        "test_a_loss_that_happened_while_nobody_looked_is_found_by_the_next_process",
        "tests/controlplane/alarms/test_opening.py::"
        "test_a_loss_in_another_session_fires_an_acknowledged_alarm_again",
    ),
    "D-14": (
        "tests/journeys/test_streams.py::"
        "test_two_hundred_pages_see_every_cursor_and_resume_after_the_server_was_killed",
        _HUB + "test_saying_farewell_sends_everybody_away_and_lets_nobody_in",
    ),
    "D-15": (
        _WRITER + "test_a_locked_database_keeps_nothing_and_takes_the_batch_later",
        _WRITER + "test_a_full_database_keeps_nothing_and_takes_the_batch_later",
        _WRITER + "test_figures_of_a_database_without_tables_are_unknown_and_no_page_fails",
    ),
    "A-01": (_AGREEMENT + "test_the_row_of_a_case_says_what_it_cost",),
    "A-02": (_AGREEMENT + "test_the_row_of_a_case_says_what_it_cost",),
    "A-05": (
        _AGREEMENT + "test_case_a_05_a_client_that_leaves_leaves_one_row_with_its_input_exact",
    ),
    "A-06": (
        _AGREEMENT + "test_the_row_of_a_case_says_what_it_cost",
        _INGEST + "test_unknown_cost_is_kept_as_unknown",
        _INGEST + "test_a_price_of_zero_is_a_cost_of_zero",
    ),
    "A-08": (_AGREEMENT + "test_case_a_08_the_providers_own_caching_is_no_saving_of_ours",),
    "A-09": (
        _AGREEMENT + "test_case_a_09_what_was_removed_once_is_unique_once_however_often_it_is_sent",
    ),
}

# Cases that cannot hold yet: what they ask for is not part of the product so far.
LATER = {
    "A-10": "A net figure needs the premium and the asks of the sweep, which comes later.",
    "A-13": "Nothing asks a model on its own yet: the sweep's asks come with the sweep.",
}

# What is not tested of a case that is.
OPEN_PARTS = {
    "A-05": "The output side is what the provider last reported, not an estimate of what arrived.",
    "A-06": "The sweep's gate on an unknown read rate comes with the sweep.",
    "D-10": "The sweep's inventory gate comes with the sweep.",
    "D-13": "The stop of a rollout comes with rollouts.",
    "D-14": "How proxied streams drain is tested with the data plane.",
    "D-15": "A restart of a worker while everything is down is tested with the nodes.",
}
