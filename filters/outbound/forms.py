"""Links and resources in every written form, each with the stretches that have to go when it may not stay.

Markdown (inline, image, definition, autolink), HTML tags and attributes, CSS, bare addresses, ``data:`` and script
addresses. A definition serves images as well as links, wherever they stand, so it never stays one unless clients may
load its target: it becomes text. Guarantees: linear time (no repeated group inside a repeated group can match one text
in two ways); what is found is described by stretches of the original, and ``resource`` says that a client loads it
without anybody clicking.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from checkvalve.filters.outbound.signs import (
    ADDRESS,
    ASSIGNED,
    BRACKETS,
    CSS,
    DEFINITION,
    NAME,
    SIGNED,
    TAG,
    able_to_hold,
)
from checkvalve.filters.outbound.view import View
from checkvalve.filters.values import TRAILING
from checkvalve.filters.vocabulary import FILE_ENDINGS

Stretch = tuple[int, int]

_TAG: Final = re.compile(
    r"<(?P<close>/?)(?P<name>[A-Za-z][^\s<>/\"'=]{0,60}+)(?P<rest>(?:[^<>\"']++|\"[^\"]*+\"|'[^']*+')*+)(?P<end>>?)"
)
_LOADED_TAGS: Final = frozenset(
    re.findall(
        r"\w+",
        "applet audio base bgsound button embed form frame frameset iframe image img input link meta object param "
        "picture portal script source style svg track use video",
    )
)
_ATTRIBUTES: Final = r"src|srcset|background|poster|data|action|formaction|xlink:href|ping|cite|manifest|lowsrc|dynsrc"
_LOADING: Final = re.compile(rf"(?i)(?<![\w-])(?:{_ATTRIBUTES}|on[a-z]{{3,30}})\s*=|url\(|@import|image-set\(|src\(")
_HREF: Final = re.compile(r"(?i)(?<![\w-])(?:xlink:)?href\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'>]+))")
_ASSIGNED: Final = re.compile(
    rf"(?i)(?<![\w-])(?:{_ATTRIBUTES})\s*=\s*[\"']?\s*(?P<to>(?:[a-z][a-z0-9+.-]{{1,15}}:|[/\\]{{2}}|www\.)[^\s\"'<>)]{{1,2048}})"
)
_CSS: Final = re.compile(
    r"(?i)(?:\burl\(\s*[\"']?|@import\s+[\"']|\bimage-set\(\s*[\"'])\s*"
    r"(?P<to>(?:[a-z][a-z0-9+.-]{1,15}:|[/\\]{2}|www\.)[^\s\"'<>)]{1,2048})"
)
_DEFINITION: Final = re.compile(
    r"(?m)^[ \t>]{0,12}(?:(?:[-*+]|\d{1,9}[.)])[ \t]{1,4}){0,4}"
    r"\[(?!\^)(?P<label>(?:[^\[\]\n\\]|\\.){1,999}+)\](?P<colon>:)[ \t]*\n?[ \t]*<?(?P<to>[^\s<>]{1,2048})"
)
_AUTOLINK: Final = re.compile(r"<(?P<to>[A-Za-z][A-Za-z0-9+.-]{1,31}:[^\s<>]{1,2048})>")
_ADDRESS: Final = re.compile(
    # clients that make links of addresses begin one after an underscore, and many of them anywhere
    r"""(?i)(?:(?:https?|ftps?|(?<![^\W_])(?:file|wss?|webcals?|feed|sftp|smb)):[/\\]{1,3}(?=[\w\[])"""
    r"""|(?<![:/\\\w])//(?=[^\s/]{1,253}\.[^\s/])|(?<![^\W_])www\."""
    r"""|(?<![^\W_])(?:ipfs|ipns|ipld|gopher|gemini|ircs?|afp|cifs|davs?|tftp)://(?=[\w\[])"""
    r"""|(?<![^\W_])https?:(?=(?:[a-z0-9-]{1,63}\.){1,8}[a-z]{2,24}(?![\w.-])))"""
    r"""[^\s<>"'`{}|^\\]{1,2048}(?:\\@[^\s<>"'`{}|^\\]{1,2048})?"""
    r"""|(?<![^\W_])(?:javascript|vbscript|livescript|blob|filesystem):[^\s<>"'`]{1,2048}"""
    r"""|(?<![^\W_])data:(?:[a-z]+/[a-z0-9.+-]+[;,]|;base64,|,)[^\s<>"'`]{0,8192}|(?<![^\W_])mailto:[^\s<>"'`]{1,2048}"""
    r"""|(?<![\w@./:\\-])(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.){1,8}[a-z]{2,24}(?::\d{1,5})?[/?][^\s<>"'`{}|^)]{1,2048}"""
    r"""|(?<![\w@./:\\-])(?:\d{1,3}\.){3}\d{1,3}(?::\d{1,5})?[/?][^\s<>"'`{}|^)]{1,2048}"""
)
_SHARE: Final = re.compile(
    r"(?i)(?<![\w\\/:])\\\\(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.){1,8}[a-z0-9]{1,24}(?:@[a-z0-9@]{1,12})?"
    r"\\[^\s<>\"'`{}|^()*?\[\]]{1,2048}"
)
"""A share of another machine by its whole name: clients make a link of it, and Windows says who asks. A name without a
dot stays in the house, and looks like any two escaped signs in code."""
_NAME: Final = re.compile(
    r"(?i)(?<![\w@./:\\-])(?=[a-z0-9.-]{0,200}[a-z0-9]{16})(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.){2,8}[a-z]{2,24}(?![\w@(-])"
)
"""A host alone, as some clients make a link of. Prose and code are full of dots, so it is looked at for data only."""
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|[/\\]{2}|\\")
_HOST_LIKE: Final = re.compile(r"(?:[^\W_](?:[\w-]{0,61}[^\W_])?\.){1,8}[^\W\d_]{2,24}(?::\d{1,5})?(?:[/?#]|$)")
_CLOSING: Final = re.compile(r"\s{0,20}(?:\"[^\"]{0,500}\"|'[^']{0,500}'|\([^()]{0,500}\))?\s{0,20}\)")
_EAST_ASIAN: Final = frozenset("，！？；：、（）「」『』【】《》")
SIGNS: Final = re.compile(
    r":[/\\]|[/\\]{2}|\]\(|\]:|<[A-Za-z/]|(?i:www\.|data:|script:|url\(|mailto:|src|blob:)|[^\W_][.\u3002][^\W_]"
)
"""What every form has at least one of: a text without any is not looked at closer."""


@dataclass(frozen=True, slots=True)
class Form:
    """One link or resource. ``remove`` goes when it may not stay, and the mark stands at the first of ``to``.

    ``shown`` is what a person sees instead of the target; empty when the target itself is shown. ``drop`` goes in any
    case: the signs that make a definition one. ``share`` is one that is written with backslashes.
    """

    target: str
    to: Stretch
    resource: bool = False
    shown: str = ""
    remove: tuple[Stretch, ...] = ()
    definition: bool = False
    share: bool = False


def forms(view: View) -> Iterator[Form]:
    """Yield every link and resource of ``view``; those inside others come as well."""
    text = view.text
    able = able_to_hold(text)
    if not able or not (SIGNED in able if text.isascii() else SIGNS.search(text)):
        return
    if TAG in able:
        yield from _tags(view)
    if BRACKETS in able:
        yield from _inline(view)
    if DEFINITION in able:
        yield from _definitions(view)
    for pattern, need, resource in ((_ASSIGNED, ASSIGNED, True), (_CSS, CSS, True), (_AUTOLINK, TAG, False)):
        for match in pattern.finditer(text) if need in able else ():
            yield Form(match["to"], view.span(*match.span()), resource)
    for match in _ADDRESS.finditer(text) if ADDRESS in able else ():
        target = _trimmed(match[0])
        if target and not _is_file(target):
            yield Form(target, view.span(match.start(), match.start() + len(target)))
    for match in _SHARE.finditer(text) if ADDRESS in able and "\\\\" in text else ():
        target = _trimmed(match[0])
        yield Form(target, view.span(match.start(), match.start() + len(target)), share=True)


def names(view: View) -> Iterator[Form]:
    """Yield bare host names with a long label; they are no links unless a label carries data."""
    for match in _NAME.finditer(view.text) if NAME in able_to_hold(view.text) else ():
        yield Form(match[0], view.span(*match.span()))


def _trimmed(target: str) -> str:
    """Return an address of running text without what follows it: brackets that it did not open, and punctuation.

    An ideographic full stop before a letter stays: clients read it as a dot of the host.
    """
    depth = 0
    for place, char in enumerate(target):
        depth += (char in "([") - (char in ")]")
        ends = char == "\u3002" and not (target[place + 1 : place + 2].isascii() and target[place + 1 :])
        if depth < 0 or ends or char in _EAST_ASIAN:
            return target[:place].rstrip(TRAILING)
    return target.rstrip(TRAILING)


def _is_file(target: str) -> bool:
    """Say whether what has no scheme is rather a path of files: ``notes.md/x`` is no address."""
    host = re.split(r"[/?:]", target, maxsplit=1)[0]
    return "." in host and host.rpartition(".")[2].lower() in FILE_ENDINGS


def _tags(view: View) -> Iterator[Form]:
    for match in _TAG.finditer(view.text):
        name, rest = match["name"].lower(), match["rest"]
        if ":" in name and name.endswith(":"):
            continue  # an autolink
        loads = name.rpartition(":")[2] in _LOADED_TAGS
        if match["close"]:
            if loads:
                yield Form("", view.span(*match.span()), resource=True, shown=" ")
        elif loads or _LOADING.search(rest):
            yield Form(_first_address(rest), view.span(*match.span()), resource=True)
        elif (found := _HREF.search(rest)) and not is_relative(to := next(filter(None, found.groups()), "#")):
            yield Form(to, view.span(*match.span()), shown=" ")


def _first_address(attributes: str) -> str:
    found = _ASSIGNED.search(attributes) or _CSS.search(attributes)
    return found["to"] if found else ""


def _inline(view: View) -> Iterator[Form]:
    """Yield inline links and images by their closing ``](``."""
    text = view.text
    for start, close in _brackets(text):
        image = start is None or text[max(0, start - 1) : start] == "!"
        target, end = _destination(text, close + 2)
        if not target:
            continue
        opening = () if start is None else (view.span(start - image, start + 1),)
        shown = text[start + 1 : close] if start is not None else " "
        if image or not is_relative(target):
            yield Form(target, view.span(close, end), image, shown or " ", opening)


def _definitions(view: View) -> Iterator[Form]:
    for match in _DEFINITION.finditer(view.text):
        if is_relative(match["to"]):
            continue
        signs = (
            view.span(match.start("label") - 1, match.start("label")),
            view.span(match.end("label"), match.end("colon")),
        )
        yield Form(
            match["to"].rstrip(TRAILING), view.span(*match.span("to")), resource=False, remove=signs, definition=True
        )


def _brackets(text: str) -> Iterator[tuple[int | None, int]]:
    """Yield opening and closing place of every ``[...](``; one that began before this text has no opening."""
    opened: list[int] = []
    for match in _BRACKET.finditer(text):
        if match[0] == "[":
            opened.append(match.start())
        elif match[0] == "]":
            start = opened.pop() if opened else None
            if text.startswith("](", match.start()):
                yield start, match.start()


_BRACKET: Final = re.compile(r"\\.|[\[\]]", re.DOTALL)  # what a backslash escapes is no bracket


def _destination(text: str, start: int) -> tuple[str, int]:
    """Return target and end of what follows ``](``: to its closing bracket, or to the target's end where none comes."""
    match = _TARGET.match(text, start)
    target = (match["pointed"] if match["pointed"] is not None else match["plain"]) if match else ""
    end = match.end() if match else start
    closing = _CLOSING.match(text, end)
    return target, closing.end() if closing else end


_TARGET: Final = re.compile(
    r"\s{0,20}(?:<(?P<pointed>[^<>\n]{0,2048})>|(?P<plain>(?:[^\s()<>]++|\([^\s()<>]{0,300}+\)){0,200}+))"
)


def is_relative(target: str) -> bool:
    """Say whether a target stays on the page's own site: no scheme, no host, nothing a browser reads as one.

    Browsers skip line breaks and tabs in an address, and take a backslash for a slash.
    """
    plain = re.sub(r"[\t\n\r]", "", target).strip()
    if _SCHEME.match(plain) or plain[:2] == "/\\":
        return False
    return _is_file(plain) or not _HOST_LIKE.match(plain)
