"""The example notebook, in a real kernel with Keras."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest.importorskip("nbclient")
pytest.importorskip("keras")

import nbformat

from tests.notebook.kernels import run_notebook, shown

EXAMPLE = Path(__file__).parents[2] / "examples" / "watch_a_cell.ipynb"


@pytest.mark.hot
def test_the_example_notebook(tmp_path: Path) -> None:
    notebook = nbformat.read(EXAMPLE, as_version=4)  # type: ignore[no-untyped-call]
    run_notebook(notebook, tmp_path, errors=False)
    well, badly, again = [
        cell for cell in notebook.cells if "%holdfast" in cell.source and cell.cell_type == "code"
    ]
    assert shown(well.outputs).startswith("verdict[finished]")
    assert re.search(r"768 of\s+768 steps done", shown(well.outputs)), "64 steps in each of 12 epochs"
    said = " ".join(shown(badly.outputs).split())
    assert re.match(r"verdict\[(loss-not-finite|learning-rate-too-high)\]", said), said
    assert "learning rate" in said and "/tmp/ipykernel" not in said
    assert " ".join(shown(again.outputs).split())[:40] == said[:40]
    assert '<div style="' in shown(badly.outputs, "text/html")
