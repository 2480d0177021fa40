"""From what somebody edits, who was shown marks, to the exact arguments of the call.

1. A value that comes back as it was shown is the stored one, to the last byte. 2. A mark in an edited text is the
secret that it stands for, in the argument where it stood, and nowhere else: whoever may not see a secret cannot move it
into another argument, such as a destination. 3. Any other mark is refused, since nobody can mean one. 4. Who changes
where a call goes, and leaves a secret in it, sends that secret: only those who may see it may do that.

Guarantees: pure; no secret is replaced by its mark, and no mark becomes a value.
"""

from __future__ import annotations

from collections.abc import Mapping

from checkvalve.approvals.argument_leaves import below, leaves
from checkvalve.approvals.errors import EditRefusedError
from checkvalve.approvals.seen import Seen, as_text
from checkvalve.approvals.veiled import MARK, Veiled, bare
from checkvalve.filters.strictjson import JSON

_NONE = object()
_REMEDY = "leave the mark in its place, or write the whole value anew"


def meant(row: Seen, given: Mapping[str, JSON]) -> dict[str, JSON]:
    """Return the arguments that are meant by what came back for a call.

    Raises:
        EditRefusedError: a mark stands where it does not belong.
        StoreCorruptError: the stored bytes are not what was decided.
    """
    old = row.exact.args()
    names = {shown: name for name, shown in row.names("", old).items()}
    found = {names.get(name, name): value for name, value in given.items()}
    return {name: _meant(row, name, old.get(name), value) for name, value in found.items()}


def sends_a_secret(row: Seen, args: Mapping[str, JSON]) -> bool:
    """Say whether these arguments keep something that is not shown, and change where the call goes or what it does.

    An argument that the record says nothing of may be a destination, so it counts as one.

    Raises:
        StoreCorruptError: the stored bytes are not what was decided.
    """
    before, after = dict(leaves(row.exact.args())), dict(leaves(dict(args)))
    changed = [path for path in {**before, **after} if before.get(path, _NONE) != after.get(path, _NONE)]
    if not any(row.declared.is_aim(path) for path in changed):
        return False
    texts = [as_text(value) for value in after.values()]
    secrets = (as_text(before[item.at])[one.start : one.end] for item in row.parts() for one in item.hidden)
    named = any(item.path != item.at and item.at in after for item in row.redacted())
    return named or any(secret in text for secret in secrets for text in texts)


def _meant(row: Seen, path: str, old: JSON, given: JSON) -> JSON:
    if isinstance(given, dict):
        members = old if isinstance(old, dict) else {}
        names = {shown: name for name, shown in row.names(path, members).items()}
        plain = {names.get(name, name): value for name, value in given.items()}
        return {name: _meant(row, below(path, name), members.get(name), value) for name, value in plain.items()}
    if isinstance(given, list):
        items = old if isinstance(old, list) else []
        return [
            _meant(row, below(path, at), items[at] if at < len(items) else None, value)
            for at, value in enumerate(given)
        ]
    return _text(row, path, old, given) if isinstance(given, str) else given


def _text(row: Seen, path: str, old: JSON, given: str) -> JSON:
    text = as_text(old)
    hidden = row.hidden(path, old)
    if hidden and given == hidden[0].mark and (hidden[0].start, hidden[0].end) == (0, len(text)):
        return old
    shown = row.veil.shown(text, hidden)
    if given == old or (given == shown and isinstance(old, str)):
        return old
    if not (hidden or MARK.search(given)):
        return bare(given) if isinstance(shown, Veiled) else given
    secrets: dict[str, set[str]] = {}
    for one in hidden:
        secrets.setdefault(one.mark, set()).add(text[one.start : one.end])
    pieces, at = list[str](), 0
    for match in MARK.finditer(given):
        stands_for = secrets.get(match[0], set())
        if len(stands_for) != 1 or not isinstance(old, str):
            where = row.veil.text(path)
            raise EditRefusedError(f"a mark of something redacted does not belong into {where}", remedy=_REMEDY)
        pieces += [bare(given[at : match.start()]), *stands_for]
        at = match.end()
    return "".join([*pieces, bare(given[at:])])


__all__ = ["meant", "sends_a_secret"]
