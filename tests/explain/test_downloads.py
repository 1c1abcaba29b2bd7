"""What a server answers, and a download that breaks off."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.explain import Strength
from tests.explain.made import Run, title_of

_URLLIB = ["train.py:17 fetch", "urllib/request.py:216 urlopen", "urllib/request.py:643 http_error_default"]


@pytest.mark.parametrize(
    ("kind", "message", "title"),
    [
        ("HTTPError", "HTTP Error 403: Forbidden", "a server refused it: 403 Forbidden"),
        (
            "HTTPError",
            "404 Client Error: Not Found for url: https://example.com/w.h5",
            "the server refused https://example.com/w.h5: 404 Not Found",
        ),
        (
            "Exception",
            "URL fetch failure on https://example.com/w.h5: 503 -- Service Unavailable",
            "the server refused https://example.com/w.h5: 503 Service Unavailable",
        ),
        (
            "IncompleteRead",
            "IncompleteRead(3004 bytes read, 96996 more expected)",
            "a download broke off: IncompleteRead(3004 bytes read, 96996 more expected)",
        ),
        (
            "ContentTooShortError",
            "<urlopen error retrieval incomplete: got only 3004 out of 100000 bytes>",
            "a download broke off: <urlopen error retrieval incomplete: got only 3004 out of 100000 bytes>",
        ),
        (
            "URLError",
            "<urlopen error [Errno -2] Name or service not known>",
            "an address could not be reached",
        ),
    ],
)
def test_what_was_answered_is_said(tmp_path: Path, kind: str, message: str, title: str) -> None:
    run = Run(tmp_path / "run")
    run.raised(kind, message, frames=_URLLIB, user_line="train.py:17", user_code="urlopen(url)")
    found = run.verdict().findings[0]
    assert (found.cause, found.strength, title_of(found)) == ("download-blocked", Strength.ESTABLISHED, title)


def test_an_answer_to_what_a_callback_sent_is_the_callbacks(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.fit()
    run.raised("HTTPError", "HTTP Error 500: Internal Server Error", frames=_URLLIB, callback="Post")
    assert run.verdict().findings[0].cause == "callback-raised"
