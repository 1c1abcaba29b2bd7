"""Files of 20 GB without a byte on the disk, as a stranger may put them into an archive: refused, in bounded memory."""

from __future__ import annotations

import functools
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from tests.data import made

ADDRESS_SPACE = 6 << 30
SIZE = 20 << 30


def endless(path: Path, head: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(head)
    os.truncate(path, SIZE)
    return path


def said(*words: str | Path) -> str:
    limit = functools.partial(resource.setrlimit, resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    done = subprocess.run(
        [sys.executable, "-m", "holdfast", *map(str, words)],
        capture_output=True,
        text=True,
        preexec_fn=limit,
        timeout=300,
        check=False,
    )
    assert done.returncode == 2, done.stdout + done.stderr
    return " ".join(done.stderr.split())


def test_a_table_with_a_line_without_an_end(tmp_path: Path) -> None:
    (tmp_path / "ok.jpg").write_bytes(made.image(64, 48, 1))
    endless(tmp_path / "boxes.csv", b"image,xmin,ymin,xmax,ymax,label\nok.jpg,1,1,5,5,cat\n")
    assert "error[unreadable-annotation]: a line of the CSV is longer than 64 MiB" in said("check", tmp_path)


def test_coco_in_utf_16(tmp_path: Path) -> None:
    (tmp_path / "ok.jpg").write_bytes(made.image(64, 48, 1))
    text = '{"images": [{"id": 1, "file_name": "ok.jpg"}], "annotations": [], "categories": []'
    endless(tmp_path / "boxes.json", text.encode("utf-16"))
    assert "the file is in UTF-16, and larger than 1024 MiB" in said("check", tmp_path)


def test_detections(tmp_path: Path) -> None:
    (tmp_path / "a.jpg").write_bytes(made.image(64, 48, 1))
    truth = tmp_path / "truth.json"
    image, box = (
        '{"id": 1, "file_name": "a.jpg"}',
        '{"id": 1, "image_id": 1, "category_id": 1, "bbox": [1, 1, 9, 9]}',
    )
    truth.write_text(
        f'{{"images": [{image}], "annotations": [{box}], "categories": [{{"id": 1, "name": "cat"}}]}}'
    )
    file = endless(tmp_path / "detections.json", b"[]")
    assert "found it is larger than 2 GiB" in said("eval", "--ground-truth", truth, "--detections", file)


@pytest.mark.parametrize("command", ["train", "plan", "recipe"])
def test_a_recipe(tmp_path: Path, command: str) -> None:
    file = endless(tmp_path / "recipe.toml", b'[data]\ntrain = "x"\n')
    assert "error[recipe-not-toml]: the file is larger than any recipe" in said(command, file)
