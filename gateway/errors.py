"""The error tree of ``gateway``. Every error says in one line what is wrong and in one line what to do.

GatewayError
├── SettingsError         a settings file or variable is wrong, or lies where the agent can write
├── MissingExtraError     an optional framework is not installed
├── ToolsError            a module of tools cannot be loaded, or holds none
├── RunError              a run stopped because a model or a tool server failed; it can be resumed
├── TokenError            a token of the HTTP API, or the file of them, cannot be used
├── CaseError             the case given to ``checkvalve decide`` is not one
├── ChannelError          the file of channels, or a secret it names, cannot be used
├── OnCallError           the file of on-call schedules cannot be used
├── TeamsError            what came from a chat was not taken
├── OidcError             an organisation's sign-in did not work, or let nobody in
├── SandboxError          there is no sandbox for code here, or it cannot hold what was asked for
└── UncheckedResultError  a tool handed over something in which messages cannot be told from data
"""

from __future__ import annotations

from checkvalve.approvals.causes import Cause


class GatewayError(Exception):
    """Root of every error that ``checkvalve.gateway`` raises on purpose. ``remedy`` is the one thing to do.

    ``cause`` is of the same closed set as that of the queue's errors (``approvals.causes``).
    """

    cause: Cause = Cause.FAILED

    def __init__(self, message: str, remedy: str = "") -> None:
        super().__init__(message)
        self.remedy = remedy
        if remedy:
            self.add_note(f"do: {remedy}")  # in a program's traceback; surfaces of ours print the remedy


class SettingsError(GatewayError):
    """The settings are wrong. Nothing was started."""

    cause = Cause.UNUSABLE


class MissingExtraError(GatewayError):
    """A framework that is only an extra is not installed."""

    @classmethod
    def for_extra(cls, module: str, extra: str) -> MissingExtraError:
        """Return the error that names ``module`` and the command that installs it."""
        return cls(f"{module} is not installed", f"pip install 'checkvalve[{extra}]'")


class ToolsError(GatewayError):
    """A module of tools cannot be loaded, or holds no tools."""

    cause = Cause.UNUSABLE


class RunError(GatewayError):
    """A run was left in the middle because something outside failed. Nothing is lost: resume it."""


class TokenError(GatewayError):
    """A token of the HTTP API, or the file that holds their hashes, cannot be used."""

    cause = Cause.NOT_AUTHENTICATED


class CaseError(GatewayError):
    """A JSON case that does not follow the documented form."""

    cause = Cause.UNUSABLE


class ChannelError(GatewayError):
    """The file of channels, or a secret that it names, cannot be used. Nothing is sent."""

    cause = Cause.UNUSABLE


class OnCallError(GatewayError):
    """The file of on-call schedules, or a secret that it names, cannot be used. Nobody is known to be on call."""

    cause = Cause.UNUSABLE


class TeamsError(GatewayError):
    """What came from a chat was not taken. ``code`` is a stable word, ``status`` that of the HTTP answer."""

    def __init__(self, code: str, message: str, *, status: int) -> None:
        super().__init__(message, "nothing was decided; decide on the review pages")
        self.code, self.status = code, status
        self.cause = _TEAMS.get(code, Cause.NOT_AUTHENTICATED)


class OidcError(GatewayError):
    """An organisation's sign-in did not work, or let nobody in. ``code`` is a stable word."""

    cause = Cause.CREDENTIAL

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message, "look at the settings oidc_*, and at what the issuer says")
        self.code = code


class SandboxError(GatewayError):
    """Code was not run: there is no sandbox here, or it cannot hold what was asked for."""

    cause = Cause.UNUSABLE


class UncheckedResultError(GatewayError):
    """What a tool handed over has a form that nobody here can read. Nothing of it is handed on."""

    cause = Cause.UNUSABLE

    @classmethod
    def of(cls, value: object) -> UncheckedResultError:
        """Return the error for ``value``, of which only the type is named."""
        return cls(
            f"a result holds a {type(value).__name__} where messages or an update should be",
            "return text, a ToolMessage, or a Command whose update is a dictionary with message objects",
        )


_TEAMS = {
    "came_before": Cause.DONE_ALREADY,
    "no_message": Cause.UNUSABLE,
    "store_failed": Cause.FAILED,
}
"""The causes of what is refused of a chat; everything else is that nobody is known to have said it."""
