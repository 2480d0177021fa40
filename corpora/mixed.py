"""Contexts of any size for measuring: what a working day puts before an agent, drawn from a seed.

Guarantees: the same size and seed give the same results on every machine; mails, file lists, tables, web pages and
JSON records take turns; texts come in eight languages and hold addresses, links, numbers, dates and accounts. Every
name is made up, and every address lies in a reserved domain.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from checkvalve.filters.strictjson import JSON

_ROWS: Final = 40  # records in one listing: a page of a web API
_TEXTS: Final = (
    "the meeting about the new release moved because two of the testers are ill and the room is taken",
    "please find the revised figures for the third quarter attached and tell us what is still missing",
    "der Bericht über die Wartung der Anlage liegt vor und muss bis Ende der Woche geprüft werden",
    "les chiffres du trimestre sont prêts mais il manque encore la signature du responsable à Genève",
    "el pedido llegó ayer por la tarde y la factura está pendiente de revisión en la oficina de Málaga",
    "a reunião foi adiada porque a versão em português ainda não está pronta para os clientes",
    "отчёт о поставках готов и будет отправлен всем участникам проекта после проверки бухгалтерией",
    "会议改到下周三下午请把新的报价单和合同草稿发给采购部的同事并抄送经理",
    "来週の打ち合わせの資料は共有フォルダに置きましたのでご確認のうえお返事ください",
    "התקציב לשנה הבאה מוכן ואפשר לעבור עליו יחד בפגישה של יום שלישי בבוקר",
)
_FIRST: Final = (
    "Anna",
    "Bruno",
    "Chloé",
    "Dmitri",
    "Elif",
    "Fatima",
    "Göran",
    "Hana",
    "Ibrahim",
    "Jürgen",
    "Keiko",
    "Li",
)
_LAST: Final = (
    "Albrecht",
    "Baptiste",
    "Costa",
    "Dvořák",
    "Eriksen",
    "Fischer",
    "García",
    "Horváth",
    "Ivanova",
    "Jansen",
)
_ENDINGS: Final = ("pdf", "xlsx", "md", "csv", "docx", "png")
_TOPICS: Final = (
    "budget",
    "release",
    "roadmap",
    "contract",
    "travel",
    "hiring",
    "audit",
    "survey",
    "backup",
    "invoice",
)


@dataclass(frozen=True)
class Result:
    """One result of a tool: the tool's name, the arguments of the call and what it returned."""

    tool: str
    args: dict[str, JSON]
    value: JSON


def mixed_results(size: int, seed: int = 1) -> Iterator[Result]:
    """Yield results until their JSON has at least ``size`` bytes of UTF-8; the last one may go beyond.

    Args:
        size: bytes in all, 1 at least; below about ten kilobytes only one or two results are needed.
        seed: another one draws other values.
    """
    draw = random.Random(seed)
    makers = (_mail, _files, _table, _page, _records)
    made = number = 0
    while made < size:
        found = makers[number % len(makers)](draw, number)
        number += 1
        made += len(json.dumps(found.value, ensure_ascii=False).encode())
        yield found


def _mail(draw: random.Random, number: int) -> Result:
    paragraphs = [_paragraph(draw, draw.randint(2, 8)) for _ in range(draw.randint(2, 12))]
    value: JSON = {
        "id": f"m{number}",
        "sender": _address(draw),
        "to": [*(_address(draw) for _ in range(draw.randint(1, 6)))],
        "subject": f"{draw.choice(_TOPICS)} {draw.randint(1, 90)}: {_sentence(draw)[:60]}",
        "date": _date(draw),
        "body": "\n\n".join(["Hello,", *paragraphs, f"> {_sentence(draw)}", f"Tel. {_phone(draw)}"]),
    }
    return Result("read_mail", {"id": f"m{number}"}, value)


def _files(draw: random.Random, number: int) -> Result:
    value: JSON = [
        {
            "id": f"f{number}-{row}",
            "name": f"{draw.choice(_TOPICS)}-{draw.randint(1, 9999)}.{draw.choice(_ENDINGS)}",
            "path": f"/home/{draw.choice(_FIRST).lower()}/{draw.choice(_TOPICS)}/{draw.randint(2019, 2026)}/{row}",
            "size": draw.randint(100, 90_000_000),
            "modified": _date(draw),
            "owner": _address(draw),
            "shared": draw.random() < 0.5,
        }
        for row in range(_ROWS)
    ]
    return Result("list_files", {"folder": f"/{draw.choice(_TOPICS)}"}, value)


