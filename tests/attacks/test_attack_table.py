"""Twenty known attacks on approvals, through each channel: which test holds it, or why it cannot apply.

The attacks and their numbers are those of docs/proofs.md. A cell names tests as ``file::name``; they must exist. A cell
that cannot apply says why.
"""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest

pytestmark = pytest.mark.claim("C4", "C9")

TESTS = Path(__file__).resolve().parents[1]
CHANNELS = ("pages", "terminal", "rest", "messages", "teams", "langchain")
NO_DECISION = "cannot apply: a message decides nothing, it holds one link to a page that asks who it is"
NO_CHOICE = "cannot apply: a resume value decides nothing, so there is nothing to race, replay or forge with it"

_flow = "conformance/test_votes.py::test_yes_and_no_at_once_have_exactly_one_outcome"
_resume = "attacks/test_ten_findings.py::test_6_an_edit_does_not_run_a_tool_that_nobody_looked_at"
_woken = "gateway/test_http_approvals.py::test_langchains_names_show_the_call_and_a_resume_value_decides_nothing"
_drawn = "attacks/test_channels.py::test_2_4_5_a_name_or_a_value_draws_nothing_in_any_channel"
_seen = "attacks/test_every_channel.py::test_4_every_character_that_hides_is_seen_in_every_channel"
_door = "attacks/test_every_channel.py::test_13_what_a_chat_sends_is_taken_nowhere"
_scan = "attacks/test_every_channel.py::test_9_a_scanner_that_follows_every_link_of_a_message_decides_nothing"
_flood = "attacks/test_mandates_supplied.py::test_a_task_that_floods_is_paused_until_a_reviewer_looks"
_hidden = "attacks/test_hidden_secrets.py"
_budget = "conformance/test_channels_store.py::test_a_yes_beyond_the_budget_is_no_yes_and_the_question_waits_for_others"
_again = "approvals/test_executor.py::test_looking_again_can_only_make_it_stricter"
_hand = "conformance/test_votes.py::test_what_was_written_by_hand_decides_nothing"
_bytes = "conformance/test_defences.py::test_a_call_whose_bytes_were_changed_does_not_run"
_rules = "attacks/test_standing_rules.py::test_a_rule_is_not_widened_beyond_what_may_be_said"
_batch = "attacks/test_batch_smuggling.py::test_one_odd_call_among_nineteen_is_split_out"
_set = "conformance/test_asked_by.py::test_nobody_who_asked_says_yes"
_program = "conformance/test_programs.py::test_a_program_decides_in_no_way"
_alone = (
    "conformance/test_ladder.py::"
    "test_a_question_that_nobody_can_decide_is_said_to_be_so_and_no_longer_when_somebody_can"
)
_grave = "attacks/test_edits.py::test_an_edit_to_a_graver_call_is_graver"
_clock = "gateway/test_two_clocks.py"
_teams = "attacks/test_teams.py"
_card = f"{_teams}::test_2_4_5_10_a_card_draws_nothing_of_what_it_tells"

