"""The descriptors between the command and the relay."""

from __future__ import annotations

import os
import pty
from pathlib import Path

import pytest

from holdfast.supervise.child import pseudo_terminal, spawn


def test_where_no_terminal_can_be_made_the_command_gets_pipes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A container without devpts: the command starts all the same."""
    our_end, child_end = pty.openpty()
    monkeypatch.setattr(spawn, "_user_terminal", lambda: pseudo_terminal.UserTerminal(child_end))
    monkeypatch.setattr(spawn, "_is_terminal", lambda number: number in (1, 2))

    def refused() -> tuple[int, int]:
        raise OSError("out of pty devices")

    monkeypatch.setattr(pty, "openpty", refused)
    io, user = spawn._open_child_io(pseudo_terminal.UserTerminal(child_end))
    assert user is None and io.pty_end is None
    assert [action[0] for action in io.actions] == [os.POSIX_SPAWN_DUP2, os.POSIX_SPAWN_DUP2]
    io.close_child_ends()
    io.close_sources()
    os.close(our_end)
    os.close(child_end)
