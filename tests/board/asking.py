"""Asks a board as its page does."""

from __future__ import annotations

import json
import socket
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import Request, urlopen

from holdfast.board.board_server import Board
from tests.waiting import PATIENCE_S


@dataclass
class Asking:
    board: Board
    root: Path

    def get(
        self, path: str = "", *, address: str = "", headers: dict[str, str] | None = None, **query: str
    ) -> tuple[int, str]:
        url = (address or self.board.address) + path + ("?" + urlencode(query) if query else "")
        return self._send(Request(url, headers=headers or {}))

    def json(self, path: str, **query: str) -> Any:
        status, text = self.get(path, **query)
        assert status == 200, text
        return json.loads(text)

    def post(self, path: str, content: Any, **headers: str) -> tuple[int, str]:
        own = {"Origin": f"http://127.0.0.1:{self.board.port}", "Content-Type": "application/json", **headers}
        return self._send(Request(self.board.address + path, data=json.dumps(content).encode(), headers=own))

    @staticmethod
    def _send(request: Request) -> tuple[int, str]:
        try:
            with urlopen(request, timeout=PATIENCE_S) as answer:
                return answer.status, answer.read().decode()
        except HTTPError as error:
            return error.code, error.read().decode()

    def rows(self, *, least: int = 1) -> dict[str, Any]:
        """All rows by their ids, once all have been read and there are so many."""
        until = time.monotonic() + PATIENCE_S
        while time.monotonic() < until:
            known = self.json("changes", since="0")
            if known["complete"] and len(known["rows"]) >= least:
                return {row["id"]: row for row in known["rows"]}
            time.sleep(0.05)
        raise AssertionError(known)

    def changed(self, name: str, fits: Any) -> dict[str, Any]:
        """The row of this run as soon as it fits."""
        until = time.monotonic() + PATIENCE_S
        while time.monotonic() < until:
            row: dict[str, Any] = self.rows().get(name, {})
            if row and fits(row):
                return row
            time.sleep(0.1)
        raise AssertionError(row)

    def raw(self, sent: bytes) -> bytes:
        """All that comes back."""
        with socket.create_connection(("127.0.0.1", self.board.port), timeout=PATIENCE_S) as connection:
            connection.sendall(sent)
            got = b""
            while part := connection.recv(65536):
                got += part
            return got
