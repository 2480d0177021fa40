# ruff: noqa: E501, RUF001 - a list of words is read better in long lines, and some words are Russian
"""Texts that do not repeat themselves, made from a seed: what a filter is measured on, since it may learn one text.

One paragraph repeated is what a machine for patterns has seen after the first time. These texts have sentences of our
own word lists in changing order, with numbers, names, addresses and links: prose, Markdown, several languages, code,
JSON, HTML, mail, tables and settings. The same seed gives the same text. No text of others is in here.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from typing import Final


def _words(text: str, between: str = " ") -> list[str]:
    return text.split(between)


NOUNS: Final = _words(
    "budget minutes invoice release parser cache reviewer argument origin meeting quarter plan report customer order "
    "contract supplier shipment harbour bridge garden kitchen lesson teacher engine battery sensor valve pipe reservoir "
    "ticket branch commit request test server database index table column query backup network password policy rule "
    "message answer question summary note task tool agent assistant user system model document file folder page link "
    "image chart region office team manager engineer nurse driver visitor train station ticket-desk weather river field "
    "harvest season price total account payment refund deadline draft version licence module function variable value"
)
VERBS: Final = _words(
    "sends reads writes checks moves keeps drops opens closes reviews approves signs delivers counts measures repairs "
    "replaces follows describes explains mentions compares collects shares updates removes adds tests runs starts stops "
    "calls answers asks forwards copies prints stores loads plans books cancels confirms returns receives needs uses"
)
ADJECTIVES: Final = _words(
    "new old previous current final open quiet annual local remote public private small large broken careful early late "
    "first second important urgent simple narrow green heavy empty shared hidden original external internal required"
)
OPENINGS: Final = _words(
    "Please note that|As agreed,|Before the meeting,|After that|In the meantime|If needed,|Usually|For this reason|"
    "You can see that|We think that|Do not forget:|Once it is done,|According to the list,|On Monday|However,|Then",
    "|",
)
NAMES: Final = _words(
    "Ann Bo Carla Deniz Emre Fatima Goran Hana Ivo Jin Kofi Lena Mira Nuno Olga Pavel Rosa Sven Tara Uma"
)
CLASSES: Final = _words(
    "mt-4 flex items-center text-gray-600 nav-link btn btn-primary col-md-6 card card-body font-bold px-2"
)
WORLD: Final = (
    "der Haushalt wird am Montag geprüft und die Lieferung kommt früher als geplant in das neue Lager an der Straße",
    "le rapport de la réunion est prêt mais la livraison du fournisseur arrive plus tard que prévu à cause de la neige",
    "el informe de la reunión está listo pero la entrega del proveedor llega más tarde de lo previsto por la lluvia",
    "отчёт о встрече готов но поставка придёт позже чем ожидалось потому что дорога через мост закрыта до вторника",
    "会议 的 报告 已经 完成 但是 供应商 的 交货 比 计划 晚 因为 道路 关闭 我们 星期二 再 讨论 新 的 预算",
    "会議 の 報告 は できました が 納品 は 予定 より 遅れます 橋 が 閉まって いる ため です 火曜日 に また 話します",
    "تقرير الاجتماع جاهز لكن التسليم يتأخر عن الموعد لأن الطريق مغلق حتى يوم الثلاثاء ثم نناقش الميزانية الجديدة",
    "बैठक की रिपोर्ट तैयार है लेकिन माल की आपूर्ति देर से आएगी क्योंकि सड़क मंगलवार तक बंद है फिर नया बजट देखेंगे",
)


def sentence(dice: random.Random) -> str:
    """Return one English sentence."""
    words = [dice.choice(NOUNS) if dice.random() < 0.6 else dice.choice(NAMES) for _ in range(3)]  # noqa: PLR2004
    parts = [
        f"the {dice.choice(ADJECTIVES)} {words[0]} {dice.choice(VERBS)} the {words[1]}",
        f"{dice.choice(NAMES)} {dice.choice(VERBS)} {dice.randint(2, 900)} {words[2]}s",
        f"{words[0]} {dice.randint(100, 9999)}-{dice.randint(10, 99)} is due on 2026-{dice.randint(10, 12)}-{dice.randint(10, 28)}",
        f"the {words[1]} of the {words[2]} costs {dice.randint(1, 99)},{dice.randint(100, 999)}.{dice.randint(10, 99)} EUR",
        f"see https://{dice.choice(NOUNS)}.example/{dice.choice(NOUNS)}/{dice.randint(1, 999)} for the {words[0]}",
    ]
    body = dice.choice((", and ", ", but ", "; ", " because ", ", so ")).join(dice.sample(parts, dice.randint(1, 3)))
    body = f"{dice.choice(OPENINGS)} {body}" if dice.random() < 0.5 else body[0].upper() + body[1:]  # noqa: PLR2004
    return body + dice.choice("....?!:")


def paragraph(dice: random.Random) -> str:
    """Return two to six sentences."""
    return " ".join(sentence(dice) for _ in range(dice.randint(2, 6)))


def prose(dice: random.Random) -> str:
    """Return a paragraph with its border."""
    return paragraph(dice) + "\n\n"


def markdown(dice: random.Random) -> str:
    """Return a section of a page: a heading, emphasis, a list, a table or code, a link."""
    noun, verb = dice.choice(NOUNS), dice.choice(VERBS)
    rows = "".join(f"| `{dice.choice(NOUNS)}_{dice.choice(NOUNS)}` | {sentence(dice)} |\n" for _ in range(3))
    blocks = [
        "".join(f"- **{dice.choice(NOUNS)}**: {sentence(dice)}\n" for _ in range(dice.randint(2, 5))),
        f"| name | meaning |\n| --- | --- |\n{rows}",
        f"```python\n{code(dice)}```\n",
        f"> {sentence(dice)}\n",
    ]
    link = f"See [the {noun}]({noun}-{dice.randint(1, 99)}.md#{verb}) and `{noun}.{verb}()`; *{sentence(dice)}*"
    return f"## {sentence(dice)}\n\n{paragraph(dice)} {link}\n\n{dice.choice(blocks)}\n"


def languages(dice: random.Random, lines: Sequence[str] = WORLD) -> str:
    """Return a paragraph in one of several languages, its words in changing order."""
    words = dice.choice(lines).split()
    said = (" ".join(dice.sample(words, dice.randint(6, len(words)))) for _ in range(dice.randint(2, 4)))
    return ". ".join(said) + f" ({dice.choice(NAMES)}, {dice.randint(1, 999)}).\n\n"


def code(dice: random.Random) -> str:
    """Return one function with a docstring and a comment."""
    one, two, three = (dice.choice(NOUNS).replace("-", "_") for _ in range(3))
    return (
        f"def {dice.choice(VERBS)}_{one}({two}: str, {three}: int = {dice.randint(0, 99)}) -> dict[str, int]:\n"
        f'    """{sentence(dice)}"""\n'
        f"    # {sentence(dice)}\n"
        f"    if not {two} or {three} > {dice.randint(1, 999)}:\n"
        f'        raise ValueError(f"the {one} {{{two}!r}} is {dice.choice(ADJECTIVES)}")\n'
        f'    {one}s = [item.{dice.choice(VERBS)}() for item in {two}.split("{dice.choice(",;:|")}")]\n'
        f'    return {{"{one}": len({one}s), "{three}_total": {three} * {dice.randint(2, 64)}}}\n\n\n'
    )


def record(dice: random.Random) -> dict[str, object]:
    """Return one record of a tool's result."""
    return {
        "id": dice.randint(1, 10**6),
        "author": f"{dice.choice(NAMES).lower()}@corp.example",
        "tags": [dice.choice(NOUNS) for _ in range(3)],
        "note": paragraph(dice),
        "price": {"amount": dice.randint(1, 10**5) / 100, "currency": "EUR"},
    }


