"""How much one run may do, and how much content may steer it: every bound of the pipeline in one frozen value."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PipelineLimits:
    """Bounds of one task. Beyond one of the first three the run stops with a coded reason; code counts, no model does.

    ``bits_per_source`` is what the content of one source (all results of one tool) may decide about the actor's view
    in one task: 64 bits are some dozens of yes-or-no answers, dates and small numbers, and no sentence.
    """

    max_turns: int = 50
    max_calls: int = 100  # calls of tools
    max_asks: int = 200  # questions to the reader, and selections
    calls_per_turn: int = 20
    reader_retries: int = 3  # further tries after the first one
    bits_per_source: float = 64.0
    max_shown: int = 400  # references shown for one result; the rest is reached by `select` and `each`
    max_reader_chars: int = 200_000  # content given to the reader at once
    max_reader_output: int = 20_000  # characters of an answer that are looked at
    max_fields: int = 20  # fields of one schema
    max_enum: int = 64  # values of one enum
    max_answer: int = 100_000  # characters of an expanded answer or argument
    max_template: int = 20_000  # characters the actor may write in one argument
