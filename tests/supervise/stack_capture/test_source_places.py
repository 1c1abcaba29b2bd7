"""What the source says about the line at which a thread waits."""

from __future__ import annotations

from pathlib import Path

from holdfast.supervise.stack_capture.source_places import SourcePlace, place_of

_SCRIPT = """
def rows(sock):
    while True:
        yield sock.recv(100)
def serve(door):
    while True:
        conn, _ = door.accept()
def gather(door, many):
    ranks = []
    while len(ranks) < many:
        ranks.append(door.accept())
def first(door):
    while True:
        conn, _ = door.accept()
        if conn:
            break
def join(address):
    while True:
        try:
            return socket.create_connection(address)
        except OSError:
            time.sleep(5)
def calls():
    inner = lambda: (yield)
    read()
"""


def test_generators_and_loops(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(_SCRIPT)
    places = {line: place_of(str(script), line) for line in (4, 7, 11, 14, 22, 25)}
    assert places == {
        4: SourcePlace(yields=True, endless=True),
        7: SourcePlace(endless=True),
        11: SourcePlace(),
        14: SourcePlace(),
        22: SourcePlace(connects=True),
        25: SourcePlace(),
    }
    assert place_of(str(tmp_path / "gone.py"), 3) == SourcePlace()