def page(dice: random.Random) -> str:
    """Return a part of an HTML page."""
    noun = dice.choice(NOUNS)
    return (
        f'<section id="{noun}-{dice.randint(1, 999)}" class="{dice.choice(ADJECTIVES)} box"><h2>{sentence(dice)}</h2>\n'
        f"<p>{paragraph(dice)}</p><ul><li>{sentence(dice)}</li><li><b>{noun}</b>: {sentence(dice)}</li></ul>\n"
        f'<a href="/{noun}/{dice.randint(1, 999)}" title="{sentence(dice)}">{noun}</a></section>\n'
    )


def styled(dice: random.Random) -> str:
    """Return a part of a page as sites have them: many tags, most with classes, and little text in each."""
    noun, other, name = dice.choice(NOUNS), dice.choice(NOUNS), dice.choice(NAMES)

    def classes() -> str:
        return " ".join(dice.choice(CLASSES) for _ in range(dice.randint(1, 4)))

    menu = "".join(
        f'<li class="{classes()}"><a class="nav-link" href="/{dice.choice(NOUNS)}/{dice.randint(1, 9999)}">'
        f'<span class="icon" aria-hidden="true"></span>{dice.choice(NOUNS)}</a></li>\n'
        for _ in range(dice.randint(4, 9))
    )
    rows = "".join(
        f'<tr><td class="num">{dice.randint(1, 9999)}</td><td><a href="https://www.{dice.choice(NOUNS)}.example/?id='
        f'{dice.randint(1, 999)}&amp;ref={noun}">{sentence(dice)}</a></td><td>{dice.choice(NAMES)}</td></tr>\n'
        for _ in range(dice.randint(3, 8))
    )
    blocks = [
        f'<nav class="{classes()}" aria-label="{noun} {other}"><ul>\n{menu}</ul></nav>\n',
        f'<table class="{classes()}"><thead><tr><th>#</th><th>Title</th><th>By</th></tr></thead>\n{rows}</table>\n',
        (
            f'<article id="post-{dice.randint(1, 99999)}" class="{classes()}"><h3><a href="/{noun}">{sentence(dice)}</a></h3>'
            f"<p>{paragraph(dice)} <em>{noun}</em>, <code>{other}()</code>.</p><p>{paragraph(dice)}</p>"
            f'<img src="/img/{noun}-{dice.randint(1, 999)}.jpg" alt="{sentence(dice)}" width="640" height="480"></article>\n'
        ),
        (
            f'<div class="{classes()}"><div class="{classes()}"><h4>{noun} &amp; {other}</h4><p style="margin-top: '
            f'{dice.randint(1, 9)}px">{sentence(dice)}</p><button type="button" class="{classes()}">Add</button></div></div>\n'
        ),
        f'<script>window.{name} = {{"id": {dice.randint(1, 9999)}, "name": "{noun}"}};</script>\n',
    ]
    return dice.choice(blocks)


