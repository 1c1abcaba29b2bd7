"""The board as a server: what it answers, what it refuses, and that one bad folder costs one row."""

from __future__ import annotations

import json
import os
import random
import socket
import stat
import time
from pathlib import Path
from typing import Any

import pytest

from holdfast.journal import events, vitals
from holdfast.journal.folder import RunFolder
from holdfast.journal.writer import JournalWriter
from tests.board.asking import Asking
from tests.report.made import run_folder
from tests.waiting import PATIENCE_S, until

MARKUP = "<script>alert(1)<"


def test_the_page_has_the_runs_in_it_and_no_markup_of_theirs(serving: Asking) -> None:
    serving.rows(least=2)
    status, text = serving.get()
    assert status == 200
    assert '"id": "good"' in text
    assert "<script>alert" not in text
    assert "http://" not in text.replace("http://www.w3.org", ""), "nothing comes from elsewhere"


def test_the_files_of_the_page_are_served_and_no_others(serving: Asking) -> None:
    for name in ("app.js", "board.css", "uplot.js"):
        assert serving.get("static/" + name)[0] == 200
    for name in ("../board_server.py", "board.html", "%2e%2e/answers.py", ""):
        assert serving.get("static/" + name)[0] == 404


def test_what_a_run_was_and_its_verdict(serving: Asking) -> None:
    serving.rows(least=2)
    facts = serving.json("run", id="good")
    assert facts["command"] == "python train.py"
    assert ["host", "a-host.example"] in facts["facts"]
    assert facts["output"].startswith("Epoch 1/3\n 2/100")
    assert serving.json("verdict", id="good")["outcome"] == "finished"
    assert serving.get("run", id="nothing")[0] == 404


def test_the_report_of_a_run_is_not_written_into_its_folder(serving: Asking) -> None:
    serving.rows(least=2)
    status, text = serving.get("report", id=MARKUP)
    assert status == 200
    assert "<h1>&lt;script&gt;alert(1)&lt;" in text
    assert not (serving.root / MARKUP / "report.html").exists()


def test_two_runs_compared(serving: Asking) -> None:
    serving.rows(least=2)
    found = serving.json("compare", old="good", new=MARKUP)
    assert (found["old"], found["ended"]["old"]["outcome"]) == ("good", "finished")
    assert serving.get("compare", old="good", new="nothing")[0] == 404


@pytest.mark.parametrize(
    "path",
    ["run?id=..", "run?id=../secret.txt", "run?id=%2e%2e%2fsecret.txt", "run?id=/etc/passwd", "../secret.txt",
     "report?id=good/..", "static/../../secret.txt"],
)  # fmt: skip
def test_nothing_outside_the_runs_is_served(serving: Asking, path: str) -> None:
    serving.rows(least=2)
    status, text = serving.get(path)
    assert status in (403, 404)
    assert "secret" not in text


def test_a_wrong_token_and_a_foreign_host_are_refused(serving: Asking) -> None:
    port = serving.board.port
    assert serving.get(address=f"http://127.0.0.1:{port}/")[0] == 403
    assert serving.get(address=f"http://127.0.0.1:{port}/wrong/changes")[0] == 403
    for host in ("evil.example", "localhost", f"evil.example:{port}", "127.0.0.1.evil.example"):
        assert serving.get("changes", headers={"Host": host})[0] == 403


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"GET /\xe9/ HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", b"400"),
        (b"GET foo\r\n\r\n", b"400"),
        (b"GET / HTTP/1.1\r\n\r\n", b"403"),
        (b"OPTIONS / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", b"400"),
        (b"\x16\x03\x01\x00\xa5\r\n\r\n", b"400"),
        (b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: " + b"a" * 20_000, b"431"),
    ],
)
def test_what_is_no_request_is_refused_in_words(
    serving: Asking, sent: bytes, status: bytes, capfd: pytest.CaptureFixture[str]
) -> None:
    assert serving.raw(sent).split(b" ")[1] == status
    assert serving.rows(least=2)
    assert capfd.readouterr().err == "", "no traceback"


