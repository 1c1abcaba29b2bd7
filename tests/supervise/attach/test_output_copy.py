"""What an attached process prints, where that goes to a file."""

from __future__ import annotations

import subprocess
from pathlib import Path

from holdfast.supervise.attach.output_copy import OutputCopy


def started(script: str, output: Path) -> subprocess.Popen[bytes]:
    with output.open("wb") as file:
        return subprocess.Popen(["bash", "-c", script], stdin=subprocess.PIPE, stdout=file, stderr=file)


def test_the_end_of_the_file_and_what_follows_is_copied(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    with started("read", log) as process:
        try:
            with log.open("ab") as file:
                file.write(b"x" * 300_000 + b"\nepoch 1\n")
                file.flush()
                copy = OutputCopy(process.pid, tmp_path / "output.log")
                assert copy.update() == 300_009
                file.write(b"epoch 2\n")
                file.flush()
                assert copy.update() == 300_017
            copy.close()
        finally:
            process.kill()
    text = (tmp_path / "output.log").read_bytes()
    assert text.endswith(b"x\nepoch 1\nepoch 2\n")
    assert 256 * 1024 <= len(text) < 300_000


def test_a_pipe_is_left_alone(tmp_path: Path) -> None:
    with subprocess.Popen(
        ["bash", "-c", "echo kept; read"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        copy = OutputCopy(process.pid, tmp_path / "output.log")
        assert copy.update() == 0
        copy.close()
        assert process.stdout is not None and process.stdout.readline() == b"kept\n"
        process.kill()
    assert not (tmp_path / "output.log").exists()


def test_a_file_that_was_emptied_is_read_from_its_start(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    with started("read", log) as process:
        try:
            log.write_bytes(b"a long first line\n")
            copy = OutputCopy(process.pid, tmp_path / "output.log")
            copy.update()
            log.write_bytes(b"short\n")
            copy.update()
            copy.close()
        finally:
            process.kill()
    assert (tmp_path / "output.log").read_bytes() == b"a long first line\nshort\n"
