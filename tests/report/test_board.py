"""The board: what it serves, what it refuses, and that it follows a run as it is written."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from holdfast.cli.commands.board_command import _compare, _explain
from holdfast.journal import vitals
from holdfast.journal.beats import BeatWriter, Phase
from holdfast.journal.folder import RunFolder
from holdfast.report.board import Board
from tests.report.made import run_folder


@pytest.fixture
def board(tmp_path: Path) -> Iterator[Board]:
    run_folder(tmp_path / "runs" / "good", steps=30, end="finished")
    run_folder(tmp_path / "runs" / "<script>alert(1)<", steps=30)
    (tmp_path / "secret.txt").write_text("secret")
    served = Board(tmp_path / "runs", port=0, explain=_explain, compare=_compare)
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
        assert len(first["order"]) == len(first["changed"]) == 2
        run_folder(board.root / "third", steps=9)
        for line in stream:
            if line.startswith(b"data: "):
                news = json.loads(line.removeprefix(b"data: "))
                assert set(news["order"]) >= {"third", "good"}
                sent = {run["id"] for run in news["changed"]}
                assert "third" in sent
                assert "good" not in sent, "what did not change is not sent again"
                break


def test_a_run_that_moves_is_sent_anew_and_one_that_ended_is_not(board: Board) -> None:
    folder = live_run(board)
    status, text = get(board.address + "run/moving")
    assert status == 200
    assert f'data-live="{board.home}live/moving"' in text
    assert 'data-live=""' in get(board.address + "run/good")[1]
    with urlopen(board.address + "live/moving", timeout=30) as stream:
        assert stream.readline() == b": still here\n"
        step_on(folder, 31)
        line = next(line for line in stream if line.startswith(b"data: "))
        news = json.loads(line.removeprefix(b"data: "))
        assert "step 31" in news["main"]
        assert not news["ended"]
    assert get(board.address + "live/nothing")[0] == 404


def live_run(board: Board) -> RunFolder:
    """A run that is being watched now, by this very process."""
    folder = run_folder(board.root / "moving", steps=30, end="none")
    step_on(folder, 30)
    return folder


def step_on(folder: RunFolder, step: int) -> None:
    now, mono = time.time(), 1000.0 + step
    BeatWriter(folder.beats).write(Phase.STEP, step=step, loss=1 / step, step_ns=10**9, mono=mono)
    with folder.vitals.open("ab") as file:
        file.write(vitals.encode(vitals.Sample(at=now, mono=mono, step=step, rss_bytes=2**30, loss=1 / step)))


def test_an_output_log_alone_makes_a_run(board: Board) -> None:
    (board.root / "bare").mkdir()
    (board.root / "bare" / "output.log").write_text("Epoch 1/3\nKilled\n")
    assert {run["id"] for run in json.loads(get(board.address + "runs.json")[1])} >= {"bare", "good"}
    assert "Killed" in get(board.address + "run/bare")[1]


# -- in a browser -------------------------------------------------------------------------------------


def test_a_browser_shows_the_runs_and_follows_them(board: Board, tab: Any) -> None:
    tab.goto(board.address)
    assert tab.locator("#runs tbody tr").count() == 2
    assert "<script>alert(1)<" in tab.locator("#runs").inner_text()
    run_folder(board.root / "third", steps=9)
    tab.locator("#runs tbody tr", has_text="third").wait_for()
    tab.locator("#runs a", has_text="<script>").click()
    assert tab.locator("h1").inner_text().startswith("<script>alert(1)<")
    tab.get_by_role("link", name="all runs").click()
    tab.get_by_label("compare good").check()
    tab.get_by_label("compare third").check()
    tab.get_by_role("button", name="compare two").click()
    assert tab.locator("canvas").count() > 3
    assert "old" in tab.locator(".u-legend").first.inner_text()


def test_a_browser_follows_the_page_of_a_run_that_trains(board: Board, tab: Any) -> None:
    folder = live_run(board)
    tab.goto(board.address + "run/moving")
    tab.locator("summary", has_text="Framework").click()
    tab.wait_for_timeout(500)
    step_on(folder, 77)
    tab.locator("header", has_text="step 77").wait_for(timeout=30_000)
    assert tab.locator("details[open] summary").inner_text() == "Framework", "what was unfolded stays so"
    assert tab.locator("canvas").count() > 3
