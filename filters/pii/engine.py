"""Presidio without a language model: nothing is downloaded, no network, a closed list of recognisers.

Guarantees: built once, when it is first needed, since the import alone takes two seconds; the recogniser for URLs is
never loaded (its pattern needs minutes for two kilobytes of dots); digits are looked at in short stretches only. The
entities and their checks are Presidio's; e-mail addresses, Chinese numbers and Ethereum addresses are patterns of our
own, because theirs is missing, needs a list from the network, or refuses hosts of a company; so are addresses of IP,
because theirs needs seconds for numbers and dots.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from importlib.util import find_spec
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, Final

from checkvalve.filters.pii.kinds import NAME, NEEDS, WINDOW

if TYPE_CHECKING:
    from presidio_analyzer import AnalyzerEngine, EntityRecognizer, RecognizerResult

_NOTHING: Any = None  # what a language model would have said of a text
LANGUAGE: Final = "en"
"""What Presidio calls the one language; patterns have none."""
_CN_WEIGHTS: Final = (7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2)
_CN_CHECK: Final = "10X98765432"
PHONE_LIKE: Final = re.compile(r"(?:(?<![\w.])[(]?|(?<![\d.])\+)\d(?:[ ().\u2010-\u2015/-]{0,2}\d){6,16}(?![\w])")
EMAIL_ADDRESS: Final = (
    r"(?<![A-Za-z0-9._%+'/=-])[A-Za-z0-9][A-Za-z0-9._%+'-]{0,63}@(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.){1,8}"
    r"[A-Za-z]{2,24}(?![A-Za-z0-9-])"
)
_LOCAL_PART: Final = 66  # characters before an ``@``: the longest name, and one more on its left
_DOMAIN: Final = re.compile(r"[\w.-]{0,700}")  # at least all that the pattern can take, and more letters than it knows
REGIONS: Final = ("US", "GB", "DE", "FR", "IT", "ES", "IN", "BR", "CN", "JP")
"""Where numbers without a country code may come from."""


@lru_cache(maxsize=1)
def recognisers() -> dict[str, list[EntityRecognizer]]:
    """Return the recognisers by the entity that each of them looks for; two seconds, when first needed."""
    found: dict[str, list[EntityRecognizer]] = {}
    for one in (*_presidios(), *_own()):
        for entity in one.supported_entities:
            found.setdefault(entity, []).append(one)
    return found


def asked(chunk: str, entities: Iterable[str]) -> Sequence[RecognizerResult]:
    """Return what Presidio's recognisers find of ``entities``: what its engine returns when it has no language model.

    The engine itself is left out: without words to look at it only copies, for longer than its patterns take.
    """
    from presidio_analyzer import EntityRecognizer  # noqa: PLC0415

    known = recognisers()
    found = [
        result for entity in entities for one in known[entity] for result in one.analyze(chunk, [entity], _NOTHING)
    ]
    return EntityRecognizer.remove_duplicates(found) if len(found) > 1 else found


def _presidios() -> list[EntityRecognizer]:
    from presidio_analyzer import predefined_recognizers as found  # noqa: PLC0415

    names = (
        "CreditCard Iban Crypto UsSsn UsItin Nhs UkNino EsNif EsNie ItFiscalCode FiPersonalIdentityCode PlPesel "
        "SePersonnummer DeTaxId DeSocialSecurity InAadhaar InPan SgFin KrRrn ThTnin TrNationalId CaSin AuTfn ZaIdNumber"
    )
    return [getattr(found, f"{name}Recognizer")(supported_language=LANGUAGE) for name in names.split()]


def _own() -> list[EntityRecognizer]:
    from presidio_analyzer import Pattern, PatternRecognizer  # noqa: PLC0415

    def recogniser(entity: str, pattern: str, check: Any = None) -> EntityRecognizer:
        class Own(PatternRecognizer):
            def validate_result(self, pattern_text: str) -> bool | None:
                return None if check is None else bool(check(pattern_text))

        patterns = [Pattern(entity, pattern, 0.8)]
        return Own(supported_entity=entity, patterns=patterns, name=entity, supported_language=LANGUAGE)

    return [
        _emails(),
        recogniser("CV_CN_MOBILE", r"(?<![\d.+-])(?:\+?86[ -]?)?1[3-9]\d[ -]?\d{4}[ -]?\d{4}(?![\d.-])"),
        recogniser(
            "CV_CN_ID",
            r"(?<![\dA-Za-z])[1-8]\d{5}(?:19|20)\d{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])\d{3}[\dXx](?![\dA-Za-z])",
            is_chinese_id,
        ),
        recogniser(
            "CV_IP",
            r"(?<![\w.])(?:\d{1,3}\.){3}\d{1,3}(?![\w.]*\d)|(?<![\w:.])[0-9A-Fa-f]{0,4}(?::[0-9A-Fa-f]{0,4}){3,7}(?![\w:])",
            is_ip,
        ),
        recogniser("CV_ETH", r"(?<![0-9A-Za-z])0x[0-9a-fA-F]{40}(?![0-9A-Za-z])"),
        _phones(),
    ]


def is_ip(text: str) -> bool:
    """Say whether ``text`` is an address of IP, version 4 or 6."""
    try:
        return bool(ip_address(text))
    except ValueError:
        return False


def _emails() -> EntityRecognizer:
    """Return a recogniser of addresses that looks around each ``@`` only: most letters stand far from one."""
    from presidio_analyzer import Pattern, PatternRecognizer  # noqa: PLC0415

    class Emails(PatternRecognizer):
        def analyze(self, text: str, entities: Any, nlp_artifacts: Any = None, regex_flags: Any = None) -> list[Any]:
            found = []
            for start, end in _around_signs(text):
                for result in super().analyze(text[start:end], entities, nlp_artifacts, regex_flags):
                    result.start, result.end = result.start + start, result.end + start
                    found.append(result)
            return found

    patterns = [Pattern("CV_EMAIL", EMAIL_ADDRESS, 0.8)]
    return Emails(supported_entity="CV_EMAIL", patterns=patterns, name="CV_EMAIL", supported_language=LANGUAGE)


def _around_signs(text: str) -> Iterator[tuple[int, int]]:
    """Yield disjoint stretches of ``text`` that hold every address with the characters before and behind it."""
    start = end = 0
    at = text.find("@")
    while at >= 0:
        first, domain = max(0, at - _LOCAL_PART), _DOMAIN.match(text, at + 1)
        if first > end:
            if end:
                yield start, end
            start = first
        end = (domain.end() if domain else at) + 1
        at = text.find("@", at + 1)
    if end:
        yield start, end


def _phones() -> EntityRecognizer:
    """Return Presidio's recogniser, which looks at stretches that are no longer than a number."""
    from presidio_analyzer import RecognizerResult  # noqa: PLC0415
    from presidio_analyzer.predefined_recognizers import PhoneRecognizer  # noqa: PLC0415

    class Phones(PhoneRecognizer):
        def analyze(self, text: str, entities: Any, nlp_artifacts: Any = None) -> list[Any]:  # noqa: ARG002 - its form
            found = []
            for match in PHONE_LIKE.finditer(text):
                at = match.start()
                if at >= WINDOW and not NEEDS["PHONE_NUMBER"].accepts(match[0], text[at - WINDOW : at]):
                    continue  # it would not count in any region
                found += [
                    RecognizerResult("PHONE_NUMBER", at + start, at + end, score)
                    for start, end, score in self.of_regions(match[0])
                ]
            return found

        @staticmethod
        @lru_cache(maxsize=4096)
        def of_regions(number: str) -> list[tuple[int, int, float]]:
            """Return the longest that any region makes of ``number``; asking all of them is slow."""
            found = sorted(plain(number, []), key=lambda one: one.start - one.end)[:1]
            return [(one.start, one.end, one.score) for one in found]

    plain = PhoneRecognizer(supported_regions=REGIONS, leniency=1, supported_language=LANGUAGE).analyze
    return Phones(supported_regions=REGIONS, leniency=1, supported_language=LANGUAGE)


