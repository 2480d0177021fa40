"""What the actor and the reader may be told when something does not work: codes with constant remedies.

Guarantees: the texts are constants, so nothing from content, results, exceptions or reviewers' notes gets into them.
"""

from __future__ import annotations

from typing import Final

from checkvalve.approvals.pins import CODES
from checkvalve.approvals.records import State

REMEDIES: Final = {
    # references and lists
    "unknown_reference": "use an id that was shown in this task",
    "not_a_list": "give a reference to a list",
    "unknown_field": "use a field name that is shown in the records of this list",
    "unverified_field": "compare in order only by fields that are shown as verified; others can only be equal",
    "not_comparable": "compare numbers with numbers and dates with dates",
    "mixed_sources": "give references from results of one tool only",
    "too_large": "give fewer or smaller references",
    "bad_request": "follow the schema of this tool",
    "literal_only": "write this argument yourself, without any reference in it",
    # the reader
    "bad_schema": "use closed types: bool, number, date, enum, id or reference",
    "unknown_schema": "use a schema that is registered, or give fields",
    "reader_failed": "ask for less, or do without it",
    "bits_spent": "content of this source may not decide more in this task; the values are references now",
    # what the reader is told
    "not_json": "answer with one JSON object and nothing else",
    "too_long": "answer with the fields of the schema and nothing else",
    "missing_field": "give every field of the schema",
    "extra_field": "give only the fields of the schema",
    "wrong_type": "give a value of the field's type",
    "out_of_range": "give a value within the bounds",
    "off_step": "give a whole multiple of the step",
    "not_in_enum": "give one of the listed values exactly",
    "unknown_id": "give an id that stands in a verified list",
    # turns and runs
    "malformed_call": "call a tool with one JSON object of arguments",
    "too_many_calls": "make fewer calls in one turn",
    "answer_alone": "answer in a turn of its own, after the results of the calls",
    "empty_answer": "answer with a text",
    "answer_withheld": "answer without text of the instructions, in less text",
    "hostile_input": "give well-formed arguments of reasonable size",
    "max_turns": "the task has used up its turns",
    "max_calls": "the task has used up its calls",
    "max_asks": "the task has used up its questions",
    # how a call ended
    "failed": "the tool reported that it failed; change the call, or tell the user",
    "running": "the call has been started and has not ended yet; do not make it again",
    "unknown": "whether the call took effect is not known; a person has to look, do not make it again",
    "confirmed_done": "it was looked up: the call took effect; its result was not kept",
    "confirmed_not_done": "it was looked up: the call did not take effect; propose it again if it is still wanted",
    "result_not_kept": "the call succeeded and its result could not be kept; do not make it again",
    "rejected": "a person refused this call; unless the user asks, do not propose it again, or its effect otherwise",
    "responded": "a person answered instead of letting this call run; the answer is given by reference",
    "edited": "a person changed these arguments before the call ran; work with the changed call",
    "expired": "nobody decided this call in time; tell the user, and ask again only if the user wants it",
    "cancelled": "the question about this call was taken back",
    "superseded": "the user has said something new; look at the user's new message first",
    "lapsed": "the approval was not used in time; propose the call again if it is still wanted",
    "invalidated": "what was approved would not be approved any more",
    "revoked": "the approval was taken back before the call ran; unless the user asks, do not propose it again",
    **{code: f"{text}; look at it anew before you propose the call again" for code, text in CODES.items()},
    "not_run": "this call was not made",
}
"""Code to remedy, for everything the actor and the reader can meet. Denials bring their own from the policy's rules."""

BY_STATE: Final = {
    State.EXECUTING: "running",
    State.FAILED: "failed",
    State.UNKNOWN: "unknown",
    State.CONFIRMED_DONE: "confirmed_done",
    State.CONFIRMED_NOT_DONE: "confirmed_not_done",
    State.SUCCEEDED: "result_not_kept",
    State.REJECTED: "rejected",
    State.EXPIRED: "expired",
    State.CANCELLED: "cancelled",
    State.SUPERSEDED: "superseded",
    State.LAPSED: "lapsed",
    State.INVALIDATED: "invalidated",
    State.REVOKED: "revoked",
}
"""How a proposal ended, when there is no result to show."""

RUNNABLE: Final = frozenset(
    {
        State.APPROVED,
        State.EXECUTING,
        State.SUCCEEDED,
        State.FAILED,
        State.UNKNOWN,
        State.CONFIRMED_DONE,
        State.CONFIRMED_NOT_DONE,
    }
)
"""States in which the executor is asked: it runs the call once, or hands out what is recorded."""
