"""Lines of the output, as they are quoted."""

from __future__ import annotations

import os
from pathlib import Path

from holdfast.cli.main import main
from holdfast.explain.readings import output
from holdfast.explain.readings.output import clipped


def test_colours_of_a_message_are_not_part_of_it() -> None:
    assert clipped("\x1b[1mInput 0\x1b[0m is wrong") == "Input 0 is wrong"


def test_of_an_output_that_no_run_of_ours_has_the_ends_are_read_and_its_lines_not_counted(
    tmp_path: Path,
) -> None:
    """100 GB without a byte on the disk: to count their lines took minutes."""
    path = tmp_path / "output.log"
    path.write_bytes(b"first\n")
    os.truncate(path, 100 << 30)
    with path.open("ab") as file:
        file.write(b"\nlast\n")
    lines = output.read(path).lines
    assert [(line.text, line.source) for line in (lines[0], lines[-1])] == [
        ("first", "output.log:1"),
        ("last", "output.log"),
    ]
    assert main(["explain", str(tmp_path)]) == 1
