"""The board over 1,000 runs, 20 of which are being written: how soon it is read, and what it takes to keep it open.

The server is `holdfast board` in a process of its own; the page is opened in Chromium where there is one.
`python benchmarks/board.py [RUNS [LIVE]]`
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import urlopen

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.board.made_board import Writers, make_board

WATCH_S = 20.0
TICKS = os.sysconf("SC_CLK_TCK")


@contextmanager
def served(root: Path) -> Iterator[tuple[str, int]]:
    """Address and process number of a board."""
    command = [sys.executable, "-m", "holdfast", "board", str(root)]
    environment = {**os.environ, "XDG_STATE_HOME": str(root.parent / "state")}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as server:
        assert server.stdout is not None
        try:
            yield server.stdout.readline().strip(), server.pid
        finally:
            server.terminate()


def seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def cpu_s(pid: int) -> float:
    """Of the process alone, not of those that it started."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def memory_mib(pid: int, what: str = "VmHWM") -> float:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(what)).split()[1]) / 1024


def browser() -> Any:
    program = shutil.which("chromium") or shutil.which("google-chrome")
    if program is None:
        return None
    from playwright.sync_api import sync_playwright

    playwright = sync_playwright().start()
    return playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])


PAINT = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime"
TYPE = """() => new Promise(done => {
  const find = document.getElementById('find'), took = [], word = 'cause:memory-leak';
  let at = 0;
  function one() {
    if (at > word.length) return done(took);
    const began = performance.now();
    find.value = word.slice(0, at++);
    find.dispatchEvent(new Event('input'));
    requestAnimationFrame(() => setTimeout(() => { took.push(performance.now() - began); one(); }));
  }
  one();
})"""
EMPTY = """() => {
  const find = document.getElementById('find'); find.value = '';
  find.dispatchEvent(new Event('input'));
}"""
CURVES = """() => {
  const live = [...document.querySelectorAll('.row.live')].slice(0, 4);
  location.hash = '#curves=' + live.map(row => row.dataset.id);
}"""


def look(chromium: Any, address: str) -> tuple[Any, dict[str, float]]:
    """A page on the board, and its times in seconds."""
    page = chromium.new_page(viewport={"width": 1280, "height": 860})
    page.goto(address)
    while not page.evaluate("document.body.dataset.complete"):
        page.wait_for_timeout(20)
    typed = page.evaluate(TYPE)
    page.evaluate(EMPTY)
    times = {
        "paint": page.evaluate(PAINT) / 1000,
        "rows": float(page.evaluate("document.body.dataset.painted")) / 1000,
        "complete": float(page.evaluate("document.body.dataset.complete")) / 1000,
        "key": max(typed) / 1000,
    }
    return page, times


def main() -> None:
    count, live = (int(sys.argv[at]) if len(sys.argv) > at else usual for at, usual in ((1, 1000), (2, 20)))
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "runs"
        made = make_board(root, count, live=live)
        size = sum(path.stat().st_size for path in root.rglob("*") if path.is_file())
        print(f"{count} runs of which {live} are live, {size / 2**20:.0f} MiB of records")
        writers, chromium = Writers(made[:live]), browser()
        with served(root) as (address, _):
            print(
                f"first page, without a browser   {seconds(lambda: urlopen(address).read()):.2f} s after the start"
            )
        with served(root) as (address, pid):
            page = None
            if chromium is not None:
                page, times = look(chromium, address)
                print(f"first paint                     {times['paint']:.2f} s")
                print(f"first runs on the page          {times['rows']:.2f} s")
                print(f"all runs listed                 {times['complete']:.2f} s")
                print(f"a key in the filter, slowest    {times['key'] * 1000:.0f} ms until the list fits it")
            watch(pid, "the list open")
            if page is not None:
                page.evaluate(CURVES)
                watch(pid, "the curves of 4 live runs open")
                page.close()
            print(f"server's memory                 {memory_mib(pid):.0f} MiB at its peak")
            time.sleep(35)
            watch(pid, "nobody looking")
        writers.close()
        if chromium is not None:
            chromium.close()
            os._exit(0)  # playwright's loop has no other end here


def watch(pid: int, what: str) -> None:
    before, began = cpu_s(pid), time.perf_counter()
    time.sleep(WATCH_S)
    share = (cpu_s(pid) - before) / (time.perf_counter() - began)
    print(f"server's CPU, {what:<32} {100 * share:.1f} % of a core", flush=True)


if __name__ == "__main__":
    main()
