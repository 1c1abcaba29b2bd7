import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.hot


def test_the_code_on_the_page_runs(tmp_path, monkeypatch, capsys):
    page = (Path(__file__).parents[2] / "docs" / "detectors.md").read_text()
    (code,) = re.findall(r"```python[^\n]*\n(.*?)```", page, flags=re.S)
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "docs/detectors.md", "exec"), {})
    printed = capsys.readouterr().out.splitlines()[0]
    assert f"# {printed} …" in code
