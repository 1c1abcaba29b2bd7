"""A local web page of all runs, live. Reads only.

It listens on 127.0.0.1 alone, behind a random token in its address, and answers only requests whose Host
is that address, so that a page elsewhere cannot reach it through a name that resolves to this machine.
A run is looked up among the folders that were found, never by joining a path from the request.
"""

from __future__ import annotations

import json
import secrets
import threading
import time
from collections.abc import Callable, Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import resources
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, unquote, urlsplit

from holdfast.journal.folder import RunFolder
from holdfast.report import html, overview, story

_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; connect-src 'self'; "
    "frame-ancestors 'none'"
)
_ACTIVE_STATES = ("running", "stalled")
_LIST_EVERY_S, _PAGE_EVERY_S = 1.0, 2.0
_MAX_CONNECTIONS = (
    60  # runs that come with the page; the others follow as events, so that it need not wait for them
)
Explain = Callable[[RunFolder], Mapping[str, Any]]
Compare = Callable[[RunFolder, RunFolder], str]


class Board(ThreadingHTTPServer):
    """The server. `explain` gives the verdict about one run, `compare` the text about two."""

    daemon_threads = True

    def __init__(self, root: Path, *, port: int, explain: Explain, compare: Compare) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.root = root
        self.explain = explain
        self.compare = compare
        self.token = secrets.token_urlsafe(16)
        self._lines = overview.RunLineCache()
        self._looking = threading.Lock()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}{self.home}"

    @property
    def home(self) -> str:
        return f"/{self.token}/"

    def runs(self) -> dict[str, RunFolder]:
        """Found runs by their path below the root, newest first."""
        found = overview.find(self.root)
        return {
            str(run.path.relative_to(self.root)) if run.path != self.root else run.name: run for run in found
        }

    def lines(self, most: int = 500) -> list[dict[str, Any]]:
        with self._looking:  # pages that follow the list share what was read
            runs = list(self.runs().items())[:most]
            return [{**self._lines.of(run).as_json(), "id": name} for name, run in runs]


class _Handler(BaseHTTPRequestHandler):
    server: Board
    server_version = "holdfast"
    sys_version = ""

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        _, token, *rest = url.path.split("/", 2)
        allowed = f"127.0.0.1:{self.server.server_address[1]}"
        if self.headers.get("Host") != allowed or not secrets.compare_digest(token, self.server.token):
            self._send(
                HTTPStatus.FORBIDDEN,
                "text/plain",
                "the address with its token is what `holdfast board` printed",
            )
            return
        query = {name: values[0] for name, values in parse_qs(url.query).items()}
        self._answer(rest[0] if rest else "", query)

    def _answer(self, path: str, query: dict[str, str]) -> None:
        if path == "":
            self._send(HTTPStatus.OK, "text/html", _page(self.server.lines(_MAX_CONNECTIONS)))
        elif path == "runs.json":
            self._send(HTTPStatus.OK, "application/json", _json(self.server.lines()))
        elif path == "events":
            self._events()
        elif path == "compare":
            self._compare(query)
        elif path.startswith(("run/", "live/")):
            kind, _, name = path.partition("/")
            run = self.server.runs().get(unquote(name))
            if run is None:
                self._send(HTTPStatus.NOT_FOUND, "text/plain", "there is no such run below the folder")
            else:
                self._run(run, unquote(name)) if kind == "run" else self._live(run)
        else:
            self._send(HTTPStatus.NOT_FOUND, "text/plain", "there is nothing at this address")

    def _run(self, run: RunFolder, name: str) -> None:
        verdict = self.server.explain(run)
        live = f"{self.server.home}live/{quote(name)}" if verdict.get("outcome") in _ACTIVE_STATES else ""
        self._send(
            HTTPStatus.OK,
            "text/html",
            html.render(story.read_timeline(run), verdict, live=live, home=self.server.home),
        )

    def _compare(self, query: dict[str, str]) -> None:
        runs = self.server.runs()
        old, new = runs.get(query.get("old", "")), runs.get(query.get("new", ""))
        if old is None or new is None:
            self._send(
                HTTPStatus.NOT_FOUND, "text/plain", "compare?old=RUN&new=RUN wants two runs of the list"
            )
            return
        said = self.server.compare(old, new)
        page = html.render_comparison_page(
            story.read_timeline(old), story.read_timeline(new), said, home=self.server.home
        )
        self._send(HTTPStatus.OK, "text/html", page)

    def _events(self) -> None:
        """The list as server-sent events: all of it, then what has changed in it."""
        sent: dict[str, dict[str, Any]] = {}

        def changed() -> str | None:
            lines = self.server.lines()
            fresh = [line for line in lines if sent.get(line["id"]) != line]
            order = [line["id"] for line in lines]
            if not fresh and order == list(sent):
                return None
            sent.clear()
            sent.update({line["id"]: line for line in lines})
            return _json({"order": order, "changed": fresh})

        self._stream(changed, _LIST_EVERY_S)

    def _live(self, run: RunFolder) -> None:
        """The page of a run as server-sent events, whenever its records have grown, until it has ended."""
        last: list[tuple[float, int]] = overview.stamp(run)
        ended = False

        def grown() -> str | None:
            nonlocal last, ended
            now = overview.stamp(run)
            if now == last or ended:
                return None
            last = now
            told, verdict = story.read_timeline(run), self.server.explain(run)
            ended = verdict.get("outcome") not in _ACTIVE_STATES
            data = json.loads(html.numbers(told.charts, told.marks))
            return _json({"main": html.render_main(told, verdict), "story": data, "ended": ended})

        self._stream(grown, _PAGE_EVERY_S)

    def _stream(self, news: Callable[[], str | None], every_s: float) -> None:
        self._head(HTTPStatus.OK, "text/event-stream", None)
        try:
            while True:
                text = news()
                self.wfile.write(b": still here\n\n" if text is None else f"data: {text}\n\n".encode())
                self.wfile.flush()
                time.sleep(every_s)
        except OSError:
            return  # the page was closed

    def _send(self, status: HTTPStatus, kind: str, text: str) -> None:
        body = text.encode()
        self._head(status, kind, len(body))
        self.wfile.write(body)

    def _head(self, status: HTTPStatus, kind: str, length: int | None) -> None:
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Security-Policy", _POLICY)
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Referrer-Policy", "no-referrer")
        self.send_header("Cache-Control", "no-store")
        if length is not None:
            self.send_header("Content-Length", str(length))
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """A board is quiet."""


def _json(value: Any) -> str:
    return json.dumps(value, default=str).replace("<", "\\u003c")


def _page(lines: list[dict[str, Any]]) -> str:
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Runs · Holdfast</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{_asset('page.css')}\n{_asset('board.css')}</style></head><body>"
        '<h1>Runs</h1><p class="soft small" id="said">reading…</p>'
        '<table id="runs"><thead><tr><th>run</th><th>state</th><th>step</th><th>left</th><th>memory</th><th>loss</th>'
        "<th>compare</th></tr></thead><tbody></tbody></table>"
        '<p><button type="button" id="compare" disabled>compare two</button></p>'
        f'<script type="application/json" id="first">{_json(lines)}</script>'
        f"<script>{_asset('board.js')}</script></body></html>"
    )


def _asset(name: str) -> str:
    return resources.files("holdfast.report").joinpath("page", name).read_text(encoding="utf-8")
