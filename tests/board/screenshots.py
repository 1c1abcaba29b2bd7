"""The pictures of docs/board.md, of made runs: `python -m tests.board.screenshots [DIR]`, into docs/_static."""

from __future__ import annotations

import shutil
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

from holdfast.board.board_server import Board
from tests.board.made_board import Writers, make_board

SIZES = {"wide": (1280, 860), "phone": (390, 844)}
_MOST_BYTES = 300_000
UNFILTER = """() => {
  const find = document.getElementById('find');
  find.value = '';
  find.dispatchEvent(new Event('input'));
  find.blur();
}"""


def main() -> None:
    from playwright.sync_api import sync_playwright

    target = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[2] / "docs" / "_static"
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        made = make_board(Path(folder) / "runs", 1000, live=20)
        writers = Writers(made[:20])
        board = Board([Path(folder) / "runs"], memory=Path(folder) / "board.json")
        threading.Thread(target=board.serve, daemon=True).start()
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for name, (width, height) in SIZES.items():
            for scheme in ("light", "dark"):
                context = browser.new_context(
                    viewport={"width": width, "height": height}, color_scheme=scheme
                )
                take(context.new_page(), board.address, target, f"{name}-{scheme}")
                context.close()
        browser.close()
        board.close()
        writers.close()


def take(page: Any, address: str, target: Path, kind: str) -> None:
    """The list, one run and, on a wide screen, curves of several."""
    page.goto(address)
    while not page.evaluate("document.body.dataset.complete"):
        page.wait_for_timeout(50)
    page.wait_for_timeout(500)
    save(page, target / f"board-list-{kind}.png")
    page.locator("#find").fill("KeepFeatures")
    page.locator(".row .name").first.click()
    page.locator("#pane .finding").first.wait_for()
    page.evaluate(UNFILTER)  # on a phone the filter is behind the run
    page.wait_for_timeout(1500)
    save(page, target / f"board-run-{kind}.png")
    if kind.startswith("wide"):
        names = ("train_ssd-1", "train_retinanet-2", "train_ssd-5", "segment-8")
        page.evaluate("names => { location.hash = '#curves=' + names }", ",".join(names))
        page.wait_for_timeout(2500)
        for _ in range(5):
            page.keyboard.press("]")
        page.wait_for_timeout(800)
        save(page, target / f"board-curves-{kind}.png")


def save(page: Any, path: Path) -> None:
    from PIL import Image

    page.screenshot(path=path)
    with Image.open(path) as image:  # of 256 colours: a third of the bytes
        image.convert("RGB").quantize(256, dither=Image.Dither.NONE).save(path, optimize=True)
    assert path.stat().st_size < _MOST_BYTES, f"{path} is too large for the repository"
    print(path, path.stat().st_size)


if __name__ == "__main__":
    main()
