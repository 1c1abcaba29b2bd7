"""The sockets of the coordinator: who connects, who has shown the token, and how many may try to.

Anybody who reaches the port can connect. Until a connection has shown the token it may send one short line, for a
short time, and there are only so many of them: when one more comes, the oldest is closed.
"""

from __future__ import annotations

import contextlib
import resource
import selectors
import socket
import time

from holdfast.launch.connection import MessageConnection

HELLO_S = 10.0  # an agent says hello as soon as it is connected
STRANGERS = 64  # connections without a token, beside one of each agent that is still to come
ACCEPTED_AT_ONCE = 64
PAUSE_S = 0.5  # after an accept that failed: no more files may be open for now
OTHER_FILES = 128  # of this process, beside its connections


class Connections:
    def __init__(self, server: socket.socket, *, agents: int) -> None:
        self._server, self._most_waiting = server, agents + STRANGERS
        self._waiting: dict[
            MessageConnection, float
        ] = {}  # without a token; when they came, the oldest first
        self._accepts, self._accept_again_at = True, 0.0
        allow_open_files(agents + self._most_waiting + OTHER_FILES)
        server.setblocking(False)  # who knocked may be gone before accept
        self._selector = selectors.DefaultSelector()
        self._selector.register(server, selectors.EVENT_READ)

    def poll(self, timeout_s: float) -> list[MessageConnection]:
        """The connections on which something has come. After they are read, `close_late` is due."""
        if not self._accepts and time.monotonic() >= self._accept_again_at:
            self._accepts = True
            self._selector.register(self._server, selectors.EVENT_READ)
        ready: list[MessageConnection] = []
        for key, _ in self._selector.select(timeout_s):
            if isinstance(key.data, MessageConnection):
                ready.append(key.data)
            else:
                self._accept()
        return [line for line in ready if line.sock.fileno() >= 0]

    def waits(self, line: MessageConnection) -> bool:
        """Whether it has not shown the token yet."""
        return line in self._waiting

    def admit(self, line: MessageConnection) -> None:
        """It has shown the token."""
        self._waiting.pop(line, None)

    def close(self, line: MessageConnection) -> None:
        self._waiting.pop(line, None)
        with contextlib.suppress(KeyError, ValueError):
            self._selector.unregister(line.sock)
        line.close()

    def close_late(self) -> None:
        """Those without a token whose time is over. What they sent was read before, so a pause of this process, as
        by a debugger, costs no agent its place."""
        now = time.monotonic()
        for line, came_at in list(self._waiting.items()):
            if now - came_at < HELLO_S:
                return
            self.close(line)

    def close_all(self) -> None:
        for key in list(self._selector.get_map().values()):
            if isinstance(key.data, MessageConnection):
                self.close(key.data)
        self._selector.close()
        self._server.close()

    def _accept(self) -> None:
        for _ in range(ACCEPTED_AT_ONCE):
            try:
                sock, _ = self._server.accept()
            except (BlockingIOError, ConnectionError):
                return
            except OSError:  # too many open files, here or on the machine: the oldest stranger makes room
                self._close_oldest()
                self._selector.unregister(self._server)  # it would stay readable, and the loop would spin
                self._accepts, self._accept_again_at = False, time.monotonic() + PAUSE_S
                return
            line = MessageConnection(sock)
            self._waiting[line] = time.monotonic()
            self._selector.register(sock, selectors.EVENT_READ, line)
            if len(self._waiting) > self._most_waiting:
                self._close_oldest()

    def _close_oldest(self) -> None:
        if self._waiting:
            self.close(next(iter(self._waiting)))


def allow_open_files(count: int) -> None:
    """Raises the soft limit of this process where a large group needs more; the hard limit stays."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = count if hard == resource.RLIM_INFINITY else min(count, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
