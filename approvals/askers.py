"""Whether the accounts of those who asked, and of those who say yes, are what the log says: asked before a yes counts.

1. The names of those who asked lead to accounts: their own, those of their person, those of the owners of programs.
Each is compared with its events, and so is each account of whoever says yes: whose it is, whose program it is, and what
its person is called elsewhere. 2. A name that has the events of an account and no row is no stranger's: its row was
taken out. 3. What a person was called in an earlier link is theirs, whoever has the link now.

Guarantees: who edits or removes the row of any of these accounts, to look like somebody who did not ask, stops the call
and gains nothing, also where the row is put back afterwards. The events are read in one statement. What it does not
find: an account of the person that was moved to somebody else and whose links were removed with it, while its own name
was not the one that asked; verifying finds that.
"""

from __future__ import annotations

from collections.abc import Iterable

from checkvalve.approvals import reach
from checkvalve.approvals.accountcheck import account_subject, ever_called, require_names
from checkvalve.approvals.asked_by import AskedBy, names_in
from checkvalve.approvals.errors import StoreCorruptError
from checkvalve.approvals.people import folded, same_person
from checkvalve.approvals.recorded_account import ADDED
from checkvalve.approvals.roles import GIVEN, People, Roster, accounts, subject_of
from checkvalve.approvals.votes import Vote


def require_as_told(people: People, asked_by: AskedBy, who: Iterable[str]) -> frozenset[str]:
    """Do the three steps for those who asked and for ``who``, persons or accounts whose yes would count.

    Returns the persons among them who asked under a name that only an earlier link of theirs gives them.

    Raises:
        StoreCorruptError: a row was edited, planted or removed beside the log.
    """
    roster = people if isinstance(people, Roster) else Roster(people)
    known, given = accounts(roster, everyone=True), set(who)
    names, asking = reach.behind(names_in(asked_by), known)
    persons = {one.person for one in known if one.name in given or one.person in given}
    checked = {one.name: one for one in (*asking, *(one for one in known if one.person in persons))}
    called = {subject_of(folded(name)): folded(name) for name in names}
    own = {name: account_subject(name) for name in checked}
    told = roster.told([*(subject_of(name) for name in checked), *called, *own.values()])
    for name in checked:  # 1.
        roster.account_of(name)
    require_names(roster.connection, {name: one.known_as for name, one in checked.items()}, told)
    for subject, name in called.items():  # 2.
        if name not in roster.rows() and any(event.kind in {ADDED, GIVEN} for event in told[subject]):
            raise StoreCorruptError(
                f"the account {name!r} has events and no row",
                remedy="nothing was done; verify the audit log: checkvalve audit verify",
            )
    earlier = {name: ever_called(told[subject]) for name, subject in own.items()}  # 3.
    return frozenset(
        one.person
        for one in checked.values()
        if any(same_person(word, name) for word in earlier[one.name] for name in names_in(asked_by))
    )


def voices(cast: Iterable[Vote]) -> frozenset[str]:
    """Return whose voices the yeses among some votes are: who said each, and for whom."""
    return frozenset(word for vote in cast if vote.yes for word in (vote.reviewer, vote.person, vote.via) if word)


__all__ = ["require_as_told", "voices"]
