"""More text of a stranger's, or more words of the user's that forbid, never make a verdict more lenient.

The histories are those of the search: attempts and honest twins of every technique.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random

from hypothesis import example, given
from hypothesis import strategies as st

from checkvalve.corpora.laundering.court import Court, Outcome
from checkvalve.corpora.laundering.draft import Draft, Event, Read, Say
from checkvalve.corpora.laundering.search import build, said
from checkvalve.corpora.laundering.techniques import TECHNIQUES

COURT = Court()
NAMES = st.sampled_from(sorted(TECHNIQUES))
SEEDS = st.integers(0, 10**6)
FORBIDDING = (
    "Never send anything to {}.",
    "Do not use {}.",
    "Do not pay {} and do not write to {}.",
    "{} must not get it.",
    "Leave {} alone.",
    "Stop, do not do it.",
)


def history(name: str, seed: int, *, honest: bool) -> Draft:
    technique = TECHNIQUES[name]
    if honest and technique.twin is not None:
        return technique.twin(Random(seed))
    return build(technique, str(seed))


def strictness(draft: Draft) -> int:
    judged = COURT.judge(draft)
    return 0 if judged.allowed else 1 if judged.outcome is Outcome.ASKED else 2


def value_of(draft: Draft) -> str:
    call = draft.calls[-1]
    return str(call.args.get(draft.goal, next(iter(call.args.values()), "")))


@st.composite
def strangers_texts(draw: st.DrawFn) -> tuple[str, object]:
    """A result that nobody declared anything of, made of the words around and of anything else."""
    tool = draw(st.sampled_from(["read_page", "read_chat", "unknown_tool"]))
    piece = st.one_of(
        st.sampled_from(["{value}", "{said}", "{named}", "id: {value}", "{value} is the largest file", "[{value}](x)"]),
        st.text(max_size=12).map(lambda text: text.replace("{", "").replace("}", "")),
    )
    text = " ".join(draw(st.lists(piece, min_size=1, max_size=4)))
    shape = draw(st.integers(0, 3))
    return tool, [
        text,
        {"name": text, "id": "{value}"},
        [{"title": text}, {"email": "{value}", "name": "{named}"}],
        {"{value}": text},
    ][shape]


def filled(value: object, draft: Draft) -> object:
    """Put the draft's own words and values into a template."""
    if isinstance(value, str):
        named = draft.named[0] if draft.named else value_of(draft)
        return value.replace("{value}", value_of(draft)).replace("{said}", said(draft)).replace("{named}", named)
    if isinstance(value, list):
        return [filled(item, draft) for item in value]
    if isinstance(value, dict):
        return {str(filled(key, draft)): filled(item, draft) for key, item in value.items()}
    return value


@given(name=NAMES, seed=SEEDS, honest=st.booleans(), added=strangers_texts(), first=st.booleans())
def test_a_strangers_text_makes_no_verdict_more_lenient(
    name: str, seed: int, honest: bool, added: tuple[str, object], first: bool
) -> None:
    draft = history(name, seed, honest=honest)
    read = Read(added[0], filled(added[1], draft))
    events: tuple[Event, ...] = (read, *draft.events) if first else (*draft.events, read)
    more = replace(draft, events=events)
    assert strictness(more) >= strictness(draft), f"{said(draft)} + {read}"


@given(name=NAMES, seed=SEEDS, honest=st.booleans(), words=st.sampled_from(FORBIDDING), first=st.booleans())
@example(name="base32", seed=1, honest=False, words="Leave {} alone.", first=False)
@example(name="echo", seed=0, honest=False, words="Leave {} alone.", first=True)
@example(name="URL forms", seed=0, honest=False, words="Leave {} alone.", first=False)
def test_words_that_forbid_make_no_verdict_more_lenient(
    name: str, seed: int, honest: bool, words: str, first: bool
) -> None:
    draft = history(name, seed, honest=honest)
    if draft.carries:
        return  # the words would hold what must not leave, and make it the user's
    value = value_of(draft)
    last = max(number for number, event in enumerate(draft.events) if isinstance(event, Say))
    text = said(replace(draft, events=(draft.events[last],))).replace(" ⏎ ", "\n")
    forbidding = words.format(*[value] * words.count("{}"))
    message = Say(f"{forbidding} {text}" if first else f"{text} {forbidding}")
    more = replace(draft, events=(*draft.events[:last], message, *draft.events[last + 1 :]))
    if any(char in text for char in ">`") or "From:" in text or value.rstrip()[-1:] in {".", ";", "!", "?"}:
        return  # a sentence on a line of a quoted block is not the user's, and such a value ends the sentence itself
    assert strictness(more) >= strictness(draft), message.text


@given(name=NAMES, seed=SEEDS, honest=st.booleans(), order=st.randoms(use_true_random=False))
def test_the_order_of_results_does_not_matter(name: str, seed: int, honest: bool, order: Random) -> None:
    """Only what a tool gives back must come after it was passed, so look-ups stay where they are."""
    draft = history(name, seed, honest=honest)
    spoken = [event for event in draft.events if not isinstance(event, Read)]
    reads = [event for event in draft.events if isinstance(event, Read)]
    if any(read.args for read in reads) or draft.events != (*spoken, *reads):
        return
    reads.append(Read("read_page", "nothing new"))
    other = list(reads)
    order.shuffle(other)
    assert strictness(replace(draft, events=(*spoken, *reads))) == strictness(replace(draft, events=(*spoken, *other)))
