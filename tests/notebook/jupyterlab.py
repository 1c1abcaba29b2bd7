"""The example notebook in a real JupyterLab, and the pictures of docs/notebooks.md.

`python -m tests.notebook.jupyterlab LAB [DIR]`: LAB is the program `jupyter-lab`, whose kernel
`python3` has Holdfast and Keras; the pictures go to docs/_static.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.notebook.test_example import EXAMPLE

PORT = 28877
_MOST_BYTES = 300_000
TEXT = "[...document.querySelectorAll('.jp-OutputArea-output')].map(one => one.textContent).join(' ')"


def main() -> None:
    lab = sys.argv[1]
    target = Path(sys.argv[2]) if len(sys.argv) > 2 else Path(__file__).parents[2] / "docs" / "_static"
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(EXAMPLE, folder)
        own = {f"JUPYTER_{name}_DIR": f"{folder}/.{name}" for name in ("CONFIG", "RUNTIME")}
        words = ["--no-browser", "--allow-root", f"--port={PORT}", "--IdentityProvider.token=local"]
        with (Path(folder) / ".log").open("w") as log:
            server = subprocess.Popen(
                [lab, *words], cwd=folder, env={**os.environ, **own}, stdout=log, stderr=log
            )
        try:
            wait_for(lambda: "is running at" in (Path(folder) / ".log").read_text(), 120)
            look(target)
        finally:
            server.terminate()
            server.wait(20)


def look(target: Path) -> None:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1120, "height": 900})
        page.goto(f"http://127.0.0.1:{PORT}/lab/tree/{EXAMPLE.name}?token=local", timeout=120_000)
        page.locator(".jp-Notebook .jp-Cell").first.wait_for(timeout=120_000)
        page.wait_for_timeout(4000)
        page.keyboard.press("Control+b")  # without the list of files
        for no in page.get_by_role("button", name="No", exact=True).all():  # news of Jupyter's
            no.click()
        page.get_by_text("Run", exact=True).first.click()
        page.get_by_text("Run All Cells", exact=True).first.click()
        wait_for(lambda: " left" in page.evaluate(TEXT), 120)
        save(page, cell(page, "learning_rate=0.01"), target / "notebook-live.png")
        wait_for(lambda: page.evaluate(TEXT).count("\u25cf") >= 3, 120)
        page.wait_for_timeout(1000)
        save(page, cell(page, "learning_rate=1e4"), target / "notebook-verdict.png")
        browser.close()


def cell(page: Any, text: str) -> Any:
    return page.locator(".jp-CodeCell", has_text=text).last


def wait_for(condition: Any, seconds: float) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.2)


def save(page: Any, locator: Any, path: Path) -> None:
    from PIL import Image

    locator.scroll_into_view_if_needed()
    page.wait_for_timeout(300)
    locator.screenshot(path=path)
    with Image.open(path) as image:
        image.convert("RGB").quantize(256, dither=Image.Dither.NONE).save(path, optimize=True)
    assert path.stat().st_size < _MOST_BYTES
    print(path, path.stat().st_size)


if __name__ == "__main__":
    main()
