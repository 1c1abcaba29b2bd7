from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from holdfast.host.log_writers import log_writers


def test_who_writes_and_not_who_reads(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    log.touch()
    keeps = "import sys; file = open(sys.argv[1], sys.argv[2]); print('up', flush=True); sys.stdin.read()"
    assert log_writers(log) == []
    for mode, found in (("r", False), ("a", True)):
        with subprocess.Popen(
            [sys.executable, "-c", keeps, str(log), mode], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        ) as process:
            assert process.stdout is not None
            process.stdout.readline()
            assert [one.pid for one in log_writers(log)] == ([process.pid] if found else [])
            process.communicate()