def issue(dice: random.Random) -> dict[str, object]:
    """Return one record as interfaces of sites have them: many fields with short values."""
    name, noun = dice.choice(NAMES).lower(), dice.choice(NOUNS)
    return {
        "id": dice.randint(1, 10**9),
        "url": f"https://api.example/repos/{noun}/issues/{dice.randint(1, 9999)}",
        "state": dice.choice(("open", "closed")),
        "title": sentence(dice),
        "user": {"login": name, "id": dice.randint(1, 99999), "type": "User", "site_admin": False},
        "labels": [
            {"name": dice.choice(NOUNS), "color": f"{dice.getrandbits(24):06x}"} for _ in range(dice.randint(0, 3))
        ],
        "assignee": None,
        "created_at": f"2026-10-{dice.randint(10, 28)}T10:{dice.randint(10, 59)}:00Z",
        "body": f"{sentence(dice)}\r\n\r\n{paragraph(dice)}" if dice.random() < 0.3 else sentence(dice),  # noqa: PLR2004
    }


def readme(dice: random.Random) -> str:
    """Return a part of a README: badges, commands, links, pictures, code, a list."""
    noun, other = dice.choice(NOUNS), dice.choice(NOUNS)
    links = "".join(
        f"* [{dice.choice(NOUNS)}](https://{dice.choice(NOUNS)}.example/) - {sentence(dice)}\n" for _ in range(4)
    )
    blocks = [
        f"## {noun.title()}\n\n[![CI](https://img.example/{noun}.svg)](https://ci.example/{other})\n\n{paragraph(dice)}\n\n",
        f"```bash\n$ pip install {noun}\n$ {noun} --{other} {dice.randint(1, 99)}  # {sentence(dice)}\n```\n\n",
        f"{links}\n",
        f"```python\n{code(dice)}```\n\n",
        f"![{noun}](docs/{noun}.png)\n\nUse `{noun}.{other}()`, **{noun}** or _{other}_. {paragraph(dice)}\n\n",
        f"> **Note**\n> {sentence(dice)}\n\n1. {sentence(dice)}\n2. See [{noun}][{other}]. {sentence(dice)}\n\n",
    ]
    return dice.choice(blocks)