def test_a_change_comes_from_its_own_page_only(serving: Asking) -> None:
    serving.rows(least=2)
    asked = {"ids": ["good"], "back": False}
    assert serving.post("archive", asked, Origin="http://evil.example")[0] == 403
    assert serving.post("archive", asked, **{"Content-Type": "text/plain"})[0] == 403
    status, text = serving.post("archive", asked)
    assert (status, json.loads(text)["archived"]) == (200, ["good"])


def test_archiving_writes_into_no_run_folder(serving: Asking) -> None:
    serving.rows(least=2)
    before = snapshot(serving.root)
    serving.post("archive", {"ids": ["good", "nothing", 3], "back": False})
    serving.get("report", id="good")
    assert snapshot(serving.root) == before
    kept = json.loads((serving.root.parent / "state" / "board.json").read_text())
    assert list(kept["archived"]) == [str(serving.root / "good")]
    _, text = serving.post("archive", {"ids": ["good"], "back": True})
    assert json.loads(text)["archived"] == []


def snapshot(root: Path) -> dict[str, tuple[int, int]]:
    return {str(path): (path.lstat().st_size, path.lstat().st_mtime_ns) for path in sorted(root.rglob("*"))}


def test_how_it_is_shown_is_kept(serving: Asking) -> None:
    serving.post("view", {"view": {"theme": "dark", "smoothing": 0.6}})
    assert '<html lang="en" data-theme="dark">' in serving.get()[1]
    serving.post("view", {"view": {"theme": '"><script>'}})
    assert "data-theme" not in serving.get()[1].partition("<body>")[0]


@pytest.mark.parametrize(
    "sent", [{"view": {"width": float("nan")}}, {"view": {"width": float("inf")}}, {"view": 5}]
)
def test_what_no_browser_can_read_back_is_not_kept(serving: Asking, sent: dict[str, Any]) -> None:
    assert serving.post("view", sent)[0] == 200
    assert serving.json("changes", since="0", memory="")["memory"]["view"] == {}
    assert serving.post("archive", {"ids": 5})[0] == 200


def test_a_damaged_memory_is_said_and_not_overwritten(serving: Asking) -> None:
    path = serving.root.parent / "state" / "board.json"
    path.parent.mkdir()
    path.write_text("{torn")
    serving.rows(least=2)
    assert "cannot be read" in serving.json("changes", since="0")["memory"]["trouble"]
    status, said = serving.post("archive", {"ids": ["good"], "back": False})
    assert status == 409 and "move it away" in said
    assert path.read_text() == "{torn"


# -- one bad folder costs one row -------------------------------------------------------------------


def test_bad_folders_cost_their_own_rows(serving: Asking) -> None:
    root = serving.root

    def bad(name: str) -> RunFolder:
        return run_folder(root / name, steps=9, end="finished")

    newer = bad("newer").journal
    newer.write_text(newer.read_text().replace('"version": 1', '"version": 2'))
    bad("nested").verdict.write_text("[" * 200_000)
    bad("texts").verdict.write_text('{"outcome": ["x"], "step": "many", "findings": "none", "of": {}}')
    bad("letters").vitals.write_text(
        '{"at": "now", "step": "x", "gpus": 3, "disks_free_bytes": [1], "loss": "low"}\n' * 3
    )
    bad("dotted").vitals.write_text('{"at": 1.0, "loss": 1.2.3}\n')
    bad("infinite").vitals.write_text('{"at": 1e999, "step": 1e999, "loss": 1e999, "cpu_s": NaN}\n' * 3)
    for name in ("journal.jsonl", "vitals.jsonl", "output.log", "verdict.json"):
        folder = bad("fifo-" + name).path
        (folder / name).unlink(missing_ok=True)
        os.mkfifo(folder / name)
    (bad("zero").path / "output.log").unlink()
    (root / "zero" / "output.log").symlink_to("/dev/zero")
    (bad("link").path / "output.log").unlink()
    (root / "link" / "output.log").symlink_to("/etc/passwd")
    bad("noise").journal.write_bytes(random.Random(1).randbytes(300_000))
    (root / "noise" / "beats").write_bytes(random.Random(2).randbytes(3000))
    newer_row = serving.changed("newer", lambda row: row["state"] == "unreadable")
    fifo = serving.changed("fifo-journal.jsonl", lambda row: "why" in row)
    rows = serving.rows(least=14)
    assert newer_row["do"] == "pip install --upgrade holdfast"
    assert "format 2" in newer_row["why"]
    assert fifo["why"] == "journal.jsonl is a FIFO, not a regular file"
    assert rows["good"]["state"] == "finished"
    for name in rows:
        assert serving.get("run", id=name)[0] == 200
        assert serving.get("curves", id=name)[0] == 200
    assert serving.json("run", id="link")["output"] == "output.log is a link, not a regular file"


