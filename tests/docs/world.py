"""A folder in which the commands of the docs can be typed: data, a script, a recipe, runs of before."""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
import sys
from pathlib import Path

from tests.report.made import run_folder
from tests.waiting import PATIENCE_S

_SCRIPT = """\
import time
for epoch in range(3):
    print(f"Epoch {epoch + 1}/3", flush=True)
    time.sleep(0.1)
"""

#: Words in capitals in the docs. RUN is a run of the trainer, which only the slow world has.
_PLACES = {
    "SRC": "data/train", "DATA_FOLDER": "data/train", "DATA": "data/val", "TRAINING_PHOTOS": "data/train/images",
    "PHOTOS": "data/val/images", "RECIPE": "recipe.toml", "runs/NAME": "runs/trained", "RUN": "runs/trained",
}  # fmt: skip

_RECIPE = """\
[data]
train = "data/train"
validation = "data/val"
"""

#: Training in a page is cut short, so that trying it takes seconds; everything else is as typed.
_SHORT = (
    "train.steps=4",
    "train.batch=4",
    "train.micro_batch=4",
    "model.input=128",
    "train.checkpoint_every=2",
)
_SHIM = """\
#!{python}
import os, sys
words = sys.argv[1:]
if words[:1] in (["train"], ["launch"], ["lr-find"]):
    given = [word.partition("=")[0] for word in words]
    short = [word for one in {short!r} if one.partition("=")[0] not in given for word in ("--set", one)]
    words = [words[0], *words[1:], *(short if "--resume" not in words else [])]
os.execv({python!r}, [{python!r}, "-m", "holdfast", *words])
"""


def make(folder: Path) -> Path:
    from holdfast.data import synthetic

    folder.mkdir(parents=True)
    synthetic.make_dataset(folder / "data" / "train", count=12, side=96, seed=1)
    synthetic.make_dataset(folder / "data" / "val", count=6, side=96, seed=2)
    shutil.copy(next((folder / "data" / "val" / "images").iterdir()), folder / "image.jpg")
    (folder / "train.py").write_text(_SCRIPT)
    (folder / "pkg").mkdir()
    (folder / "pkg" / "train.py").write_text(_SCRIPT)
    (folder / "recipe.toml").write_text(_RECIPE)
    for name, end in (
        ("train-1", "finished"),
        ("train-2", "finished"),
        ("stalled-1", "stall"),
        ("killed-1", "none"),
    ):
        run_folder(folder / "runs" / name, steps=30, end=end)
    _shim(folder / "bin" / "holdfast")
    done = run("holdfast data convert data/train voc --to voc", folder, timeout_s=PATIENCE_S)
    assert done.returncode == 0, done.stdout
    return folder


def _shim(path: Path) -> None:
    path.parent.mkdir()
    path.write_text(_SHIM.format(python=sys.executable, short=_SHORT))
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    (path.parent / "python").symlink_to(sys.executable)


def environment(folder: Path) -> dict[str, str]:
    path = f"{folder / 'bin'}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    kept = {name: value for name, value in os.environ.items() if not name.startswith("HOLDFAST")}
    return {**kept, "PATH": path, "PYTHONPATH": os.pathsep.join(sys.path), "TF_CPP_MIN_LOG_LEVEL": "3"}


def placed(commands: str, number: int) -> str:
    """What a reader puts in for the words in capitals; DST is a new folder every time."""
    for word, place in _PLACES.items():
        commands = re.sub(rf"\b{word}\b", place, commands)
    lines = commands.splitlines()
    return "\n".join(re.sub(r"\bDST\b", f"made-{number}-{at}", line) for at, line in enumerate(lines))


def run(commands: str, folder: Path, *, timeout_s: float) -> subprocess.CompletedProcess[str]:
    """Types the commands in a shell, one after the other; the first that goes wrong ends it."""
    return subprocess.run(
        ["bash", "-euo", "pipefail", "-c", commands], cwd=folder, env=environment(folder), text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=timeout_s, check=False,
    )  # fmt: skip


def train(folder: Path) -> None:
    """A run of the trainer with a model, for the pages that evaluate, predict, export and resume."""
    done = run("holdfast train recipe.toml --run-dir runs/trained", folder, timeout_s=900)
    assert done.returncode == 0, done.stdout
