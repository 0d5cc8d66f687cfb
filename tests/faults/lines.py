"""The faults that must not break ralph, by number: the tests that inject each, or why it is not injected.

A test is `folder/file::function` below `tests/`, without `test_`. `test_lines` holds this against the tests
that are there.
"""

PROOFS: dict[int, tuple[str, ...]] = {
    1: (
        "faults/crash_matrix::killed_at_any_call_the_state_is_before_or_after",
        "faults/kill_9::a_killed_run_is_resumed_and_nothing_is_done_twice",
        "store/killed_writer::killing_a_writer_leaves_whole_documents",
    ),
    2: (
        "store/killed_writer::the_nth_failing_call_leaves_old_or_new",
        "store/killed_writer::an_atomic_write_is_old_or_new_at_every_call",
        "faults/unwritable::a_run_that_can_no_longer_write_ends_in_order",
    ),
    3: (
        "faults/crash_matrix::a_disk_that_fills_up_stops_the_run_and_the_next_one_goes_on",
        "faults/unwritable::a_run_that_can_no_longer_write_ends_in_order",
        "faults/full_disk::a_full_disk_is_named_with_its_space_and_nothing_is_lost",
        "faults/full_disk::a_run_on_a_full_disk_stops_and_goes_on_when_there_is_space",
    ),
    4: ("store/killed_writer::a_read_only_directory_can_be_read_and_says_why_not_written",),
    5: (
        "store/damage::a_damaged_document_is_set_aside_and_restored",
        "store/damage::truncation_never_makes_an_empty_plan",
        "faults/hostile_dot::what_is_broken_is_said_and_nothing_is_taken_for_finished",
    ),
    6: (
        "store/damage::a_damaged_document_is_set_aside_and_restored",
        "store/journal::a_tail_of_zeros_is_set_aside",
        "faults/hostile_dot::what_is_broken_is_said_and_nothing_is_taken_for_finished",
    ),
    7: (
        "store/damage::a_damaged_document_is_set_aside_and_restored",
        "faults/hostile_dot::what_is_broken_is_said_and_nothing_is_taken_for_finished",
    ),
    8: ("store/damage::harmless_differences_load_silently",),
    9: (
        "store/damage::a_damaged_document_is_set_aside_and_restored",
        "config/settings::bytes_that_are_not_utf8_are_named",
    ),
    10: (
        "store/migrations::an_older_document_is_migrated_with_a_backup",
        "store/migrations::every_older_version_of_every_document_has_a_migration",
    ),
    11: (
        "store/migrations::a_newer_document_is_refused_and_left_alone",
        "store/migrations::a_newer_document_is_shown_as_far_as_it_is_understood_and_not_written",
        "store/migrations::a_newer_plan_that_would_look_empty_is_not_shown",
        "faults/hostile_dot::what_is_broken_is_said_and_nothing_is_taken_for_finished",
    ),
    12: ("store/project::unknown_fields_survive_a_change",),
    13: ("store/damage::a_mistake_in_an_edited_plan_is_named_and_left_alone",),
    14: (
        "store/damage::a_mistake_in_an_edited_plan_is_named_and_left_alone",
        "store/damage::values_of_another_type_are_read_or_named",
    ),
    15: (
        "store/damage::costs_are_numbers_that_a_limit_can_hold",
        "domain/limits::no_strange_number_switches_a_limit_off",
        "config/settings::a_cost_limit_is_finite_and_not_negative",
    ),
    16: (
        "store/damage::a_damaged_document_is_set_aside_and_restored",
        "faults/hostile_dot::what_is_broken_is_said_and_nothing_is_taken_for_finished",
    ),
    17: (
        "domain/plan::a_workable_plan_is_told_from_one_that_is_not",
        "faults/hostile_dot::what_is_broken_is_said_and_nothing_is_taken_for_finished",
    ),
    18: (
        "domain/plan::a_cycle_of_any_length_is_found_with_its_path",
        "scenario/trouble::a_plan_with_a_cycle_is_refused_before_anything_is_spent",
    ),
    19: (
        "faults/size::what_a_task_waits_for_is_told_in_time_that_grows_with_the_plan",
        "faults/size::a_large_project_opens_in_seconds",
        "tui/widgets::a_board_of_ten_thousand_renders_only_what_is_seen",
    ),
    20: (
        "faults/hostile_dot::a_huge_description_is_bounded_and_an_id_is_no_path",
        "store/damage::a_huge_file_is_an_error_with_its_size",
    ),
    21: (
        "faults/hostile_dot::no_id_is_a_path",
        "domain/plan::an_id_that_nobody_can_name_is_refused_with_its_position",
        "faults/hostile_dot::a_huge_description_is_bounded_and_an_id_is_no_path",
        "domain/plan::an_id_that_nobody_can_see_is_refused_with_its_position",
        "store/text_files::the_name_of_a_log_stays_in_its_directory",
    ),
    22: (
        "store/project::a_dot_directory_that_cannot_be_used_is_refused",
        "faults/hostile_dot::what_is_broken_is_said_and_nothing_is_taken_for_finished",
    ),
    23: (
        "store/damage::something_else_than_a_file_is_set_aside_without_hanging",
        "store/damage::a_fifo_of_injections_or_of_a_text_does_not_hang",
        "store/damage::a_symlink_out_of_the_project_is_refused",
        "store/damage::a_hard_link_is_replaced_and_never_written_through",
    ),
    24: (
        "faults/many_hands::nothing_of_two_hands_is_lost_while_the_loop_writes",
        "faults/many_hands::nothing_of_many_hands_is_lost",
        "store/killed_writer::an_edit_at_the_very_instant_of_a_write_is_not_lost",
        "store/project::a_burst_of_edits_is_waited_out",
        "store/slow_editor::a_plan_that_is_being_written_is_left_alone_and_what_it_said_holds",
        "store/slow_editor::a_change_of_a_plan_that_is_being_written_waits_for_the_edit_and_keeps_it",
        "store/slow_editor::an_editor_that_renames_before_it_writes_does_not_empty_the_plan",
        "store/project::a_file_that_is_never_still_is_named_and_left_as_its_writer_left_it",
    ),
    25: ("store/files::temporary_files_of_dead_writers_are_removed_and_no_others",),
    26: (
        "scenario/trouble::a_second_loop_is_refused_and_names_the_first",
        "cli/commands::a_second_loop_is_refused",
        "store/lock::one_process_owns_the_loop",
    ),
    27: (
        "store/lock::a_killed_owner_is_succeeded",
        "store/lock::a_pid_that_was_given_to_another_process_is_no_owner",
        "store/lock::a_renamed_host_is_recognised_by_its_boot",
        "store/lock::nothing_is_taken_from_another_host",
    ),
    28: (
        "store/lock::a_suspended_owner_stays_the_owner",
        "scenario/survival::a_suspended_run_has_no_second_beside_it_and_goes_on",
    ),
    29: (
        "store/files::a_new_file_is_private_whatever_the_umask",
        "faults/crash_matrix::killed_at_any_call_the_state_is_before_or_after",
        "store/files::an_existing_file_keeps_its_mode",
        "store/lock::the_locks_are_private",
    ),
    30: (
        "faults/odd_names::a_project_may_have_any_name",
        "faults/odd_names::a_name_the_cli_cannot_be_told_is_refused_before_anything_is_spent",
    ),
    31: (
        "faults/unwritable::a_run_that_can_no_longer_write_ends_in_order",
        "faults/unwritable::a_run_whose_project_is_deleted_ends_and_makes_up_none",
        "store/project::a_project_that_went_away_is_not_made_up_again",
        "store/lock::no_lock_makes_up_a_project",
    ),
    32: (
        "engine/backoff::a_wait_ends_whatever_happens_to_the_clock",
        "engine/open_breaker::the_clock_lets_one_iteration_try_at_its_time_however_clocks_are_set",
        "domain/rate::no_limit_and_a_clock_that_was_set_back",
        "present/timeline::the_stopwatch_survives_a_clock_that_jumps_back",
    ),
    33: ("store/damage::times_at_the_edges_of_calendars_are_tolerated_or_named",),
    34: (
        "engine/backoff::a_reset_that_is_over_by_our_clock_is_not_asked_for_at_once",
        "engine/backoff::a_reset_in_the_far_future_is_not_waited_for",
        "scenario/recovery::a_usage_limit_is_waited_out_and_costs_nothing",
        "scenario/recovery::a_wait_can_be_stopped_and_is_bounded",
        "scenario/trouble::what_another_try_cannot_help_ends_the_loop",
    ),
    35: (
        "scenario/trouble::what_another_try_cannot_help_ends_the_loop",
        "faults/model_side::what_only_a_person_can_put_right_ends_the_loop",
    ),
    36: (
        "scenario/trouble::an_overloaded_api_is_asked_again",
        "scenario/outage::an_outage_costs_the_task_no_attempt_and_opens_no_breaker",
        "engine/backoff::a_busy_service_is_asked_again_later_each_time_and_not_by_all_at_once",
        "domain/limits::half_open_lets_one_iteration_decide",
        "scenario/recovery::after_each_cool_down_exactly_one_iteration_tries",
    ),
    37: (
        "faults/model_side::a_fault_that_passes_costs_nothing_but_time",
        "faults/model_side::a_service_that_stays_away_is_the_network_and_not_the_task",
        "agent/tls_check::what_speaks_no_tls_is_refused_before_anything_is_spent",
        "agent/tls_check::who_may_only_be_busy_is_named_and_not_refused",
        "faults/model_side::a_port_that_speaks_no_tls_is_said_to_be_why_the_cli_is_silent",
        "faults/model_side::a_certificate_nobody_vouches_for_is_the_network_and_says_what_to_do",
    ),
    38: (
        "faults/model_side::a_fault_that_passes_costs_nothing_but_time",
        "faults/model_side::a_message_larger_than_the_sdk_reads_by_default_ends_nothing",
    ),
    39: (
        "agent/session_start::a_cli_that_does_not_start_is_one_sentence",
        "scenario/trouble::a_killed_cli_costs_one_iteration_and_leaves_nothing",
        "agent/contract::the_cli_offers_exactly_the_tools_of_the_phase",
    ),
    40: (
        "faults/model_side::a_silent_cli_is_noticed",
        "scenario/trouble::an_iteration_that_takes_too_long_is_ended",
    ),
    41: (
        "faults/model_side::a_cli_that_obeys_no_signal_is_killed_and_the_loop_goes_on",
        "scenario/trouble::a_killed_cli_costs_one_iteration_and_leaves_nothing",
    ),
    42: (
        "agent/failures::a_missing_or_strange_cost_never_counts_as_zero",
        "agent/failures::the_clis_figure_replaces_the_estimate",
        "agent/failures::strange_figures_are_zero",
    ),
    43: (
        "scenario/trouble::an_iteration_that_costs_too_much_is_ended",
        "scenario/trouble::a_run_that_costs_too_much_opens_the_breaker_and_not_on_the_tasks_account",
    ),
    44: (
        "agent/failures::each_result_has_its_class",
        "faults/model_side::an_odd_end_of_a_turn_has_an_outcome_of_its_own",
        "scenario/loop::a_full_context_is_handed_off_and_its_notes_hold_until_the_task_is_complete",
    ),
    46: (
        "engine/verification/gate::a_command_that_takes_too_long_is_ended_with_its_children",
        "engine/verification/gate::a_background_child_does_not_hold_the_gate",
        "scenario/survival::a_signal_ends_the_loop_in_order",
        "scenario/trouble::a_killed_cli_costs_one_iteration_and_leaves_nothing",
    ),
    47: (
        "faults/used_up::a_program_that_takes_too_much_takes_only_itself_down",
        "faults/used_up::a_run_without_a_descriptor_left_ends_in_order",
    ),
    48: (
        "scenario/survival::a_signal_ends_the_loop_in_order",
        "scenario/survival::ctrl_c_once_finishes_the_iteration_twice_stops_now",
        "cli/headless::a_third_ctrl_c_does_not_wait_for_the_loop",
        "cli/headless::a_closed_pipe_ends_the_run_without_a_traceback",
        "pty/screen::a_signal_ends_the_loop_and_gives_the_terminal_back",
    ),
    49: (
        "scenario/survival::kill_9_of_ralph_leaves_no_process_and_loses_nothing",
        "scenario/strays::headless_names_them_and_ends_them_only_with_yes",
        "scenario/strays::whoever_is_there_is_asked",
    ),
    50: ("faults/output::a_flood_of_output_stays_small_and_its_end_is_kept",),
    51: (
        "faults/output::a_flood_of_output_stays_small_and_its_end_is_kept",
        "store/journal::text_no_file_can_hold_is_replaced",
    ),
    52: (
        "domain/texts::inert_text_has_nothing_that_acts",
        "tui/hostile::every_hostile_text_is_inert_on_the_dashboard",
        "tui/hostile::the_terminal_title_is_inert",
        "cli/headless::hostile_text_is_inert_in_lines",
    ),
    53: ("tui/hostile::markup_is_literal_text", "tui/pages::hostile_text_stays_text_on_every_page"),
    54: (
        "scenario/claims::what_is_claimed_and_not_so_is_not_done",
        "scenario/loop::three_attempts_without_a_claim_block_the_task",
    ),
    55: (
        "guard/paths::other_files_may_not",
        "scenario/loop::the_projects_own_claude_settings_do_not_run",
    ),
    56: (
        "guard/paths::symlinks_are_followed",
        "guard/paths::proc_cwd_is_followed",
        "guard/paths::hard_links_to_state_are_found",
        "engine/symlink_check::a_file_that_went_where_it_may_not_stops_the_loop",
    ),
    57: (
        "faults/secrets::no_picture_of_the_screen_shows_a_key",
        "domain/secrets::a_secret_is_taken_out_wherever_it_stands",
        "scenario/guarded::what_a_script_tells_of_secrets_is_kept_nowhere",
        "agent/stream_redaction::no_piece_of_a_secret_is_shown",
    ),
    58: (
        "agent/contract::a_denied_or_unguarded_tool_does_not_run",
        "guard/worker::a_child_killed_at_any_moment_never_lets_a_command_through",
        "guard/worker::silence_is_a_denial_at_the_deadline",
        "guard/batch_check::a_command_that_is_none_is_denied",
    ),
    59: (
        "guard/corpus::the_command_line_judges_every_line_as_its_author_did",
        "guard/worker::the_same_verdicts_as_without_a_child",
    ),
    60: (
        "domain/limits::the_breaker_opens_exactly_at_a_threshold",
        "scenario/loop::three_tasks_that_fail_in_a_row_open_the_breaker",
    ),
    61: (
        "scenario/claims::what_is_claimed_and_not_so_is_not_done",
        "engine/verification/work_done::a_claim_for_which_nothing_was_done_is_no_success",
        "engine/verification/work_done::tests_that_are_gone_are_no_success",
        "scenario/loop::a_refused_claim_is_fixed_in_the_same_session",
        "engine/breaker::each_signal_opens_at_its_setting_and_is_off_at_zero",
    ),
    62: (
        "domain/limits::each_signal_opens_at_its_threshold_and_says_why",
        "domain/limits::another_error_starts_the_count_again",
        "scenario/recovery::a_plan_that_stands_still_is_made_anew",
        "domain/circles::what_an_iteration_without_progress_left_is_its_evidence",
        "domain/circles::tasks_that_undo_each_other_are_no_progress_however_green_their_checks",
        "engine/verification/fingerprint::the_same_contents_are_the_same_whoever_looks",
        "scenario/recovery::a_loop_that_goes_round_in_circles_says_what_it_saw",
    ),
    63: (
        "faults/kill_9::a_killed_run_is_resumed_and_nothing_is_done_twice",
        "faults/crash_matrix::killed_at_any_call_the_state_is_before_or_after",
    ),
    64: (
        "scenario/steering::tasks_written_into_the_plan_meanwhile_are_worked",
        "engine/choosing::a_task_taken_just_before_it_is_begun_is_not_begun",
        "engine/underway::a_renamed_task_goes_on_under_its_new_name",
        "engine/underway::a_task_that_is_not_to_be_worked_any_more_is_left_and_never_completed",
        "engine/underway::a_claim_is_held_against_the_words_of_now_and_the_agent_hears_them",
        "engine/underway::what_an_editor_with_an_older_plan_calls_in_progress_is_put_back",
        "scenario/steering::the_running_task_is_renamed_and_reworded_by_an_editor",
        "scenario/steering::what_the_running_task_is_to_wait_for_is_worked_first",
        "scenario/steering::skip_from_another_process",
    ),
    65: (
        "engine/repository_status::how_the_person_left_the_repository_is_told",
        "engine/repository_status::it_is_told_before_anything_is_spent_and_by_doctor",
        "guard/repository_watcher::a_conflict_in_the_index_is_put_back_as_a_whole",
        "guard/repository_watcher::a_repository_git_cannot_read_is_an_error_and_no_absence",
    ),
    66: (
        "scenario/own_commits::a_persons_commit_between_two_calls_is_told_and_the_run_goes_on",
        "guard/repository_watcher::what_changed_while_nothing_of_the_agent_ran_is_the_persons",
        "guard/repository_watcher::a_change_is_seen_and_its_command_puts_it_back",
    ),
    67: (
        "guard/repository_watcher::a_linked_worktree_shares_what_is_watched",
        "guard/repository_watcher::a_commit_in_a_submodule_is_seen_and_put_back",
        "guard/repository_watcher::a_project_that_is_a_part_of_a_repository_is_watched_as_a_whole",
        "guard/repository_watcher::where_there_is_no_work_tree_nothing_is_begun",
        "engine/repository_status::how_the_person_left_the_repository_is_told",
        "guard/shims::the_repository_of_a_linked_worktree",
    ),
    68: (
        "cli/commands::a_run_needs_uv",
        "cli/commands::a_broken_uv_is_named",
        "cli/doctor::a_python_that_is_not_there_is_told_before_a_run",
        "cli/commands::a_run_needs_a_login_before_anything_is_spent",
    ),
    69: ("faults/model_side::a_service_that_stays_away_is_the_network_and_not_the_task",),
    70: (
        "cli/edges::a_dumb_terminal_cannot_show_the_screen",
        "cli/headless::an_ascii_locale_gets_ascii_signs",
        "tui/leaving::too_small_covers_and_uncovers_while_the_loop_goes_on",
        "pty/screen::the_demo_in_a_small_terminal_answered_and_approved_by_keys_alone",
    ),
    71: (
        "tui/leaving::a_crash_of_the_loop_is_a_state_not_a_traceback",
        "cli/edges::an_unexpected_error_becomes_a_sentence_and_a_report",
    ),
    72: (
        "faults/long_runs::memory_stays_flat",
        "faults/size::a_large_project_opens_in_seconds",
        "store/text_files::the_archive_is_cleaned_by_itself_once_in_a_while",
        "store/rotation::of_the_sessions_the_newest_are_kept_in_two_files_of_a_bounded_size",
        "store/rotation::a_kill_at_any_moment_loses_no_session",
        "cli/background::a_run_in_the_background_begins_a_new_log_when_it_is_full",
    ),
    73: (
        "agent/session_start::a_log_that_cannot_be_written_is_told_once_and_stops_nothing",
        "faults/unwritable::nothing_more_is_paid_for_once_the_journal_cannot_be_written",
        "faults/unwritable::a_run_that_lost_events_has_failed_although_its_plan_is_done",
        "store/journal::a_journal_that_was_taken_away_is_put_back_and_said",
    ),
    74: ("faults/model_side::the_same_plan_and_model_lead_to_the_same_state",),
}  # fmt: skip