def setting(dice: random.Random) -> str:
    """Return one block of a settings file, with a comment."""
    noun, other = dice.choice(NOUNS), dice.choice(NOUNS)
    return (
        f"{noun}_{dice.randint(1, 999)}:\n  {other}: {dice.randint(1, 999)}  # {sentence(dice)}\n"
        f'  title: "{sentence(dice)}"\n  enabled: true\n  {other}s:\n    - {noun}-{other}\n    - {noun}\n'
    )


def row(dice: random.Random) -> str:
    """Return one row of a table."""
    name = dice.choice(NAMES)
    return (
        f'{dice.randint(1, 99999)},{name},{name.lower()}@corp.example,{dice.randint(1, 9999)}.50,"{sentence(dice)}"\n'
    )


def _filled(piece: Callable[[random.Random], str], size: int, dice: random.Random) -> str:
    parts: list[str] = []
    length = 0
    while length < size:
        parts.append(piece(dice))
        length += len(parts[-1].encode())
    return "".join(parts)


def _records(size: int, dice: random.Random, one: Callable[[random.Random], dict[str, object]] = record) -> str:
    rows: list[dict[str, object]] = []
    length = 0
    while length < size:
        rows.append(one(dice))
        length += len(json.dumps(rows[-1]))
    return json.dumps(rows)


def _mail(size: int, dice: random.Random) -> str:
    heads = f"From: {dice.choice(NAMES)} <a@corp.example>\nTo: b@corp.example\nSubject: {sentence(dice)}\n\n"
    return heads + _filled(prose, size, dice)


FORMS: Final[dict[str, Callable[[int, random.Random], str]]] = {
    "prose": lambda size, dice: _filled(prose, size, dice),
    "Markdown": lambda size, dice: _filled(markdown, size, dice),
    "eight languages": lambda size, dice: _filled(languages, size, dice),
    "Chinese, Arabic, Hindi": lambda size, dice: _filled(lambda one: languages(one, WORLD[4:]), size, dice),
    "code": lambda size, dice: _filled(code, size, dice),
    "JSON": _records,
    "HTML page": lambda size, dice: f"<html><body>{_filled(page, size, dice)}</body></html>",
    "mail": _mail,
    "README": lambda size, dice: _filled(readme, size, dice),
    "JSON with many short fields": lambda size, dice: _records(size, dice, issue),
    "HTML page with many tags": lambda size, dice: f"<html><body>{_filled(styled, size, dice)}</body></html>",
    "CSV": lambda size, dice: _filled(row, size, dice),
    "YAML": lambda size, dice: _filled(setting, size, dice),
}
"""Name of the form, and what makes about ``size`` bytes of it."""


def made(form: str, size: int, seed: int) -> str:
    """Return a text of about ``size`` bytes: the same for the same seed."""
    return FORMS[form](size, random.Random(f"{form} {size} {seed}"))
