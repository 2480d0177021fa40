"""Credentials that say what they are: the fixed beginnings that vendors give their keys, one rule for each.

Guarantees: pure and linear; a rule is only tried where its literal stands in the text, so that ordinary text costs a
few substring searches; what is plainly an example (``EXAMPLE``, one sign over and over, ``<your-key>``) is none.
Whether a key works is never tried out: nothing is sent anywhere. The forms are those that the vendors publish.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

_START: Final = r"(?<![A-Za-z0-9_-])"
_END: Final = r"(?![A-Za-z0-9])"
_MIN_ENTROPY: Final = 2.5  # bits per sign; a key made by a machine has more, "xxxxxxxx" has none
_EXAMPLE: Final = re.compile(
    r"example|dummy|sample|placeholder|redacted|your[-_]?(?:key|token|secret)|x{6}|\*{4}|\.{4}", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class SecretHit:
    """One secret: where it stands (characters of the text), and the code of what it is."""

    start: int
    end: int
    code: str


@dataclass(frozen=True, slots=True)
class Rule:
    """One form: its code, what it always contains, and its pattern."""

    code: str
    literals: tuple[str, ...]
    pattern: re.Pattern[str]


def _rule(code: str, literals: str, pattern: str, *, start: str = _START, end: str = _END) -> Rule:
    return Rule(code, tuple(literals.split()), re.compile(f"{start}(?P<secret>{pattern}){end}"))


_WORD: Final = "[A-Za-z0-9_-]"
RULES: Final = (
    _rule("aws-access-key", "AKIA ASIA ABIA ACCA", r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}"),
    _rule("google-api-key", "AIza", rf"AIza{_WORD}{{35}}"),
    _rule("google-oauth", "GOCSPX- ya29.", rf"GOCSPX-{_WORD}{{28}}|ya29\.{_WORD}{{20,512}}"),
    _rule("github-token", "ghp_ gho_ ghu_ ghs_ ghr_", r"gh[pousr]_[A-Za-z0-9]{36,255}"),
    _rule("github-token", "github_pat_", r"github_pat_[A-Za-z0-9]{22}_[A-Za-z0-9]{59}"),
    _rule("gitlab-token", "gl", rf"gl(?:pat|ptt|dt|rt|cbt|oas|soat|ft|imt|agent|wt|ffct)-(?:{_WORD}|\.){{20,300}}"),
    _rule(
        "slack-token",
        "xox xapp-",
        r"xox[abceoprs]-[A-Za-z0-9-]{10,250}|xapp-[0-9]-[A-Z0-9]{8,20}-[0-9]{8,20}-[a-f0-9]{64}",
    ),
    _rule(
        "slack-webhook", "hooks.slack.com", r"hooks\.slack\.com/(?:services|workflows)/[A-Za-z0-9+/]{40,60}", start=""
    ),
    _rule("discord-webhook", "/api/webhooks/", rf"/api/webhooks/[0-9]{{17,20}}/{_WORD}{{60,80}}", start=""),
    _rule("telegram-token", ":AA", rf"[0-9]{{8,10}}:AA{_WORD}{{33}}"),
    _rule("stripe-key", "sk_live_ sk_test_ rk_live_ rk_test_", r"[sr]k_(?:live|test)_[A-Za-z0-9]{16,250}"),
    _rule("stripe-webhook", "whsec_", r"whsec_[A-Za-z0-9+/=]{32,100}"),
    _rule("anthropic-key", "sk-ant-", rf"sk-ant-[a-z]{{2,8}}[0-9]{{2}}-{_WORD}{{24,200}}"),
    _rule("openai-key", "sk-proj- sk-svcacct- sk-admin-", rf"sk-(?:proj|svcacct|admin)-{_WORD}{{20,250}}"),
    _rule("model-api-key", "sk-", r"sk-(?:or-v1-)?[A-Za-z0-9]{32,128}"),
    _rule("model-api-key", "hf_ gsk_ r8_ pplx- xai-", r"hf_[A-Za-z]{34}|(?:gsk_|r8_|pplx-|xai-)[A-Za-z0-9]{32,100}"),
    _rule("jwt", "eyJ", rf"eyJ{_WORD}{{10,2000}}\.eyJ{_WORD}{{10,4000}}\.{_WORD}{{0,1000}}"),
    _rule("npm-token", "npm_", r"npm_[A-Za-z0-9]{36}"),
    _rule("pypi-token", "pypi-AgE", rf"pypi-AgE{_WORD}{{50,500}}"),
    _rule("rubygems-key", "rubygems_", r"rubygems_[a-f0-9]{48}"),
    _rule("sendgrid-key", "SG.", rf"SG\.{_WORD}{{16,32}}\.{_WORD}{{32,64}}"),
    _rule("twilio-key", "SK", r"SK[0-9a-f]{32}"),
    _rule("mailgun-key", "key-", r"key-[0-9a-f]{32}"),
    _rule("mailchimp-key", "-us", r"[0-9a-f]{32}-us[0-9]{1,2}"),
    _rule(
        "azure-key",
        "AccountKey= SharedAccessKey=",
        r"(?:AccountKey|SharedAccessKey)=[A-Za-z0-9+/]{43,86}={1,2}",
        end="",
    ),
    _rule("azure-secret", "Q~", r"[A-Za-z0-9_~.-]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34}"),
    _rule("azure-signature", "sig=", r"(?<=[?&]|;)sig=[A-Za-z0-9%+/]{30,100}(?:=|%3[dD])", start="", end=""),
    _rule("digitalocean-token", "do", r"do[opr]_v1_[a-f0-9]{64}"),
    _rule("shopify-token", "shp", r"shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}"),
    _rule("square-token", "sq0 EAAA", rf"sq0[a-z]{{3}}-{_WORD}{{22,60}}|EAAA{_WORD}{{60}}"),
    _rule("newrelic-key", "NRAK-", r"NRAK-[A-Z0-9]{27}"),
    _rule("sentry-token", "sntr", r"sntry[su]_[A-Za-z0-9+/=_-]{40,400}"),
    _rule("linear-key", "lin_api_", r"lin_api_[A-Za-z0-9]{40}"),
    _rule("notion-token", "secret_ ntn_", r"(?:secret|ntn)_[A-Za-z0-9]{40,60}"),
    _rule("atlassian-token", "ATATT3", rf"ATATT3(?:{_WORD}|=){{100,250}}"),
    _rule("docker-token", "dckr_pat_", rf"dckr_pat_{_WORD}{{27}}"),
    _rule("databricks-token", "dapi", r"dapi[a-f0-9]{32}(?:-[0-9])?"),
    _rule("vault-token", "hvs. hvb.", rf"hv[sb]\.{_WORD}{{24,200}}"),
    _rule("terraform-token", ".atlasv1.", rf"[A-Za-z0-9]{{14}}\.atlasv1\.{_WORD}{{60,70}}"),
    _rule("doppler-token", "dp.", r"dp\.(?:pt|st|sa|ct|scim|audit)\.[A-Za-z0-9._-]{40,60}"),
    _rule("planetscale-token", "pscale_", r"pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_.=-]{32,64}"),
    _rule("supabase-token", "sbp_", r"sbp_[a-f0-9]{40}"),
    _rule("postman-key", "PMAK-", r"PMAK-[a-f0-9]{24}-[a-f0-9]{34}"),
    _rule("figma-token", "figd_", rf"figd_{_WORD}{{40}}"),
    _rule("age-key", "AGE-SECRET-KEY-1", r"AGE-SECRET-KEY-1[0-9A-Z]{58}"),
)
_CONNECTION: Final = re.compile(
    r"(?<![A-Za-z0-9+.-])[A-Za-z][A-Za-z0-9+.-]{1,30}://[^\s:/?#@\"'<>]{0,128}:(?P<secret>[^\s/?#@\"'<>]{3,200})@(?=[A-Za-z0-9\[])"
)
_STAND_INS: Final = re.compile(
    r"(?i)pass(?:word|wd)?|pwd|secret|token|user(?:name)?|[x*.]{3,}|\W*[A-Z_]{3,}\W*|[$%{<\[].*"
)
_BEGIN: Final = re.compile(r"-----BEGIN (?:[A-Z0-9]{1,12} ){0,4}PRIVATE KEY(?: BLOCK)?-----")
_END_MARK: Final = re.compile(r"-----END [A-Z0-9 ]{0,50}PRIVATE KEY(?: BLOCK)?-----")
_FIRST_LINE: Final = 80  # characters of the longest first line of a key
MAX_PEM: Final = 16_384
"""Characters of the longest private key that is taken as one; longer blocks are taken as far as this."""


def relevant(text: str) -> tuple[Rule, ...]:
    """Return the rules that can find anything in ``text`` or in a part of it."""
    return tuple(rule for rule in RULES if any(literal in text for literal in rule.literals))


def vendor_secrets(text: str, rules: Sequence[Rule] = RULES) -> Iterator[SecretHit]:
    """Yield every secret of ``text`` that is known by its form; ``rules`` are those that can find anything at all."""
    for rule in rules:
        if any(literal in text for literal in rule.literals):
            for match in rule.pattern.finditer(text):
                if not is_example(match["secret"]):
                    yield SecretHit(*match.span("secret"), rule.code)
    if "://" in text:
        for match in _CONNECTION.finditer(text):
            if not _STAND_INS.fullmatch(match["secret"]):
                yield SecretHit(*match.span("secret"), "connection-string")
    if "-----BEGIN" in text:
        yield from _private_keys(text)


def _private_keys(text: str) -> Iterator[SecretHit]:
    """Yield private keys; one without an end goes as far as the text or :data:`MAX_PEM`."""
    for match in _BEGIN.finditer(text):
        closing = _END_MARK.search(text, match.end(), match.end() + MAX_PEM)
        yield SecretHit(
            match.start(), closing.end() if closing else min(len(text), match.end() + MAX_PEM), "private-key"
        )


def begins_private_key(text: str) -> bool:
    """Say whether ``text`` ends inside a private key: its beginning is there and its end is not."""
    begin = text.rfind("-----BEGIN")
    if begin < 0:
        return False
    opened = _BEGIN.match(text, begin)
    if opened is None:  # the first line itself may not be complete
        return len(text) - begin < _FIRST_LINE and "-----" not in text[begin + 5 :]
    return _END_MARK.search(text, opened.end()) is None


def private_key_end(text: str) -> int:
    """Return where a private key that began earlier ends in ``text``: its length when it does not."""
    closing = _END_MARK.search(text)
    return closing.end() if closing else len(text)


def is_example(value: str) -> bool:
    """Say whether ``value`` only shows what a secret looks like."""
    return bool(_EXAMPLE.search(value)) or entropy(value) < _MIN_ENTROPY


def entropy(value: str) -> float:
    """Return the Shannon entropy of the signs of ``value``, in bits per sign; 0 for an empty text."""
    size = len(value)
    return -sum(count / size * math.log2(count / size) for count in Counter(value).values()) if size else 0.0
