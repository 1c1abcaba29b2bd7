"""Accepts connections on 127.0.0.1. Only a complete request with the right token gets a thread.

Half a request costs one entry in a table with a time limit, and where the table is full the oldest one goes: a thousand
connections that send nothing keep nobody out. Threads are bounded, and so is the time of each send.
"""

from __future__ import annotations

import contextlib
import selectors
import socket
import sys
import threading
import time
from collections.abc import Callable
from http import HTTPStatus

from holdfast.board import http_request
from holdfast.board.http_request import BoardRequest

HEAD_LIMIT_S = 5.0
SEND_LIMIT_S = 30.0
_WAITING = 96  # connections whose request is not complete
_THREADS = 24

Reply = Callable[[BoardRequest, bytes], bytes]


class FrontDoor:
    """`reply` makes the whole answer of a request and its body. `serve` blocks until `close`."""

    def __init__(self, reply: Reply, *, port: int, token: bytes) -> None:
        self._reply = reply
        self._token = token
        self._listener = socket.create_server(("127.0.0.1", port), backlog=128)
        self._listener.setblocking(False)
        self.port: int = self._listener.getsockname()[1]
        self._selector = selectors.DefaultSelector()
        self._waiting: dict[socket.socket, tuple[bytearray, float]] = {}  # the oldest first
        self._threads = threading.BoundedSemaphore(_THREADS)
        self._wake_read, self._wake_write = socket.socketpair()
        self._closed = threading.Event()

    def serve(self) -> None:
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._selector.register(self._wake_read, selectors.EVENT_READ)
        try:
            while not self._closed.is_set():
                for key, _ in self._selector.select(timeout=1.0 if self._waiting else None):
                    if key.fileobj is self._listener:
                        self._accept()
                    elif isinstance(key.fileobj, socket.socket) and key.fileobj in self._waiting:
                        self._read(key.fileobj)
                self._drop_late(time.monotonic())
        finally:
            for connection in list(self._waiting):
                self._drop(connection)
            self._selector.close()
            self._listener.close()

    def close(self) -> None:
        self._closed.set()
        with contextlib.suppress(OSError):
            self._wake_write.send(b".")

    # -- connections without a complete request -------------------------------------------------------

    def _accept(self) -> None:
        if len(self._waiting) >= _WAITING:
            self._drop(next(iter(self._waiting)))
        try:
            connection, _ = self._listener.accept()
        except OSError:  # gone again, or no descriptor is free: the oldest makes room
            if self._waiting:
                self._drop(next(iter(self._waiting)))
            else:
                time.sleep(0.05)
            return
        connection.setblocking(False)
        self._waiting[connection] = (bytearray(), time.monotonic())
        self._selector.register(connection, selectors.EVENT_READ)

    def _read(self, connection: socket.socket) -> None:
        head, _ = self._waiting[connection]
        try:
            read = connection.recv(http_request.HEAD_BYTES)
        except BlockingIOError:
            return
        except OSError:
            read = b""
        head += read
        end = head.find(b"\r\n\r\n") + 4
        if end >= 4:
            self._complete(connection, bytes(head[:end]), bytes(head[end:]))
        elif not read:
            self._drop(connection)
        elif len(head) > http_request.HEAD_BYTES:
            self._refuse(
                connection,
                http_request.answer(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, "text/plain", b"too long"),
            )

    def _complete(self, connection: socket.socket, head: bytes, rest: bytes) -> None:
        request = http_request.parse(head)
        refused = http_request.refusal(request, self._token)
        if refused is not None or request is None:
            self._refuse(connection, refused or b"")
        elif not self._threads.acquire(blocking=False):
            busy = http_request.answer(HTTPStatus.SERVICE_UNAVAILABLE, "text/plain", b"busy")
            self._refuse(connection, busy)
        else:
            self._forget(connection)
            work = threading.Thread(
                target=self._serve_one, args=(connection, request, rest), daemon=True, name="board-request"
            )
            work.start()

    def _refuse(self, connection: socket.socket, said: bytes) -> None:
        with contextlib.suppress(OSError):
            connection.send(said)
            connection.shutdown(socket.SHUT_WR)
        self._drop(connection)

    def _drop_late(self, now: float) -> None:
        for connection, (_, since) in list(self._waiting.items()):
            if now - since <= HEAD_LIMIT_S:
                break  # the others are younger
            self._drop(connection)

    def _drop(self, connection: socket.socket) -> None:
        self._forget(connection)
        connection.close()

    def _forget(self, connection: socket.socket) -> None:
        del self._waiting[connection]
        self._selector.unregister(connection)

    # -- complete requests, each in its thread --------------------------------------------------------

    def _serve_one(self, connection: socket.socket, request: BoardRequest, rest: bytes) -> None:
        try:
            with connection:
                body = _body(connection, rest, request.body_bytes)
                if body is not None:
                    connection.settimeout(SEND_LIMIT_S)  # of all of it
                    connection.sendall(self._answered(request, body))
        except OSError:
            pass  # the page was closed, or reads too slowly
        finally:
            self._threads.release()

    def _answered(self, request: BoardRequest, body: bytes) -> bytes:
        try:
            return self._reply(request, body)
        except Exception as error:
            said = f"holdfast board: {request.path}: {type(error).__name__}: {error}"
            print(said.encode("ascii", "backslashreplace").decode(), file=sys.stderr)
            return http_request.answer(HTTPStatus.INTERNAL_SERVER_ERROR, "text/plain", said.encode())


def _body(connection: socket.socket, rest: bytes, length: int) -> bytes | None:
    """All of it within the time of a head; None where it does not come."""
    until = time.monotonic() + HEAD_LIMIT_S
    while len(rest) < length:
        left = until - time.monotonic()
        if left <= 0:
            return None
        connection.settimeout(left)
        read = connection.recv(length - len(rest))
        if not read:
            return None
        rest += read
    return rest[:length]
