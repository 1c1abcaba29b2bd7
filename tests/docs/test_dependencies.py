"""docs/dependencies.md names every package that can be installed, and its extra."""

from __future__ import annotations

import re
import tomllib

from tests.docs.blocks import ROOT


def test_every_requirement_has_its_reason() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    page = (ROOT / "docs" / "dependencies.md").read_text()
    required = [
        *project["dependencies"],
        *(one for extra in project["optional-dependencies"].values() for one in extra),
    ]
    names = {re.split(r"[\[><=;! ]", one)[0] for one in required} - {"holdfast"}
    assert sorted(name for name in names if not re.search(rf"\b{re.escape(name)}\b", page)) == []
    assert sorted(extra for extra in project["optional-dependencies"] if f"| `{extra}` |" not in page) == []
