"""The board: what it serves, what it refuses, and that it follows a run as it is written."""

from __future__ import annotations

import json
import shutil
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from holdfast.cli.board import _compare, _page_of
from holdfast.report.board import Board
from tests.report.made import run_folder


@pytest.fixture
def board(tmp_path: Path) -> Iterator[Board]:
    run_folder(tmp_path / "runs" / "good", steps=30, end="finished")
    run_folder(tmp_path / "runs" / "<script>alert(1)<", steps=30)
    (tmp_path / "secret.txt").write_text("secret")
    served = Board(tmp_path / "runs", port=0, page_of=_page_of, compare=_compare)
    thread = threading.Thread(target=served.serve_forever, daemon=True)
    thread.start()
    yield served
    served.shutdown()
    served.server_close()


def get(address: str, **headers: str) -> tuple[int, str]:
    try:
        with urlopen(Request(address, headers=headers), timeout=30) as answer:
            return answer.status, answer.read().decode()
    except HTTPError as error:
        return error.code, error.read().decode()


def test_the_list_of_runs(board: Board) -> None:
    status, text = get(board.address + "runs.json")
    assert status == 200
    assert {run["id"] for run in json.loads(text)} == {"good", "<script>alert(1)<"}
    assert "<script" not in text


def test_the_page_of_a_run(board: Board) -> None:
    status, text = get(board.address + "run/good")
    assert status == 200
    assert "<h1>good" in text
    status, text = get(board.address + "run/%3Cscript%3Ealert%281%29%3C")
    assert status == 200
    assert "<script>alert(1)" not in text


def test_two_runs_compared(board: Board) -> None:
    status, text = get(board.address + "compare?old=good&new=%3Cscript%3Ealert%281%29%3C")
    assert status == 200
    assert "good → &lt;script&gt;alert(1)&lt;" in text
    assert get(board.address + "compare?old=good&new=nothing")[0] == 404


@pytest.mark.parametrize(
    "path",
    [
        "run/..",
        "run/../secret.txt",
        "run/%2e%2e%2fsecret.txt",
        "run//etc/passwd",
        "../secret.txt",
        "run/good/../..",
    ],
)
def test_nothing_outside_the_runs_is_served(board: Board, path: str) -> None:
    status, text = get(board.address + path)
    assert status in (403, 404)
    assert "secret" not in text


def test_a_wrong_token_and_a_foreign_host_are_refused(board: Board) -> None:
    port = board.server_address[1]
    assert get(f"http://127.0.0.1:{port}/")[0] == 403
    assert get(f"http://127.0.0.1:{port}/wrong/runs.json")[0] == 403
    assert get(board.address + "runs.json", Host="evil.example")[0] == 403


def test_it_listens_on_this_machine_alone(board: Board) -> None:
    assert board.server_address[0] == "127.0.0.1"


def test_events_follow_a_run_that_is_being_written(board: Board) -> None:
    with urlopen(board.address + "events", timeout=30) as stream:
        first = json.loads(stream.readline().removeprefix(b"data: "))
        assert len(first) == 2
        run_folder(board.root / "third", steps=9)
        for line in stream:
            if line.startswith(b"data: "):
                assert {run["id"] for run in json.loads(line.removeprefix(b"data: "))} >= {"third", "good"}
                break


BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@pytest.mark.skipif(BROWSER is None, reason="no Chromium on this machine")
def test_a_browser_shows_the_runs_without_an_error(board: Board, tmp_path: Path) -> None:
    done = subprocess.run(
        [str(BROWSER), "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
         "--disable-background-networking", "--disable-component-update", "--disable-sync",
         f"--user-data-dir={tmp_path / 'profile'}", "--enable-logging=stderr", "--v=0", "--timeout=6000",
         "--dump-dom", board.address],
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert 'data-runs="2"' in done.stdout, done.stderr[-2000:]
    assert "&lt;script&gt;alert(1)&lt;" in done.stdout
    assert not [line for line in done.stderr.splitlines() if "CONSOLE" in line]
