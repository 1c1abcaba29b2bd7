"""A script that ends itself leaves the line and the words."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from holdfast.journal import reader
from holdfast.probe import exits
from holdfast.probe.session import Session


def test_the_call_is_written_down_and_made(tmp_path: Path) -> None:
    called: list[tuple[Any, ...]] = []
    module: Any = SimpleNamespace(__name__="sys", exit=lambda *args: called.append(args))
    session = Session(str(tmp_path), attempt=1, role="main")
    exits._watch(session, module, "exit")
    module.exit("no data, aborting")
    module.exit()
    module.exit(300)
    session.forked = True
    module.exit(4)
    assert called == [("no data, aborting",), (), (300,), (4,)]
    said = [entry.event.facts["exit_called"] for entry in reader.read(tmp_path / "journal.jsonl")]  # type: ignore[attr-defined]
    assert [(one["by"], one["code"], one["message"]) for one in said] == [
        ("sys.exit", 1, "no data, aborting"), ("sys.exit", 0, ""), ("sys.exit", 300, ""),
    ]  # fmt: skip
    assert said[0]["where"].partition(":")[0].endswith("test_exits.py")


def test_a_signal_to_itself_is_written_down_and_sent(tmp_path: Path) -> None:
    sent: list[tuple[int, int]] = []
    module: Any = SimpleNamespace(__name__="os", kill=lambda *args: sent.append(args))
    session = Session(str(tmp_path), attempt=1, role="main")
    exits._watch_kill(session, module)
    module.kill(os.getpid(), signal.SIGKILL)
    module.kill(os.getpid(), 0)  # asks whether it lives
    module.kill(os.getpid() + 1, signal.SIGTERM)  # a worker
    module.kill(os.getpid(), 44)  # has no name
    assert sent == [(os.getpid(), 9), (os.getpid(), 0), (os.getpid() + 1, 15), (os.getpid(), 44)]
    said = [entry.event.facts["signal_sent"] for entry in reader.read(tmp_path / "journal.jsonl")]  # type: ignore[attr-defined]
    assert [one["signal"] for one in said] == ["SIGKILL", "signal 44"]
    assert said[0]["where"].partition(":")[0].endswith("test_exits.py")
