"""Runs cells in a real kernel, and gives what stands under them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

from tests.waiting import PATIENCE_S


def run_cells(folder: Path, *cells: str, errors: bool = True) -> list[list[Any]]:
    """The outputs of each cell. With `errors` a cell that raises does not end it; a kernel that dies does."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    run_notebook(notebook, folder, errors=errors)
    return [cell.outputs for cell in notebook.cells]


def run_notebook(notebook: Any, folder: Path, *, errors: bool) -> None:
    resources = {"metadata": {"path": str(folder)}}
    client = NotebookClient(
        notebook,
        timeout=PATIENCE_S,
        startup_timeout=PATIENCE_S,
        kernel_name="python3",
        resources=resources,
        allow_errors=errors,
    )
    client.execute()


def shown(outputs: list[Any], kind: str = "text/plain") -> str:
    """What was displayed, the last of each output."""
    return "\n".join(one.data.get(kind, "") for one in outputs if "data" in one)


def raised(outputs: list[Any]) -> list[str]:
    return [one.ename for one in outputs if one.output_type == "error"]
