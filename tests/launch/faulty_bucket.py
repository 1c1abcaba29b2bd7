"""A real object store on loopback, the GCS emulator, behind a proxy that breaks what it is told to break."""

from __future__ import annotations

import http.client
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

HOP = ("transfer-encoding", "connection", "content-length")


@dataclass
class Fault:
    """`kind`: a status code as text, "slow", or "cut" (the body ends early). `when` chooses requests."""

    kind: str
    when: Callable[[str, str], bool] = lambda method, path: True
    times: int = 1
    amount: float = 0.5


@dataclass
class Store:
    url: str  # of the proxy, for STORAGE_EMULATOR_HOST
    direct: str = ""  # of the store itself
    faults: list[Fault] = field(default_factory=list)
    done: Counter[str] = field(default_factory=Counter)

    def fault_for(self, method: str, path: str) -> Fault | None:
        for fault in self.faults:
            if fault.times > 0 and fault.when(method, path):
                fault.times -= 1
                self.done[fault.kind] += 1
                return fault
        return None


@contextmanager
def running(*buckets: str) -> Iterator[Store]:
    from gcp_storage_emulator.server import create_server

    emulator = create_server("127.0.0.1", 0, in_memory=True)
    emulator.start()
    port = emulator._api._httpd.server_port
    store = Store("", f"http://127.0.0.1:{port}")

    class Proxy(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _pass(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            fault = store.fault_for(self.command, self.path)
            if fault is not None and fault.kind == "slow":
                time.sleep(fault.amount)
            elif fault is not None and fault.kind.isdigit():
                self._answer(int(fault.kind), {"Content-Type": "application/json"},
                             b'{"error": {"code": %d, "message": "injected"}}' % int(fault.kind))  # fmt: skip
                return
            line = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
            line.request(self.command, self.path, body, {**dict(self.headers), "Host": f"127.0.0.1:{port}"})
            answer = line.getresponse()
            data = answer.read()
            headers = {name: value for name, value in answer.getheaders() if name.lower() not in HOP}
            for name in headers:
                if name.lower() == "location":
                    headers[name] = headers[name].replace(f":{port}", f":{self.server.server_port}")  # type: ignore[attr-defined]
            if fault is not None and fault.kind == "cut":
                self._answer(answer.status, headers, data[: int(len(data) * fault.amount)])
                return
            self._answer(answer.status, headers, data)

        def _answer(self, status: int, headers: dict[str, str], data: bytes) -> None:
            self.send_response_only(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(data)

        do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = do_HEAD = _pass

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    store.url = f"http://127.0.0.1:{server.server_port}"
    for name in buckets:
        line = http.client.HTTPConnection("127.0.0.1", port)
        line.request("POST", "/storage/v1/b", f'{{"name": "{name}"}}', {"Content-Type": "application/json"})
        assert line.getresponse().status == 200
    try:
        yield store
    finally:
        server.shutdown()
        emulator.stop()
