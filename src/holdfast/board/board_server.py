"""The board as a server: the door, the list and the answers, put together."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from pathlib import Path

from holdfast.board import board_memory, run_places
from holdfast.board.answers import Answers
from holdfast.board.board_memory import BoardMemory
from holdfast.board.front_door import FrontDoor
from holdfast.board.run_list import RunList


class Board:
    """Serves the runs below `folders` on 127.0.0.1, behind a random token."""

    def __init__(self, folders: Iterable[Path], *, port: int = 0, memory: Path | None = None) -> None:
        self.token = secrets.token_urlsafe(18)
        self.runs = RunList(run_places.places(folders))
        self.answers = Answers(self.runs, BoardMemory(memory or board_memory.default_path()))
        self._door = FrontDoor(self.answers.reply, port=port, token=self.token.encode())
        self.port = self._door.port

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}/{self.token}/"

    def serve(self) -> None:
        """Blocks until `close`."""
        self.runs.start()
        self._door.serve()

    def close(self) -> None:
        self.runs.close()
        self._door.close()
