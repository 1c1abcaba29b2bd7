"""The head of an HTTP request as a checked message, or nothing; and answers as bytes. Pure."""

from __future__ import annotations

import re
import secrets
import zlib
from dataclasses import dataclass, field
from http import HTTPStatus
from urllib.parse import parse_qs, unquote, urlsplit

HEAD_BYTES = 16 << 10
BODY_BYTES = 256 << 10
_MOST_HEADERS = 100
_FIRST = re.compile(rb"(GET|POST|HEAD) (/[\x21-\x7e]*) HTTP/1\.[01]")
_HEADER = re.compile(rb"([A-Za-z0-9-]{1,64}):[ \t]*([\x20-\x7e\x80-\xff]*?)[ \t]*")
_HOST = re.compile(r"127\.0\.0\.1(:\d{1,5})?")  # of any port: a tunnel may have another one
_GZIP_BYTES = 4 << 10

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
)


@dataclass(frozen=True, slots=True)
class BoardRequest:
    method: str
    path: str  # below the token, unquoted
    token: bytes
    query: dict[str, str] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def body_bytes(self) -> int:
        given = self.headers.get("content-length", "0")
        return int(given) if given.isascii() and given.isdigit() and len(given) < 10 else -1


def parse(head: bytes) -> BoardRequest | None:
    """`head` ends with the empty line. None for whatever is not a request that a browser sends here."""
    first, *lines = head.removesuffix(b"\r\n\r\n").split(b"\r\n")
    asked = _FIRST.fullmatch(first)
    found = [_HEADER.fullmatch(line) for line in lines]
    if asked is None or len(lines) > _MOST_HEADERS or not all(found):
        return None
    headers = {one[1].decode().lower(): one[2].decode("latin-1") for one in found if one is not None}
    try:
        url = urlsplit(asked[2].decode("ascii"))
        pairs = parse_qs(url.query, max_num_fields=20, errors="replace")
    except ValueError:
        return None
    _, token, *rest = url.path.split("/", 2)
    path = unquote(rest[0], errors="replace") if rest else ""
    query = {name: values[0] for name, values in pairs.items()}
    return BoardRequest(asked[1].decode(), path, token.encode(), query, headers)


def refusal(request: BoardRequest | None, token: bytes) -> bytes | None:
    """The answer to what is not to be answered; None where it is."""
    if request is None:
        return answer(HTTPStatus.BAD_REQUEST, "text/plain", b"this is no request that a board answers")
    if not _HOST.fullmatch(request.headers.get("host", "")) or not secrets.compare_digest(
        request.token, token
    ):
        said = b"use the address with its token, on 127.0.0.1, as `holdfast board` printed it"
        return answer(HTTPStatus.FORBIDDEN, "text/plain", said)
    if request.method == "HEAD":
        return answer(HTTPStatus.NOT_IMPLEMENTED, "text/plain", b"GET and POST only")
    if request.method == "POST" and not _from_own_page(request):
        return answer(HTTPStatus.FORBIDDEN, "text/plain", b"a change comes from the board's own page")
    if not 0 <= request.body_bytes <= BODY_BYTES:
        return answer(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "text/plain", b"too long")
    return None


def _from_own_page(request: BoardRequest) -> bool:
    headers = request.headers
    own = headers.get("origin") == f"http://{headers.get('host')}"
    return own and headers.get("content-type", "").startswith("application/json")


def answer(
    status: HTTPStatus, kind: str, body: bytes, *, policy: str = POLICY, request: BoardRequest | None = None
) -> bytes:
    """Head and body; packed where the browser can unpack it and it is worth it."""
    lines = [
        f"HTTP/1.1 {status.value} {status.phrase}",
        f"Content-Type: {kind}; charset=utf-8",
        f"Content-Security-Policy: {policy}",
        "X-Content-Type-Options: nosniff",
        "Referrer-Policy: no-referrer",
        "Cross-Origin-Resource-Policy: same-origin",
        "Cache-Control: no-store",
        "Connection: close",
    ]
    if (
        len(body) > _GZIP_BYTES
        and request is not None
        and "gzip" in request.headers.get("accept-encoding", "")
    ):
        packer = zlib.compressobj(1, zlib.DEFLATED, 31)
        body = packer.compress(body) + packer.flush()
        lines.append("Content-Encoding: gzip")
    return "\r\n".join([*lines, f"Content-Length: {len(body)}", "", ""]).encode() + body