TABLE: dict[tuple[int, str], dict[str, str]] = {
    (1, "approval fatigue"): {
        "pages": "gateway/test_web_attacks.py::test_a_person_who_said_yes_too_often_is_told_so",
        "terminal": _budget,
        "rest": "gateway/test_http_approvals.py::test_a_budget_that_is_used_up_is_said_and_the_question_waits",
        "messages": _flood,
        "teams": f"{_teams}::test_1_a_budget_that_is_used_up_holds_in_a_chat_too",
        "langchain": "attacks/test_unknown_and_broken.py::test_a_flood_of_questions_is_denied",
    },
    (2, "a forged dialog"): {
        "pages": "gateway/test_web_browser.py::test_a_forged_card_stays_inside_its_place",
        "terminal": "approvals/test_cli.py::test_hostile_content_cannot_leave_its_cell",
        "rest": "cannot apply: programs get JSON, and nothing is drawn; see langchain for interfaces that draw",
        "messages": "attacks/test_channels.py::test_2_a_chat_message_has_no_block_that_reads_markup_and_pings_nobody",
        "teams": _card,
        "langchain": _drawn,
    },
    (3, "truncation"): {
        "pages": "gateway/test_web_attacks.py::test_nothing_long_is_cut_in_silence",
        "terminal": "approvals/test_cli.py::test_long_values_show_both_ends_and_what_is_between",
        "rest": "gateway/test_http_approvals.py::test_a_reviewer_lists_shows_and_decides_and_the_run_goes_on",
        "messages": "attacks/test_channels.py::test_3_a_long_value_says_what_is_not_shown_and_shows_its_end",
        "teams": f"{_teams}::test_3_what_is_cut_is_counted_and_cannot_be_approved_here",
        "langchain": "attacks/test_channels.py::test_3_a_long_value_says_what_is_not_shown_and_shows_its_end",
    },
    (4, "hidden and look-alike characters"): {
        "pages": _seen,
        "terminal": _seen,
        "rest": "cannot apply: programs get JSON with the exact characters, which is what a digest is over",
        "messages": _seen,
        "teams": _card,
        "langchain": "attacks/test_channels.py::test_4_every_code_point_that_hides_is_shown_by_its_number",
    },
    (5, "markup, HTML, terminal sequences"): {
        "pages": "gateway/test_web_attacks.py::test_no_card_text_is_markup_whatever_it_says",
        "terminal": "approvals/test_cli.py::test_hostile_content_cannot_leave_its_cell",
        "rest": "cannot apply: JSON, with a type that no browser draws",
        "messages": "attacks/test_channels.py::test_5_a_mail_has_the_headers_that_we_gave_it_and_one_part_of_text",
        "teams": _card,
        "langchain": _drawn,
    },
    (6, "arguments that change after the yes"): {
        "pages": "gateway/test_web_attacks.py::test_changed_arguments_need_their_own_look",
        "terminal": "gateway/test_answers_cli.py::test_an_edit_without_a_digest_or_with_another_one_is_none",
        "rest": "gateway/test_http_approvals.py::test_a_decision_without_the_digest_of_the_call_is_none",
        "messages": NO_DECISION,
        "teams": f"{_teams}::test_6_20_a_code_of_a_call_that_was_edited_is_dead",
        "langchain": "attacks/test_ten_findings.py::test_5_arguments_that_were_changed_after_they_were_seen_do_not_run "
        "attacks/test_pins.py::test_a_file_that_was_swapped_after_the_yes_is_not_touched",
    },
    (7, "replay of an approval"): {
        "pages": "gateway/test_web_attacks.py::test_one_of_many_equal_presses_counts",
        "terminal": "attacks/test_every_channel.py::"
        "test_7_a_yes_that_is_sent_again_through_another_channel_is_told_of_the_first",
        "rest": "gateway/test_http_approvals.py::test_a_repeated_request_with_its_key_is_told_how_it_ended",
        "messages": "attacks/test_channels.py::test_7_a_notice_that_is_sent_again_is_the_same_and_moves_nothing",
        "teams": f"{_teams}::test_7_a_message_that_is_sent_again_is_refused_also_with_another_text "
        f"{_teams}::test_7_every_code_of_a_call_dies_with_the_first_decision_wherever_it_was_made",
        "langchain": "attacks/test_ten_findings.py::test_3_a_checkpoint_that_is_resumed_again_does_not_act_again",
    },
    (8, "a forged approval"): {
        "pages": "gateway/test_web_form_attacks.py::test_a_form_needs_the_seal_of_this_session_for_this_address",
        "terminal": "approvals/test_cli.py::test_a_wrong_token_decides_nothing",
        "rest": "gateway/test_http_approvals.py::test_a_clients_token_decides_nothing_and_a_requester_does_not_approve",
        "messages": _door,
        "teams": f"{_teams}::test_8_13_what_teams_did_not_sign_is_refused_and_nothing_of_it_is_read",
        "langchain": f"{_resume} {_hand}",
    },
    (9, "foreign forms, frames, stolen keys, scanners"): {
        "pages": "gateway/test_web_form_attacks.py::test_a_form_from_another_site_does_nothing "
        "gateway/test_web_browser.py::test_no_other_page_frames_these "
        "gateway/test_web_browser.py::test_no_single_key_and_no_held_key_decides "
        "gateway/test_web_browser.py::test_an_answer_waits_until_the_card_was_visible",
        "terminal": "approvals/test_cli_terminal.py::test_leaving_a_real_prompt_decides_nothing",
        "rest": "cannot apply: it takes a bearer token, which no browser adds by itself, and no cookie",
        "messages": _scan,
        "teams": f"{_teams}::test_9_an_address_of_a_card_is_looked_at_and_changes_nothing",
        "langchain": _woken,
    },
    (10, "a summary that content has written"): {
        "pages": "attacks/test_channels.py::test_10_no_text_of_a_call_changes_its_tier_or_where_it_goes",
        "terminal": "approvals/test_cli_output.py::test_a_card_names_every_rule_and_keeps_origins_whole",
        "rest": "cannot apply: no summary is made; a program gets rule ids and facts",
        "messages": "attacks/test_channels.py::test_10_no_text_of_a_call_changes_its_tier_or_where_it_goes",
        "teams": _card,
        "langchain": _drawn,
    },
    (11, "whoever asked approves"): {
        "pages": "gateway/test_web_attacks.py::test_who_asked_does_not_approve "
        "gateway/test_web_programs.py::test_the_card_says_why_somebody_does_not_count",
        "terminal": f"attacks/test_one_person_as_two.py::test_who_asked_says_yes_under_another_name {_set} {_program}",
        "rest": "gateway/test_http_approvals.py::test_a_clients_token_decides_nothing_and_a_requester_does_not_approve "
        "gateway/test_http_people.py::test_everybody_behind_a_run_stands_in_its_calls_and_approves_none",
        "messages": NO_DECISION,
        "teams": f"{_teams}::test_11_whoever_asked_does_not_approve_under_any_account",
        "langchain": _resume,
    },
    (12, "a second factor that is stale"): {
        "pages": "gateway/test_web_passkeys.py::test_a_passkey_is_added_signs_in_and_approves "
        "attacks/test_step_up.py::test_a_proof_for_another_call_digest_or_decision_is_none",
        "terminal": "approvals/test_cli_accounts.py::test_a_wrong_answer_decides_nothing",
        "rest": "gateway/test_http_stepup.py::test_a_yes_takes_the_password_of_the_person",
        "messages": NO_DECISION,
        "teams": f"{_teams}::test_12_a_call_that_takes_a_second_factor_is_not_approved_here",
        "langchain": NO_CHOICE,
    },
    (13, "a chat account that was taken over"): {
        "pages": "cannot apply: no account of a chat signs anybody in",
        "terminal": "cannot apply: no account of a chat is known to it",
        "rest": _door,
        "messages": _door,
        "teams": f"{_teams}::test_13_whoever_has_the_chat_account_cannot_approve_what_is_grave "
        f"{_teams}::test_13_another_tenant_nobody_and_an_edited_message_are_refused "
        f"{_teams}::test_13_an_edited_code_is_none",
        "langchain": "cannot apply: no account of a chat is known to it",
    },
    (14, "a rule that is wider than it looks"): {
        "pages": "gateway/test_web_standing.py::test_nothing_wider_than_may_be_said_is_tried",
        "terminal": "approvals/test_standing_cli.py::test_an_amount_and_an_address_are_bounded_as_they_are_said",
        "rest": "gateway/test_http_standing.py::test_what_cannot_be_said_is_refused_without_repeating_it",
        "messages": "cannot apply: a message makes no rule",
        "teams": "cannot apply: what is said in a chat makes no rule, and accepts no data for later calls",
        "langchain": _rules,
    },
    (15, "yes and no at the same moment"): {
        "pages": "gateway/test_web_attacks.py::test_a_yes_and_a_no_at_once_end_in_one_of_them",
        "terminal": _flow,
        "rest": "gateway/test_http_approvals.py::test_approve_and_reject_at_once_have_one_winner",
        "messages": NO_DECISION,
        "teams": f"{_teams}::test_15_a_yes_and_a_no_at_once_have_one_winner_and_the_other_is_told",
        "langchain": "attacks/test_ten_findings.py::test_2_an_approval_and_a_rejection_at_once_do_not_both_count",
    },
    (16, "a world that has changed"): {
        "pages": f"{_clock}::test_pages_decide_nothing_after_the_first_clock",
        "terminal": f"{_clock}::test_the_terminal_decides_nothing_after_the_first_clock",
        "rest": f"{_clock}::test_http_decides_nothing_after_the_first_clock_and_runs_nothing_after_the_second",
        "messages": NO_DECISION,
        "teams": f"{_teams}::test_16_nothing_is_decided_after_the_time_to_decide",
        "langchain": f"{_clock}::test_langchain_runs_nothing_whose_time_is_over {_again} "
        "gateway/test_middleware.py::test_a_pinned_schema_that_changed_is_refused "
        "attacks/test_ten_findings.py::test_4_a_rule_that_has_changed_since_does_not_run_what_was_rejected "
        "attacks/test_pins.py::test_a_reader_that_says_anything_else_right_before_the_call_stops_it",
    },
    (17, "denial by silence"): {
        "pages": "gateway/test_web_browser.py::test_the_queue_says_that_more_came",
        "terminal": "approvals/test_cli_emergency.py::test_ticking_says_what_it_did",
        "rest": "gateway/test_http_approvals.py::test_an_expired_question_is_gone",
        "messages": f"{_alone} attacks/test_emergencies.py::test_a_reminder_is_silenced_by_hand",
        "teams": f"{_teams}::test_17_a_question_that_waits_is_told_again_with_its_codes",
        "langchain": "attacks/test_emergencies.py::test_an_expiry_is_taken_for_a_no",
    },
    (18, "one odd call in a batch"): {
        "pages": f"{_batch} attacks/test_batch_smuggling.py::"
        "test_one_answer_reaches_each_call_of_the_table_and_never_the_odd_one",
        "terminal": "cannot apply: it decides one call at a time",
        "rest": "cannot apply: it decides one call at a time",
        "messages": NO_DECISION,
        "teams": f"{_teams}::test_18_one_message_answers_one_call",
        "langchain": "attacks/test_ten_findings.py::test_7_decisions_that_were_swapped_do_not_run_the_other_call",
    },
    (19, "secrets in card, message or log"): {
        "pages": f"{_hidden}::test_19_no_page_that_a_link_leads_to_shows_one "
        "gateway/test_web_session_attacks.py::test_nothing_is_seen_without_signing_in",
        "terminal": "approvals/test_reveal_cli.py::test_it_takes_a_credential_and_says_that_it_was_recorded "
        "approvals/test_cli_terminal.py::test_typing_at_a_real_prompt_approves_and_hides_the_token",
        "rest": f"{_hidden}::test_19_no_answer_to_a_program_holds_one "
        "gateway/test_reveal.py::test_a_result_that_repeats_a_secret_shows_it_to_the_agents_program_alone "
        "gateway/test_http_approvals.py::test_a_client_sees_its_own_calls_and_of_others_nothing",
        "messages": f"{_hidden}::test_19_no_message_holds_one_whatever_its_channel_may_tell "
        "attacks/test_channels.py::test_19_a_value_is_in_no_message_unless_the_tier_says_so",
        "teams": f"{_teams}::test_19_a_value_is_on_no_card_unless_the_tier_says_so "
        f"{_teams}::test_19_what_has_the_form_of_a_key_is_on_no_card_at_all",
        "langchain": f"{_hidden}::test_19_no_answer_to_a_program_holds_one "
        "gateway/test_answers.py::test_a_call_that_carries_such_a_value_outside_is_denied",
    },
    (20, "an edit that nobody checked again"): {
        "pages": "gateway/test_web_answers_more.py::test_what_cannot_be_an_edit_is_said_and_the_question_stays",
        "terminal": "gateway/test_answers_cli.py::test_an_edit_shows_what_changes_and_makes_another_call",
        "rest": "gateway/test_http_answers.py::test_a_refused_edit_says_which_rule_and_changes_nothing",
        "messages": NO_DECISION,
        "teams": f"{_teams}::test_6_20_a_code_of_a_call_that_was_edited_is_dead",
        "langchain": f"{_resume} {_grave}",
    },
}


@cache
def names_in(file: str) -> frozenset[str]:
    """Return the names of the tests in a file."""
    tree = ast.parse((TESTS / file).read_text(encoding="utf-8"))
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, kinds) and node.name.startswith("test_"))


def test_there_are_twenty_attacks_through_six_channels() -> None:
    assert [number for number, _ in TABLE] == list(range(1, 21))
    assert all(set(cells) == set(CHANNELS) for cells in TABLE.values())


@pytest.mark.parametrize("attack", TABLE, ids=lambda attack: f"{attack[0]}")
def test_every_cell_names_tests_that_exist_or_a_reason(attack: tuple[int, str]) -> None:
    for channel, cell in TABLE[attack].items():
        if cell.startswith("cannot apply"):
            assert len(cell) > len("cannot apply: ") + 20, f"{attack} in {channel}: say why"
            continue
        for name in cell.split():
            file, _, test = name.partition("::")
            assert test in names_in(file), f"{attack} in {channel}: there is no test {name}"


def test_a_reason_is_the_exception() -> None:
    cells = [cell for row in TABLE.values() for cell in row.values()]
    assert sum(cell.startswith("cannot apply") for cell in cells) <= len(cells) // 4