def _table(draw: random.Random, number: int) -> Result:
    """Draw a table as people get it: lines of text with separators."""
    lines = ["date;payee;account;amount;note"]
    lines += [
        f"{_date(draw)[:10]};{_name(draw)};{_account(draw)};{_price(draw)};{_sentence(draw)[:40]}" for _ in range(_ROWS)
    ]
    return Result("query", {"table": f"booking_{number}"}, "\n".join(lines))


def _page(draw: random.Random, number: int) -> Result:
    lines = [f"# {_sentence(draw)[:50]}"]
    for _ in range(draw.randint(4, 14)):
        lines += [
            "",
            _paragraph(draw, draw.randint(2, 6)),
            f"- [{draw.choice(_TOPICS)}]({_link(draw)})",
            f"* {_sentence(draw)}",
        ]
    return Result("fetch_page", {"url": f"https://site{number}.example/start"}, "\n".join(lines))


def _records(draw: random.Random, number: int) -> Result:
    people: list[JSON] = [
        {
            "id": number * _ROWS + row,
            "name": _name(draw),
            "email": _address(draw),
            "phone": _phone(draw),
            "account": _account(draw),
            "joined": _date(draw),
            "tags": [*draw.sample(_TOPICS, 3)],
            "address": {
                "street": f"{_sentence(draw)[:18]} {draw.randint(1, 200)}",
                "code": str(draw.randint(10_000, 99_999)),
            },
            "balance": draw.randint(-90_000, 900_000) / 100,
        }
        for row in range(_ROWS)
    ]
    return Result("contacts", {"page": number}, {"people": people, "next": _link(draw)})


def _sentence(draw: random.Random) -> str:
    """Return words of one of the texts, cut and turned, so that hardly two sentences are the same."""
    text = draw.choice(_TEXTS)
    parts = text.split(" ") if " " in text else list(text)
    start = draw.randrange(len(parts))
    joint = " " if " " in text else ""
    return joint.join((parts[start:] + parts[:start])[: draw.randint(5, len(parts))])


def _paragraph(draw: random.Random, sentences: int) -> str:
    extras: tuple[Callable[[random.Random], str], ...] = (_address, _link, _date, _phone, _account, _amount, _name)
    said = [
        f"{_sentence(draw)} {draw.choice(extras)(draw)}" if draw.random() < 0.4 else _sentence(draw)
        for _ in range(sentences)
    ]
    return ". ".join(said) + "."


def _name(draw: random.Random) -> str:
    return f"{draw.choice(_FIRST)} {draw.choice(_LAST)}"


def _address(draw: random.Random) -> str:
    return f"{draw.choice(_FIRST).lower()}.{draw.randint(1, 4000)}@{draw.choice(_TOPICS)}.example".replace(
        "é", "e"
    ).translate({ord("ö"): "o", ord("ü"): "u"})


def _link(draw: random.Random) -> str:
    query = f"?id={draw.getrandbits(40):x}&ref=mail%20list" if draw.random() < 0.5 else ""
    site = f"{draw.choice(_TOPICS)}{draw.randint(1, 300)}.example"
    return f"https://{site}/{draw.choice(_TOPICS)}/{draw.randint(1, 10_000)}{query}"


def _date(draw: random.Random) -> str:
    day = f"{draw.randint(2019, 2026)}-{draw.randint(1, 12):02}-{draw.randint(1, 28):02}"
    return f"{day}T{draw.randint(0, 23):02}:{draw.randint(0, 59):02}"


def _price(draw: random.Random) -> str:
    return f"{draw.randint(1, 9000)},{draw.randint(0, 99):02}"


def _phone(draw: random.Random) -> str:
    return f"+{draw.randint(30, 99)} {draw.randint(100, 999)} {draw.randint(100_000, 9_999_999)}"


def _account(draw: random.Random) -> str:
    return (
        f"DE{draw.randint(10, 99)} "
        + " ".join(f"{draw.randint(0, 9999):04}" for _ in range(4))
        + f" {draw.randint(0, 99):02}"
    )


def _amount(draw: random.Random) -> str:
    return f"{draw.randint(1, 99_999)}.{draw.randint(0, 99):02} EUR"
