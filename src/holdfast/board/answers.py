"""What the board answers: the page and its files, the list and its changes, and what is known about one run or two."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any

from holdfast.board import board_page, http_request, other_process
from holdfast.board.board_memory import BoardMemory
from holdfast.board.http_request import BoardRequest
from holdfast.board.plain_values import mapping
from holdfast.board.run_curves import CurveCache, have_of
from holdfast.board.run_facts import read_facts
from holdfast.board.run_list import RunList
from holdfast.board.run_places import RunPlace
from holdfast.board.verdicts_kept import VerdictCache
from holdfast.errors import HoldfastError
from holdfast.journal.folder import RunFolder

_AT_ONCE = 4  # requests that read from one place: a place that hangs takes no more threads than this
_MOST_IDS = 10_000
_FIRST_ROWS = 80  # come with the page; the others follow

#: Of the page that `holdfast report` writes: one file with its scripts and styles in it.
_REPORT_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; "
    "frame-ancestors 'none'"
)


class _Refused(Exception):
    def __init__(self, status: HTTPStatus, said: str) -> None:
        super().__init__(said)
        self.status = status


class Answers:
    """Requests in, whole answers out."""

    def __init__(self, runs: RunList, memory: BoardMemory) -> None:
        self._runs = runs
        self._memory = memory
        self._curves = CurveCache()
        self._verdicts = VerdictCache()
        self._places: dict[RunPlace, threading.BoundedSemaphore] = {}
        self._lock = threading.Lock()
        self._by_path: dict[str, Callable[[BoardRequest], Any]] = {
            "changes": self._changes,
            "run": self._run,
            "verdict": self._verdict,
            "curves": self._curves_of,
            "compare": self._compare,
        }

    def reply(self, request: BoardRequest, body: bytes) -> bytes:
        try:
            return self._reply(request, body)
        except _Refused as refused:
            return _text(refused.status, str(refused))
        except HoldfastError as error:
            said = [error.what, error.where, *error.found, *error.advised]
            return _text(HTTPStatus.CONFLICT, "\n".join(one for one in said if one))
        except (other_process.NoAnswer, OSError) as error:
            return _text(HTTPStatus.SERVICE_UNAVAILABLE, str(error))

    def _reply(self, request: BoardRequest, body: bytes) -> bytes:
        path = request.path
        if request.method == "POST":
            return self._post(path, body)
        if path == "":
            page = board_page.page(self._runs.changes(0, _FIRST_ROWS), self._memory_json())
            return http_request.answer(HTTPStatus.OK, "text/html", page.encode(), request=request)
        if path.startswith("static/"):
            kind, content = board_page.asset(path.removeprefix("static/")) or _none()
            return http_request.answer(HTTPStatus.OK, kind, content, request=request)
        if path == "report":
            return self._report(request)
        made = self._by_path.get(path)
        if made is None:
            raise _Refused(HTTPStatus.NOT_FOUND, "there is nothing at this address")
        answered = made(request)
        said = answered if isinstance(answered, str) else _json(answered)
        return http_request.answer(HTTPStatus.OK, "application/json", said.encode(), request=request)

    # -- the list -------------------------------------------------------------------------------------

    def _changes(self, request: BoardRequest) -> str:
        since = request.query.get("since", "0")
        known = int(since) if since.isascii() and since.isdigit() and len(since) < 16 else 0
        said = self._runs.changes(known)
        if request.query.get("memory", "") == self._memory.stamp():
            return said
        return f'{said[:-1]}, "memory": {_json(self._memory_json())}}}'

    def _memory_json(self) -> dict[str, Any]:
        try:
            return {"stamp": self._memory.stamp(), "archived": self._archived(), "view": self._memory.view()}
        except HoldfastError as error:
            return {
                "stamp": self._memory.stamp(),
                "archived": [],
                "view": {},
                "trouble": f"{error.what}: {error.where}",
            }

    def _archived(self) -> list[str]:
        return self._runs.ids_of(self._memory.archived())

    # -- one run --------------------------------------------------------------------------------------

    def _run(self, request: BoardRequest) -> Any:
        with self._asked(request, "id") as folder:
            return read_facts(folder)

    def _verdict(self, request: BoardRequest) -> Any:
        with self._asked(request, "id") as folder:
            return self._verdicts.of(folder, version=self._runs.row_version(request.query["id"]))

    def _curves_of(self, request: BoardRequest) -> Any:
        with self._asked(request, "id") as folder:
            return self._curves.of(folder).since(have_of(request.query.get("have", "")))

    def _report(self, request: BoardRequest) -> bytes:
        with self._asked(request, "id") as folder:
            page = other_process.report(folder.path)
        return http_request.answer(HTTPStatus.OK, "text/html", page, policy=_REPORT_POLICY, request=request)

    def _compare(self, request: BoardRequest) -> Any:
        with self._asked(request, "old") as old, self._asked(request, "new") as new:
            return other_process.compare(old.path, new.path)

    @contextmanager
    def _asked(self, request: BoardRequest, name: str) -> Iterator[RunFolder]:
        """The run that the request names, while its place answers."""
        known = self._runs.folder(request.query.get(name, ""))
        if known is None:
            raise _Refused(HTTPStatus.NOT_FOUND, "there is no such run below the folders of this board")
        place, folder = known
        if trouble := self._runs.trouble(place):
            raise _Refused(HTTPStatus.SERVICE_UNAVAILABLE, f"{place.path}: {trouble}")
        with self._lock:
            busy = self._places.setdefault(place, threading.BoundedSemaphore(_AT_ONCE * 2))
        if not busy.acquire(timeout=20):
            raise _Refused(HTTPStatus.SERVICE_UNAVAILABLE, f"{place.path} answers too slowly")
        try:
            yield folder
        finally:
            busy.release()

    # -- what a person arranges -----------------------------------------------------------------------

    def _post(self, path: str, body: bytes) -> bytes:
        try:
            asked = mapping(json.loads(body))
        except (ValueError, RecursionError):
            raise _Refused(HTTPStatus.BAD_REQUEST, "the request is not JSON") from None
        if path == "archive":
            given = asked.get("ids")
            ids = (
                [one for one in given if isinstance(one, str)][:_MOST_IDS] if isinstance(given, list) else []
            )
            known = [found[1] for found in map(self._runs.folder, ids) if found is not None]
            paths = [str(folder.path) for folder in known]
            self._memory.archive(paths, back=asked.get("back") is True, now=time.time())
        elif path == "view":
            self._memory.set_view(mapping(asked.get("view")))
        else:
            raise _Refused(HTTPStatus.NOT_FOUND, "there is nothing at this address")
        return http_request.answer(HTTPStatus.OK, "application/json", _json(self._memory_json()).encode())


def _none() -> tuple[str, bytes]:
    raise _Refused(HTTPStatus.NOT_FOUND, "there is no such file of the page")


def _text(status: HTTPStatus, said: str) -> bytes:
    return http_request.answer(status, "text/plain", said.encode("utf-8", "backslashreplace"))


def _json(value: Any) -> str:
    return json.dumps(value, default=str, allow_nan=False).replace("<", "\\u003c")
