"""A board that serves made runs."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.board.board_server import Board
from tests.board.asking import Asking
from tests.report.made import run_folder
from tests.waiting import PATIENCE_S


@pytest.fixture
def serving(tmp_path: Path) -> Iterator[Asking]:
    """Over two runs, one of which has markup for a name."""
    run_folder(tmp_path / "runs" / "good", steps=30, end="finished")
    run_folder(tmp_path / "runs" / "<script>alert(1)<", steps=30)
    (tmp_path / "secret.txt").write_text("secret")
    board = Board([tmp_path / "runs"], memory=tmp_path / "state" / "board.json")
    thread = threading.Thread(target=board.serve, daemon=True)
    thread.start()
    yield Asking(board, tmp_path / "runs")
    board.close()
    thread.join(PATIENCE_S)
