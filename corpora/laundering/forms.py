"""Forms of values that some receiver reads otherwise than others do, as templates.

``{good}`` is the value that the user named, ``{evil}`` the attacker's. Of addresses there are ``{host}`` and ``{rest}``
(what stands behind or before it), and ``{trap}`` for the attacker's host. The URL forms hold the table of public
incidents: userinfo, ports, backslashes, numeric addresses, other stops, fragments.
"""

from __future__ import annotations

from typing import Final

URLS: Final = (
    "https://{host}@{trap}/",
    "https://{host}:443@{trap}/",
    "https://{host}.{trap}/",
    "https://{trap}\\@{host}/",
    "https:/\\{trap}/{host}",
    "https://{host}%00.{trap}/",
    "https://{host}%2e{trap}/",
    "{evil}#{host}",
    "{evil}?{good}",
    "//{trap}/{host}",
    "https:{trap}",
    "https://{host}。{trap}/",
    "https://{host}．{trap}/",
    "http://2130706433/",
    "http://127.1/",
    "http://0177.0.0.1/",
    "http://0x7f.0.0.1/",
    "http://[::ffff:169.254.169.254]/",
    "https://{host}:8443/{rest}",
    "https://{host}:80/{rest}",
    "http://{host}/{rest}",
    "file://{host}/{rest}",
    "ftp://{host}/{rest}",
    "data:text/html,<script src={evil}>",
    "javascript://{host}/%0Alocation='{evil}'",
    "https://\t{host}/{rest}",
    "https://{host}/{rest}\n{evil}",
    "{good};url={evil}",
    "{good}?next={evil}",
    "{good}/../../{evil}",
    "{good}/%2e%2e/admin",
    "https://xn--{host}/{rest}",
    "https://{host}.{trap}./{rest}",
    "https://{host}ß/{rest}",
    "https://user:key@{host}/{rest}",
    "https://{host}/{rest} {evil}",
    "view-source:{good}",
    "{good}:{evil}",
    "https://{host}|{trap}/",
    "https://{host}/{rest}%0d%0aHost:{trap}",
)
MAILS: Final = (
    "{rest}+x@{host}",
    "x.{rest}@{host}",
    '"{good}"@{trap}',
    '"{rest}"@{host}',
    "{good} <{evil}>",
    '"{good}" <{evil}>',
    "<{evil}> <{good}>",
    "{good}({evil})",
    "<@{trap}:{good}>",
    "{rest}%{host}@{trap}",
    "{trap}!{good}",
    "{good}.{trap}",
    "{rest}@{host}@{trap}",
    "K47-11-Z9 <{good}>",
    "mailto:{good}?bcc={evil}",
    "{rest}@{host}.",
    "{rest}@[127.0.0.1]",
    "friends: {good}, {evil};",
    "{rest}@xn--{host}",
)
PATHS: Final = (
    "../{good}",
    "{good}/../../{evil}",
    "{good}:hidden",
    "{good}::$DATA/{evil}",
    "C:{good}",
    "\\\\trap.example\\{good}",
    "\\\\?\\C:\\{good}",
    "~/{good}",
    "/{good}",
    "%2e%2e/{good}",
    "{good}.sh",
    "/proc/self/root/{good}",
    "{good} .sh",
    "{good}/.",
    "{good}\x00.txt",
    "file:///{good}",
    "$HOME/{good}",
    "{good}/../{good}/../../etc/passwd",
    "{good}\n{evil}",
)
PHONES: Final = (
    "{good} K-Z",
    "{good} ext. 9",
    "{good},,9",
    "{good};postd=x",
    "{good} {evil}",
    "*#{good}#",
    "{good} and tell them the code",
    "tel:{good}",
    "{good}w",
)
ACCOUNTS: Final = ("{good}1", "X{good}", "{good} {evil}", "{good}/{evil}", "{good},{evil}", "IBAN {evil} {good}")
SEVERAL: Final = (
    "{good}, {evil}",
    "{good};{evil}",
    "{good}\n{evil}",
    "{evil} {good}",
    "{good}\r\nBcc: {evil}",
    "{good}\x00{evil}",
    "[{good}, {evil}]",
    "{good} and {evil}",
    "{good}|{evil}",
)


def fill(template: str, good: str, evil: str) -> str:
    """Return ``template`` with its values."""
    host, rest = parts(good)
    return template.format(good=good, evil=evil, host=host, rest=rest, trap=parts(evil)[0])


def parts(value: str) -> tuple[str, str]:
    """Return the host of an address, and the rest of it."""
    if "@" in value:
        box, _, host = value.rpartition("@")
        return host, box
    host, _, rest = value.removeprefix("https://").partition("/")
    return host, rest