NOT_INJECTED: dict[int, str] = {
    30: "case-insensitive and normalising file systems: none here; guard/ compares paths folded.",
    31: "an unmounted disk needs privileges; a directory that goes away is injected.",
    32: "the machine's own clock cannot be set here; clocks that jump are given to the waits.",
    38: "UTF-8 split across chunks: the SDK's own reader.",
    45: "no session is ever resumed: each iteration is a fresh one.",
    47: "fork bombs: root, as which these tests often run, has no limit of processes to meet.",
    70: "Windows is refused in one sentence, cli/edges.",
}
"""Lines, or parts of them."""

API_ROWS: dict[str, tuple[str, ...]] = {
    "401": ("scenario/trouble::what_another_try_cannot_help_ends_the_loop",),
    "403": ("scenario/trouble::what_another_try_cannot_help_ends_the_loop",),
    "400": ("faults/model_side::what_only_a_person_can_put_right_ends_the_loop",),
    "400 credit balance": ("faults/model_side::what_only_a_person_can_put_right_ends_the_loop",),
    "400 prompt too long": (
        "faults/model_side::a_prompt_that_does_not_fit_blocks_its_task_and_says_so",
    ),
    "404": ("scenario/trouble::what_another_try_cannot_help_ends_the_loop",),
    "413": ("faults/model_side::what_only_a_person_can_put_right_ends_the_loop",),
    "429": ("scenario/trouble::what_another_try_cannot_help_ends_the_loop",),
    "500/502/529": (
        "scenario/outage::an_outage_costs_the_task_no_attempt_and_opens_no_breaker",
        "faults/model_side::a_service_that_stays_away_is_the_network_and_not_the_task",
    ),
    "refused / reset": (
        "faults/model_side::a_service_that_stays_away_is_the_network_and_not_the_task",
    ),
    "stream cut, malformed, error event": (
        "faults/model_side::a_fault_that_passes_costs_nothing_but_time",
    ),
    "no login": ("cli/commands::a_run_needs_a_login_before_anything_is_spent",),
    "hang before headers, mid-stream": ("faults/model_side::a_silent_cli_is_noticed",),
    "rate limit of a subscription": (
        "scenario/recovery::a_usage_limit_is_waited_out_and_costs_nothing",
    ),
    "refusal, empty, max_tokens": (
        "faults/model_side::an_odd_end_of_a_turn_has_an_outcome_of_its_own",
    ),
}
"""What the service answers, and the test in which the loop meets it."""
