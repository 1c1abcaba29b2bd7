"""Which imported file of the user's chose a device for the whole process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

_ASKS = "from holdfast.probe.process import framework_versions\nprint(framework_versions._set_by_imports())\n"


def _seen(folder: Path, script: str, **environment: str) -> str:
    (folder / "features.py").write_text('import os\n\nos.environ["JAX_PLATFORMS"] = "cpu"\n')
    (folder / "train.py").write_text(script + _ASKS)
    given = {**os.environ, **environment}
    given.pop("JAX_PLATFORMS", None) if "JAX_PLATFORMS" not in environment else None
    done = subprocess.run(
        [sys.executable, "train.py"], cwd=folder, env=given, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def test_a_module_that_the_script_imports(tmp_path: Path) -> None:
    assert _seen(tmp_path, "import features\n") == "{'JAX_PLATFORMS': 'features.py:3'}"


def test_the_script_itself_knows_what_it_does(tmp_path: Path) -> None:
    assert _seen(tmp_path, 'import os\nos.environ["JAX_PLATFORMS"] = "cpu"\n') == "{}"


def test_what_the_process_was_started_with_was_not_set_by_an_import(tmp_path: Path) -> None:
    assert _seen(tmp_path, "import features\n", JAX_PLATFORMS="cpu") == "{}"
