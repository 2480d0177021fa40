"""The kinds of personal data, and what each needs besides its form: a label word, groups, or nothing.

A checksum only confirms: one number in ten passes Luhn, one in eleven passes the check of the NHS. So a bare number is
personal data only behind a word that says so. Guarantees: pure; label words are compared as whole words (East Asian
ones as they stand); weak patterns (driver licences, passports, dates) are not here at all.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

EMAIL: Final = "email"
PHONE: Final = "phone"
CARD: Final = "card"
IBAN: Final = "iban"
IP: Final = "ip"
CRYPTO: Final = "crypto"
NATIONAL_ID: Final = "national-id"
NAME: Final = "name"
KINDS: Final = frozenset({EMAIL, PHONE, CARD, IBAN, IP, CRYPTO, NATIONAL_ID, NAME})
"""Every kind that may be named in a policy. ``name`` needs the extra ``names``."""

WINDOW: Final = 48
"""Characters before a value in which its label is looked for."""
_NEAR: Final = 20  # characters before a value in which a word that says otherwise counts


@dataclass(frozen=True, slots=True)
class Need:
    """What an entity of Presidio is here: its kind, the words that label it, and when its form alone suffices."""

    kind: str
    labels: str = ""
    form: str = ""  # fullmatch: the value needs no label
    shape: str = ""  # fullmatch: what looks otherwise is none, whatever the pattern of Presidio says
    gate: str = "7digits"

    def accepts(self, value: str, before: str) -> bool:
        """Say whether ``value`` is personal data behind ``before``: the nearest word that says anything decides."""
        if self.shape and not re.fullmatch(self.shape, value):
            return False
        if not self.labels and not self.form:
            return True
        tail = before[-WINDOW:].casefold()
        label, other = _last(self.labels, tail), _last(_OTHER_WORDS, tail[-_NEAR:], len(tail) - len(tail[-_NEAR:]))
        if label > other:
            return True
        return other < 0 and bool(self.form) and re.fullmatch(self.form, value) is not None


_ID: Final = "ausweis personalausweis dni cedula cédula kimlik 身份证 证件"
_CARD_WORDS: Final = (
    "card credit debit visa mastercard amex maestro discover jcb pan cc kreditkarte karte carte tarjeta "
    "卡 信用卡 银行卡"
)
_PHONE_WORDS: Final = (
    "phone telephone tel mobile cell cellphone call fax sms whatsapp telefon handy mobil rufnummer téléphone "
    "teléfono móvil 电话 手机 联系 号码 電話 携帯 전화"
)
_GROUPED_CARD: Final = r"\d{4}([ -])\d{4}\1\d{4}\1\d{1,7}|\d{4}[ -]\d{6}[ -]\d{4,5}"
_GROUPED_PHONE: Final = (
    r"\+\d[\d ().-]{6,20}|\(\d{2,5}\)[ -]?\d[\d -]{4,14}|\d{2,5}[ -]\d{3,4}[ -]\d{3,4}(?:[ -]\d{2,4})?"
)

NEEDS: Final[dict[str, Need]] = {
    "CV_EMAIL": Need(EMAIL, gate="@"),
    "CREDIT_CARD": Need(CARD, _CARD_WORDS, _GROUPED_CARD),
    "IBAN_CODE": Need(IBAN),
    "PHONE_NUMBER": Need(PHONE, _PHONE_WORDS, _GROUPED_PHONE),
    "CV_CN_MOBILE": Need(PHONE, _PHONE_WORDS, r"(?:\+?86[ -]?)?1[3-9]\d[ -]\d{4}[ -]\d{4}|\+86[ -]?1[3-9]\d{9}"),
    "CV_IP": Need(IP, form=r"(?!127\.|0\.0\.0\.0).*", gate="ip"),
    "CRYPTO": Need(CRYPTO, gate="long"),
    "CV_ETH": Need(CRYPTO, gate="long"),
    "CV_CN_ID": Need(NATIONAL_ID),
    "US_SSN": Need(NATIONAL_ID, "ssn social security", r"\d{3}-\d{2}-\d{4}"),
    "US_ITIN": Need(NATIONAL_ID, "itin taxpayer", r"9\d{2}-\d{2}-\d{4}"),
    "UK_NHS": Need(NATIONAL_ID, "nhs"),
    "UK_NINO": Need(NATIONAL_ID, "nino national insurance", gate="6digits"),
    "ES_NIF": Need(NATIONAL_ID, f"nif {_ID}"),
    "ES_NIE": Need(NATIONAL_ID, f"nie {_ID}"),
    "IT_FISCAL_CODE": Need(NATIONAL_ID),
    "FI_PERSONAL_IDENTITY_CODE": Need(NATIONAL_ID, gate="6digits"),
    "PL_PESEL": Need(NATIONAL_ID, "pesel"),
    "SE_PERSONNUMMER": Need(NATIONAL_ID, f"personnummer {_ID}"),
    "DE_TAX_ID": Need(NATIONAL_ID, "steuer steuerid identifikationsnummer idnr tin tax"),
    "DE_SOCIAL_SECURITY": Need(NATIONAL_ID, "sozialversicherungsnummer rentenversicherungsnummer svnr", gate="6digits"),
    "IN_AADHAAR": Need(NATIONAL_ID, "aadhaar aadhar uidai"),
    "IN_PAN": Need(NATIONAL_ID, "pan", shape=r"[A-Za-z]{5}\d{4}[A-Za-z]", gate="4digits"),
    "SG_NRIC_FIN": Need(NATIONAL_ID, f"nric fin {_ID}"),
    "KR_RRN": Need(NATIONAL_ID, f"주민등록번호 rrn {_ID}", r"\d{6}-\d{7}"),
    "TH_TNIN": Need(NATIONAL_ID, f"บัตรประชาชน {_ID}"),
    "TR_NATIONAL_ID": Need(NATIONAL_ID, f"tckn kimlik {_ID}"),
    "CA_SIN": Need(NATIONAL_ID, "sin social insurance", r"\d{3}-\d{3}-\d{3}"),
    "AU_TFN": Need(NATIONAL_ID, "tfn tax file"),
    "ZA_ID_NUMBER": Need(NATIONAL_ID, _ID),
}
"""By Presidio's entity; those that begin with ``CV_`` are recognised by patterns of our own."""

_OTHER_WORDS: Final = (
    "order invoice tracking ticket ref reference sku batch serial version build commit page item article model part "
    "bestellung rechnung auftrag 订单 单号 注文 v"
)


def _last(words: str, text: str, base: int = 0) -> int:
    """Return the place of the last of ``words`` in ``text``, plus ``base``; -1 when none of them is there."""
    if not any(word in text for word in _words(words)):  # much faster than the pattern, and mostly the answer
        return -1
    found = [match.start() for match in _pattern(words).finditer(text)]
    return found[-1] + base if found else -1


@lru_cache(maxsize=64)
def _words(words: str) -> tuple[str, ...]:
    return tuple(words.split())


@lru_cache(maxsize=64)
def _pattern(words: str) -> re.Pattern[str]:
    """Return a pattern of whole words; East Asian ones have no borders."""
    spaced = [re.escape(word) for word in words.split() if word.isascii() or word[0] < "\u0900"]
    joined = [re.escape(word) for word in words.split() if word[0] >= "\u0900"]
    whole = [rf"(?<![^\W\d_])(?:{'|'.join(spaced)})(?![^\W\d_])"] if spaced else []
    return re.compile("|".join([*whole, *joined]) or r"(?!)")
