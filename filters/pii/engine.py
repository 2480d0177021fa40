"""Presidio without a language model: nothing is downloaded, no network, a closed list of recognisers.

Guarantees: built once, when it is first needed, since the import alone takes two seconds; the recogniser for URLs is
never loaded (its pattern needs minutes for two kilobytes of dots); digits are looked at in short stretches only. The
entities and their checks are Presidio's; e-mail addresses, Chinese numbers and Ethereum addresses are patterns of our
own, because theirs is missing, needs a list from the network, or refuses hosts of a company; so are addresses of IP,
because theirs needs seconds for numbers and dots.
"""

from __future__ import annotations

import re
from copy import copy
from functools import lru_cache
from importlib.util import find_spec
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, Final

from checkvalve.filters.pii.kinds import NAME, NEEDS, WINDOW

if TYPE_CHECKING:
    from presidio_analyzer import AnalyzerEngine, EntityRecognizer

LANGUAGE: Final = "en"
"""What Presidio calls the one language; patterns have none."""
_CN_WEIGHTS: Final = (7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2)
_CN_CHECK: Final = "10X98765432"
_PHONE_LIKE: Final = re.compile(r"(?:(?<![\w.])[(]?|(?<![\d.])\+)\d(?:[ ().\u2010-\u2015/-]{0,2}\d){6,16}(?![\w])")
REGIONS: Final = ("US", "GB", "DE", "FR", "IT", "ES", "IN", "BR", "CN", "JP")
"""Where numbers without a country code may come from."""


@lru_cache(maxsize=1)
def analyzer() -> AnalyzerEngine:
    """Return the engine."""
    from presidio_analyzer import AnalyzerEngine, RecognizerRegistry  # noqa: PLC0415 - two seconds, when needed
    from presidio_analyzer.nlp_engine import NlpEngineProvider  # noqa: PLC0415

    models = [{"lang_code": LANGUAGE, "model_name": "no_op"}]
    engine = NlpEngineProvider(nlp_configuration={"nlp_engine_name": "no_op", "models": models}).create_engine()
    registry = RecognizerRegistry(recognizers=[*_presidios(), *_own()], supported_languages=[LANGUAGE])
    return AnalyzerEngine(registry=registry, nlp_engine=engine, supported_languages=[LANGUAGE])


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
        recogniser(
            "CV_EMAIL",
            r"(?<![A-Za-z0-9._%+'/=-])[A-Za-z0-9][A-Za-z0-9._%+'-]{0,63}@(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.){1,8}"
            r"[A-Za-z]{2,24}(?![A-Za-z0-9-])",
        ),
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


def _phones() -> EntityRecognizer:
    """Return Presidio's recogniser, which looks at stretches that are no longer than a number."""
    from presidio_analyzer.predefined_recognizers import PhoneRecognizer  # noqa: PLC0415

    class Phones(PhoneRecognizer):
        def analyze(self, text: str, entities: Any, nlp_artifacts: Any = None) -> list[Any]:  # noqa: ARG002 - its form
            found = []
            for match in _PHONE_LIKE.finditer(text):
                at = match.start()
                if at >= WINDOW and not NEEDS["PHONE_NUMBER"].accepts(match[0], text[at - WINDOW : at]):
                    continue  # it would not count in any region
                found += [self._at(result, at) for result in self.of_regions(match[0])[:1]]
            return found

        def _at(self, result: Any, at: int) -> Any:
            """Return a remembered result at its place in the text, as a result of this recogniser."""
            own = copy(result)
            own.start, own.end = result.start + at, result.end + at
            own.recognition_metadata = {**own.recognition_metadata, own.RECOGNIZER_IDENTIFIER_KEY: self.id}
            return own

        @staticmethod
        @lru_cache(maxsize=4096)
        def of_regions(number: str) -> list[Any]:
            """Return what any region makes of ``number``, the longest first; asking all of them is slow."""
            return sorted(asked(number, []), key=lambda one: one.start - one.end)

    asked = PhoneRecognizer(supported_regions=REGIONS, leniency=1, supported_language=LANGUAGE).analyze
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