def is_chinese_id(text: str) -> bool:
    """Say whether the last sign of a resident's id is the right one (GB 11643-1999, MOD 11-2)."""
    total = sum(weight * int(digit) for weight, digit in zip(_CN_WEIGHTS, text[:17], strict=True))
    return _CN_CHECK[total % 11] == text[17].upper()


@lru_cache(maxsize=2)
def name_analyzer(model: str) -> AnalyzerEngine:
    """Return an engine that finds names of people with the spaCy model ``model``, which must be installed (extra).

    Raises:
        OSError: there is no such model on this machine; nothing is downloaded.
    """
    from presidio_analyzer import AnalyzerEngine, RecognizerRegistry  # noqa: PLC0415
    from presidio_analyzer.nlp_engine import NlpEngineProvider  # noqa: PLC0415
    from presidio_analyzer.predefined_recognizers import SpacyRecognizer  # noqa: PLC0415

    if find_spec(model) is None:  # else Presidio would try to download it
        raise OSError(f"the spaCy model {model!r} for {NAME!r} is not installed; install the extra `names`")
    models = [{"lang_code": LANGUAGE, "model_name": model}]
    engine = NlpEngineProvider(nlp_configuration={"nlp_engine_name": "spacy", "models": models}).create_engine()
    recognisers = [SpacyRecognizer(supported_entities=["PERSON"], supported_language=LANGUAGE)]
    registry = RecognizerRegistry(recognizers=recognisers, supported_languages=[LANGUAGE])
    return AnalyzerEngine(registry=registry, nlp_engine=engine, supported_languages=[LANGUAGE])
