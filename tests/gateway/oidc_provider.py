"""A little OpenID Connect provider on this machine: real HTTP, real keys; and it can be made to lie."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlencode, urlsplit

from joserfc import jwt
from joserfc.jwk import ECKey, RSAKey

CLIENT, SECRET = "checkvalve", "a secret of the client"


@dataclass
class Issuer:
    """What it says, and who signs in there. ``bend`` may change a token before it is signed."""

    url: str = ""
    rsa: Any = field(default_factory=lambda: RSAKey.generate_key(2048, {"kid": "r1", "use": "sig"}))
    ec: Any = field(default_factory=lambda: ECKey.generate_key("P-256", {"kid": "e1", "use": "sig"}))
    algorithm: str = "RS256"
    person: dict[str, Any] = field(
        default_factory=lambda: {"sub": "u-17", "email": "ann@corp.example", "email_verified": True}
    )
    offer: dict[str, Any] = field(default_factory=dict)
    bend: Callable[[dict[str, Any]], dict[str, Any]] = lambda claims: claims
    token: Callable[[dict[str, Any]], str] | None = None
    extra_keys: list[dict[str, Any]] = field(default_factory=list)
    answer: bytes | None = None
    codes: dict[str, dict[str, str]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def document(self) -> dict[str, Any]:
        found = {
            "issuer": self.url,
            "authorization_endpoint": f"{self.url}/authorize",
            "token_endpoint": f"{self.url}/token",
            "jwks_uri": f"{self.url}/keys",
        }
        return {**found, **self.offer}

    def keys(self) -> dict[str, Any]:
        return {"keys": [self.rsa.as_dict(private=False), self.ec.as_dict(private=False), *self.extra_keys]}

    def authorize(self, query: dict[str, str]) -> str:
        """Let the person in, and return where the browser goes next."""
        code = secrets.token_urlsafe(16)
        self.codes[code] = query
        return f"{query['redirect_uri']}?{urlencode({'code': code, 'state': query['state']})}"

    def exchange(self, form: dict[str, str], login: str) -> tuple[int, dict[str, Any]]:
        query = self.codes.pop(form.get("code", ""), None)
        given = base64.b64encode(f"{CLIENT}:{SECRET}".encode()).decode()
        if query is None or login != f"Basic {given}" or form["redirect_uri"] != query["redirect_uri"]:
            return 400, {"error": "invalid_grant"}
        hashed = hashlib.sha256(form["code_verifier"].encode()).digest()
        if base64.urlsafe_b64encode(hashed).rstrip(b"=").decode() != query["code_challenge"]:
            return 400, {"error": "invalid_grant"}
        now = int(time.time())
        claims = {"iss": self.url, "aud": CLIENT, "iat": now, "exp": now + 300, "nonce": query["nonce"]}
        claims |= {"auth_time": now, **self.person}
        claims = self.bend(claims)
        return 200, {"access_token": "x", "token_type": "Bearer", "id_token": (self.token or self.signed)(claims)}

    def signed(self, claims: dict[str, Any]) -> str:
        key = self.ec if self.algorithm.startswith("ES") else self.rsa
        header = {"alg": self.algorithm, "kid": key.as_dict()["kid"]}
        return jwt.encode(header, claims, key, algorithms=[self.algorithm])

    def unsigned(self, claims: dict[str, Any]) -> str:
        return f"{_joined({'alg': 'none'}, claims)}."

    def confused(self, claims: dict[str, Any]) -> str:
        """Sign with the public key as if it were a secret that both sides know."""
        text = _joined({"alg": "HS256", "kid": "r1"}, claims)
        made = hmac.new(self.rsa.as_pem(private=False), text.encode(), hashlib.sha256).digest()
        return f"{text}.{base64.urlsafe_b64encode(made).rstrip(b'=').decode()}"


def _joined(*parts: dict[str, Any]) -> str:
    data = (json.dumps(part).encode() for part in parts)
    return ".".join(base64.urlsafe_b64encode(one).rstrip(b"=").decode() for one in data)


@contextmanager
def issuing() -> Iterator[Issuer]:
    """Serve it from a thread."""
    issuer = Issuer()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            issuer.asked.append(parts.path)
            if parts.path == "/authorize":
                query = {name: values[0] for name, values in parse_qs(parts.query).items()}
                self.send_response(302)
                self.send_header("Location", issuer.authorize(query))
                self.end_headers()
                return
            documents = {"/.well-known/openid-configuration": issuer.document, "/keys": issuer.keys}
            self._send(200, documents[parts.path]())

        def do_POST(self) -> None:
            issuer.asked.append(self.path)
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            self._send(*issuer.exchange(dict(parse_qsl(body)), self.headers.get("Authorization", "")))

        def _send(self, status: int, body: dict[str, Any]) -> None:
            data = json.dumps(body).encode() if issuer.answer is None else issuer.answer
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    issuer.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield issuer
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
