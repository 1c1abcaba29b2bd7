"""A webhook: one POST with JSON. An answer below 300 means that it arrived."""

from __future__ import annotations

import base64
import http.client
import json
import socket
import urllib.error
import urllib.request
from collections.abc import Mapping
from email.message import Message
from typing import IO, Any
from urllib.parse import unquote, urlsplit, urlunsplit

from holdfast.notify.delivery import Refused, Unavailable

_ADVICE = {
    401: "the token or password in the address or its headers is wrong",
    403: "the token in the address is wrong, or may not write there",
    404: "nothing receives messages at this address",
    405: "this address takes no POST",
    410: "this webhook was removed",
}


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A redirect may lead to a host that the user never named."""

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: Any, newurl: str
    ) -> None:
        return None


def post(address: str, payload: Mapping[str, Any], headers: Mapping[str, str], *, timeout_s: float) -> None:
    """Raises Refused where another try would end the same, Unavailable where it may not."""
    bare, credentials = _without_credentials(address)
    request = urllib.request.Request(
        bare,
        data=json.dumps(payload, ensure_ascii=False).encode(),
        headers={"Content-Type": "application/json", "User-Agent": "holdfast", **credentials, **headers},
        method="POST",
    )
    opener = urllib.request.build_opener(_NoRedirects())
    try:
        with opener.open(request, timeout=timeout_s) as answer:
            answer.read(1024)
    except urllib.error.HTTPError as error:
        with error:
            raise _of_status(error.code, error.reason, error.headers) from None
    except urllib.error.URLError as error:
        raise Unavailable(_reason(error.reason, timeout_s)) from None
    except (OSError, http.client.HTTPException) as error:
        raise Unavailable(_reason(error, timeout_s)) from None
    except ValueError as error:  # a header or an address that HTTP has no place for
        raise Refused(f"the address or a header cannot be sent: {error}") from None


def _of_status(code: int, reason: str, headers: Message) -> Refused | Unavailable:
    said = f"it answered {code} {reason}".rstrip()
    if 300 <= code < 400:
        host = urlsplit(headers.get("Location", "")).hostname
        there = f" to {host}" if host else ""
        return Refused(f"{said}: it redirects{there}, and redirects are not followed; give that address")
    if code >= 500 or code in (408, 425, 429):
        return Unavailable(said, pause_s=_seconds(headers.get("Retry-After", "")))
    return Refused(said + (f": {_ADVICE[code]}" if code in _ADVICE else ""))


def _seconds(text: str) -> float | None:
    return float(text) if text.isdigit() else None


def _reason(error: object, timeout_s: float) -> str:
    if isinstance(error, TimeoutError):
        return f"no answer within {timeout_s:g} s"
    if isinstance(error, socket.gaierror):
        return "its host name is not known"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror.lower()
    return str(error) or type(error).__name__


def _without_credentials(address: str) -> tuple[str, dict[str, str]]:
    """`https://user:password@host` as HTTP's own header."""
    parts = urlsplit(address)
    if "@" not in parts.netloc:
        return address, {}
    own, _, host = parts.netloc.rpartition("@")
    encoded = base64.b64encode(unquote(own).encode()).decode()
    return urlunsplit(parts._replace(netloc=host)), {"Authorization": f"Basic {encoded}"}
