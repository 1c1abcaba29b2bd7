"""Heads of requests, checked."""

from __future__ import annotations

import pytest

from holdfast.board.http_request import parse, refusal

TOKEN = b"token"


def head(first: str, *lines: str) -> bytes:
    return "\r\n".join([first, *lines, "", ""]).encode("latin-1")


def test_a_request_of_the_page() -> None:
    request = parse(
        head("GET /token/run?id=a%20b%2Fc HTTP/1.1", "Host: 127.0.0.1:80", "Accept-Encoding: gzip")
    )
    assert request is not None
    assert (request.path, request.token, request.query) == ("run", TOKEN, {"id": "a b/c"})
    assert refusal(request, TOKEN) is None


@pytest.mark.parametrize(
    "sent",
    [b"\r\n\r\n", b"GET / HTTP/2\r\n\r\n", b"GET / HTTP/1.1\r\nno colon\r\n\r\n", b"GET http://x/ HTTP/1.1\r\n\r\n",
     b"GET //[ HTTP/1.1\r\n\r\n", b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 101 + b"\r\n", b"GET /\x00 HTTP/1.1\r\n\r\n",
     b"GET /?" + b"&".join(b"a%d=1" % n for n in range(30)) + b" HTTP/1.1\r\n\r\n", b"PUT / HTTP/1.1\r\n\r\n"],
)  # fmt: skip
def test_what_is_none(sent: bytes) -> None:
    assert parse(sent) is None
    assert (refusal(None, TOKEN) or b"").startswith(b"HTTP/1.1 400 ")


@pytest.mark.parametrize(
    ("first", "lines", "status"),
    [
        ("GET /token/ HTTP/1.1", ["Host: 127.0.0.1"], None),
        ("GET /token/ HTTP/1.1", [], b"403"),
        ("GET /other/ HTTP/1.1", ["Host: 127.0.0.1"], b"403"),
        ("GET /token/ HTTP/1.1", ["Host: evil.example"], b"403"),
        ("HEAD /token/ HTTP/1.1", ["Host: 127.0.0.1"], b"501"),
        ("POST /token/archive HTTP/1.1", ["Host: 127.0.0.1", "Content-Type: application/json"], b"403"),
        ("GET /token/ HTTP/1.1", ["Host: 127.0.0.1", "Content-Length: 99999999"], b"413"),
        ("GET /token/ HTTP/1.1", ["Host: 127.0.0.1", "Content-Length: -1"], b"413"),
    ],
)
def test_what_is_refused(first: str, lines: list[str], status: bytes | None) -> None:
    said = refusal(parse(head(first, *lines)), TOKEN)
    assert (said.split(b" ")[1] if said is not None else None) == status
