"""A verdict about a cell of a notebook says "cell", not the name of its temporary file."""

from __future__ import annotations

import json
from pathlib import Path

from holdfast.explain import explain
from holdfast.journal import events as ev
from holdfast.report.verdict_json import as_json
from tests.explain.made import NOW, Run

FILE = "/tmp/ipykernel_7/123.py"


def test_what_a_cell_raised_is_in_the_cell_also_when_compared(tmp_path: Path) -> None:
    read = ev.ScriptRead(script="notebook.py", digest="a", file=FILE)
    good = Run(tmp_path / "notebook-1")
    good.supervisor(read)
    good.fit()
    good.epochs([100, 100, 100])
    good.ended(code=0)
    bad = Run(tmp_path / "notebook-2")
    bad.supervisor(read)
    bad.probe(
        ev.ExceptionRaised(type="ValueError", message=f"in {FILE}", user_line=f"{FILE}:4", left="script")
    )
    bad.ended(code=1)
    verdict = as_json(explain(bad.path, now=NOW))
    assert verdict["findings"][0]["title"].startswith("ValueError at cell:4")
    assert "in cell" in json.dumps(verdict) and FILE not in json.dumps(verdict)
