"""A server that cannot be reached, refuses, or breaks off; a download that does not end."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.explain import Strength
from holdfast.journal.stack_files import Frame, Thread
from tests.explain.made import Run, facts, remedies, user

_URLLIB = ["train.py:17 fetch", "urllib/request.py:216 urlopen", "urllib/request.py:643 http_error_default"]


def example(run: Run) -> None:
    get = [
        Frame("/usr/lib/python3.11/socket.py", 718, "readinto"),
        Frame("/usr/lib/python3.11/urllib/request.py", 1391, "do_open"),
        Frame("/venv/lib/python3.11/site-packages/keras/src/utils/file_utils.py", 301, "get_file"),
        user(6, "<module>"),
    ]
    call = "recvfrom fd=5 (socket:[9])"
    main = Thread(tid=4000, main=True, state="S", wait="sk_wait_data", syscall=call, frames=get)
    run.stalled("build", main, step=0)
    run.stopped()


def near_miss(run: Run) -> None:
    run.raised("ValueError", "the URL of the bucket is not set")


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return Run(tmp_path / "run")


def test_a_download_that_does_not_end_is_named_by_its_line(run: Run) -> None:
    example(run)
    first = run.first()
    assert (first.title.kind, first.strength) == ("download-blocked.waits", Strength.SUPPORTED)
    assert first.title.values == {"where": "/home/me/train.py:6 in <module>"}
    assert facts(first)["thread.stalled"]["inside"] == "/usr/lib/python3.11/socket.py:718 in readinto"


@pytest.mark.parametrize(
    ("kind", "message", "values"),
    [
        ("HTTPError", "HTTP Error 403: Forbidden", ("", 403, "Forbidden")),
        ("HTTPError", "404 Client Error: Not Found for url: https://example.com/w.h5",
         ("https://example.com/w.h5", 404, "Not Found")),
        ("Exception", "URL fetch failure on https://example.com/w.h5: 503 -- Service Unavailable",
         ("https://example.com/w.h5", 503, "Service Unavailable")),
    ],
)  # fmt: skip
def test_what_the_server_answered(run: Run, kind: str, message: str, values: tuple[str, int, str]) -> None:
    run.raised(kind, message, frames=_URLLIB)
    first = run.first()
    assert (first.title.kind, first.strength) == ("download-blocked.refused", Strength.ESTABLISHED)
    assert tuple(first.title.values[name] for name in ("address", "status", "reason")) == values
    assert remedies(first)[0] == "download.check-address"


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("IncompleteRead", "IncompleteRead(3004 bytes read, 96996 more expected)"),
        ("ContentTooShortError", "<urlopen error retrieval incomplete: got only 3004 out of 100000 bytes>"),
    ],
)
def test_a_download_that_breaks_off(run: Run, kind: str, message: str) -> None:
    run.raised(kind, message, frames=_URLLIB)
    assert (run.first().title.kind, run.first().strength) == (
        "download-blocked.broke-off",
        Strength.ESTABLISHED,
    )
    assert run.first().title.values == {"error": message}


@pytest.mark.parametrize(
    ("message", "frame", "strength"),
    [
        ("<urlopen error [Errno -2] Name or service not known>", "train.py:9 ask", Strength.ESTABLISHED),
        ("[Errno 104] Connection reset by peer", "urllib/request.py:1351 do_open", Strength.ESTABLISHED),
        ("[Errno 104] Connection reset by peer", "train.py:9 ask", Strength.SUPPORTED),
    ],
)
def test_a_connection_is_a_download_for_sure_where_a_network_library_says_so(
    run: Run, message: str, frame: str, strength: Strength
) -> None:
    run.raised("ConnectionResetError", message, frames=["train.py:4 <module>", frame])
    assert (run.first().title.kind, run.first().strength) == ("download-blocked", strength)


def test_an_answer_to_what_a_callback_sent_is_the_callbacks(run: Run) -> None:
    run.fit()
    run.raised("HTTPError", "HTTP Error 500: Internal Server Error", frames=_URLLIB, callback="Post")
    assert run.first().cause == "callback-raised"