def test_a_verdict_of_the_wrong_shape_is_made_into_one(serving: Asking) -> None:
    run = run_folder(serving.root / "odd", steps=9, end="finished")
    finding = {"title": {"a": 1}, "because": [{"fact": "f" * 9000}, 4], "remedies": {"do": 1}, "cause": "c"}
    run.verdict.write_text(json.dumps({"outcome": "killed", "findings": [finding, 7], "ruled_out": [None]}))
    serving.rows(least=3)
    verdict = serving.json("verdict", id="odd")
    assert verdict["findings"] == [
        {
            "cause": "c",
            "normal": False,
            "because": [{"fact": "f" * 3999 + "…"}],
            "against": [],
            "remedies": [],
        }
    ]


def test_a_place_that_vanishes_is_said(serving: Asking) -> None:
    serving.rows(least=2)
    serving.root.rename(serving.root.parent / "elsewhere")
    said = until(lambda: serving.json("changes", since="0")["places"][0]["trouble"], "the trouble")
    assert said == "No such file or directory"


# -- slow and many clients --------------------------------------------------------------------------


def test_half_requests_keep_nobody_out(serving: Asking) -> None:
    serving.rows(least=2)
    slow = []
    try:
        for number in range(300):
            one = socket.create_connection(("127.0.0.1", serving.board.port), timeout=PATIENCE_S)
            one.sendall(b"GET /" if number % 2 else b"")
            slow.append(one)
        assert serving.get("changes", since="0")[0] == 200
        descriptors = len(os.listdir("/proc/self/fd"))
        assert descriptors < 2 * len(slow), "the oldest of them were closed"
    finally:
        for one in slow:
            one.close()
    assert serving.get("changes", since="0")[0] == 200


def test_events_follow_a_run_that_is_being_written(serving: Asking) -> None:
    serving.rows(least=2)
    known = serving.json("changes", since="0")
    folder = run_folder(serving.root / "moving", steps=9, end="none")
    step_on(folder, 30)
    assert serving.changed("moving", lambda row: row["step"] == 30)["live"] is True
    step_on(folder, 31)
    serving.changed("moving", lambda row: row["step"] == 31)
    news = serving.json("changes", since=str(known["version"]))
    assert {row["id"] for row in news["rows"]} == {"moving"}, "what did not change is not sent again"
    curves = serving.json("curves", id="moving")
    assert next(one for one in curves["series"] if one["name"] == "loss")["last"][1:] == [31, 0.0322581]


def step_on(folder: RunFolder, step: int) -> None:
    with folder.vitals.open("ab") as file:
        file.write(
            vitals.encode(
                vitals.Sample(at=time.time(), mono=1000.0 + step, step=step, rss_bytes=2**30, loss=1 / step)
            )
        )


def test_a_run_that_stalls_says_so(serving: Asking) -> None:
    folder = run_folder(serving.root / "moving", steps=9, end="none")
    journal = JournalWriter(folder.journal, by="supervisor")
    journal.append(events.Stalled(phase="save", step=30, silent_for_s=61.0, limit_s=60.0))
    step_on(folder, 30)
    row = serving.changed("moving", lambda row: row["state"] == "stalled")
    assert row["why"] == "no progress in save at step 30"
    assert row["blames"] is True


def test_it_listens_on_this_machine_alone_and_keeps_its_memory_private(serving: Asking) -> None:
    port = f":{serving.board.port:04X}"

    def listens() -> set[str]:
        """The kernel's table may lack a line while others come and go."""
        lines = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()]
        return {line[1] for line in lines if line[1].endswith(port) and line[3] == "0A"}

    assert until(listens, "the port in the kernel's table") == {"0100007F" + port}
    serving.post("view", {"view": {}})
    assert stat.S_IMODE((serving.root.parent / "state").stat().st_mode) == 0o700
