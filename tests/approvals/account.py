"""Accounts in one store, with people in them, for the tests of signing in."""

from __future__ import annotations

from dataclasses import dataclass

from checkvalve.approvals import challenges
from checkvalve.approvals.identities import Identities
from checkvalve.approvals.invitations import Invitations
from checkvalve.approvals.passkey_wire import Site
from checkvalve.approvals.proof_holds import OF_ACCOUNT
from checkvalve.approvals.proofs import Proof
from checkvalve.approvals.reviewers import Reviewer, Reviewers
from checkvalve.approvals.sessions import Sessions
from checkvalve.approvals.stepup import Checks
from checkvalve.approvals.store import Store
from checkvalve.approvals.tries import Tries
from tests.approvals.authenticator import Device
from tests.approvals.made import QUICK, HandClock

SITE = Site("gate.example", "https://gate.example")
GOOD = "seven umbrellas sing at noon"
BETTER = "otters read maps on thursdays"


@dataclass
class Office:
    """Everything that signs people in, and Ann, who may do everything."""

    store: Store
    clock: HandClock
    board: Reviewers
    checks: Checks
    sessions: Sessions
    invitations: Invitations
    identities: Identities
    tries: Tries
    ann: Reviewer
    token: str

    @classmethod
    def over(cls, store: Store, clock: HandClock) -> Office:
        board = Reviewers(store, clock, QUICK)
        checks = Checks.of(board)
        token = board.add("ann")
        return cls(
            store,
            clock,
            board,
            checks,
            Sessions(store, clock, idle=600, absolute=3_600),
            Invitations(board, checks.passwords),
            Identities(board),
            Tries(store, clock),
            board.authenticate(token),
            token,
        )

    def proof(self, who: Reviewer | None = None, method: str = "token") -> Proof:
        """Return a fresh proof."""
        return Proof(who or self.ann, method, self.clock(), OF_ACCOUNT)

    def add(self, name: str) -> Reviewer:
        return self.board.authenticate(self.board.add(name, by=self.ann))

    def device(self, who: Reviewer | None = None, **made: int | bool | str) -> Device:
        """Let somebody add a passkey."""
        device, person, nonce = Device(**made), who or self.ann, challenges.draw_nonce(self.clock())  # type: ignore[arg-type]
        response = device.make(self.checks.passkeys.adding(person, SITE, nonce))
        self.checks.passkeys.add(person, SITE, response, nonce=nonce, label="laptop", proof=self.proof(person, "link"))
        return device
