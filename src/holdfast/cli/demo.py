"""`holdfast demo`: the whole story in a few minutes, each part by the command that a user would type."""

from __future__ import annotations

import argparse
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

from holdfast.errors import AlreadyThere, ExitCode, HoldfastError

_RECIPE = """\
# What `holdfast demo` trains: small enough for two cores in about two minutes.
[data]
train = "shapes/clean"
validation = "shapes/validation"

[model]
detector = "ssd"
backbone = "mobilenet_v2"
input = 128

[train]
steps = {steps}
batch = 16
learning_rate = 2e-3
checkpoint_every = 20
validate_every = {steps}
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--folder", default="holdfast-demo", help="where to make it (default: ./holdfast-demo)"
    )
    parser.add_argument(
        "--steps", type=int, default=150, help="of training (default: 150, two to three minutes)"
    )
    parser.add_argument("--break", dest="broken", default="kill", choices=("kill", "stall", "nan", "data", "none"),
                        help="how the training goes wrong on its first try (default: kill)")  # fmt: skip
    parser.add_argument("--open", action="store_true", help="open the report at the end")


def run(args: argparse.Namespace) -> int:
    folder = Path(args.folder)
    if folder.exists():
        raise AlreadyThere(
            "the demo's folder is there already, and nothing is overwritten",
            where=folder,
            change=f"rm -r {folder}, or --folder NAME",
        )
    demo = Demo(folder, steps=args.steps)
    demo.make_data()
    demo.check_and_repair()
    demo.go_wrong(args.broken)
    demo.train(args.broken)
    demo.show(open_it=args.open)
    return ExitCode.FINE


class Demo:
    """The demo's folder, and how its chapters are told."""

    def __init__(self, folder: Path, *, steps: int) -> None:
        self.folder = folder
        self.steps = steps
        self.chapters = 0

    def chapter(self, title: str) -> None:
        self.chapters += 1
        print(f"\n── {self.chapters}. {title} " + "─" * max(3, 74 - len(title)) + "\n", flush=True)

    def holdfast(self, *words: str, expect: tuple[int, ...] = (0,)) -> int:
        """Types a command for the user, in the demo's folder."""
        process = self.start(*words)
        return self.wait(process, words, expect)

    def start(self, *words: str) -> subprocess.Popen[bytes]:
        print("$ holdfast " + shlex.join(words), flush=True)
        environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "2"}
        return subprocess.Popen([sys.executable, "-m", "holdfast", *words], cwd=self.folder, env=environment)

    def wait(self, process: subprocess.Popen[bytes], words: tuple[str, ...], expect: tuple[int, ...]) -> int:
        code = process.wait()
        if code not in expect:
            raise HoldfastError(
                f"a command of the demo ended with {code}, and {' or '.join(map(str, expect))} was expected",
                where=self.folder,
                found="holdfast " + shlex.join(words),
                change="what it printed above says why",
            )
        print()
        return code

    def make_data(self) -> None:
        from holdfast.data import shapes

        self.chapter("A small dataset, with the dirt that real ones have")
        planted = shapes.make(self.folder / "shapes" / "train", count=240, side=160, seed=1, dirt=True)
        shapes.make(self.folder / "shapes" / "validation", count=48, side=160, seed=2)
        (self.folder / "recipe.toml").write_text(_RECIPE.format(steps=self.steps))
        print(f"288 pictures of {', '.join(shapes.CLASSES)} in {self.folder / 'shapes'}. Planted:")
        print("\n".join(f"  - {one}" for one in planted))

    def check_and_repair(self) -> None:
        self.chapter("Check it before training")
        self.holdfast("check", "shapes/train", expect=(1,))
        self.holdfast("data", "repair", "shapes/train", "shapes/clean")

    def go_wrong(self, how: str) -> None:
        """The first try. What is done to it is said; the verdict must find it out by itself."""
        if how == "none":
            return
        told = {
            "kill": "Train it, and kill -9 the trainer in the middle of an epoch",
            "stall": "Train it, and freeze the trainer in the middle of an epoch",
            "nan": "Train it with a learning rate that is far too high",
            "data": "Train it on the dirty data after all",
        }
        self.chapter(told[how])
        changed = {
            "nan": [
                "--set",
                "train.learning_rate=80",
                "--set",
                "train.clip_norm=0",
                "--set",
                "train.optimizer=sgd",
            ],
            "data": ["--set", "data.train=shapes/train"],
        }
        name = "runs/shapes" if how in ("kill", "stall") else f"runs/{how}"
        words = ("train", "recipe.toml", "--run-dir", name, "--restarts", "0", *changed.get(how, []))
        process = self.start(*words)
        if how in ("kill", "stall"):
            self._strike(process, self.folder / name, signal.SIGKILL if how == "kill" else signal.SIGSTOP)
        if how == "stall":
            self._end_frozen(process, self.folder / name)
        self.wait(process, words, expect=tuple(range(1, 256)))

    def train(self, broken: str) -> None:
        resumed = broken in ("kill", "stall")
        self.chapter("Go on where it was" if resumed else "Train it")
        self.holdfast("train", "recipe.toml", "--run-dir", "runs/shapes", *(["--resume"] if resumed else []))

    def show(self, *, open_it: bool) -> None:
        self.chapter("What to look at")
        self.holdfast("report", "runs/shapes", *(["--open"] if open_it else []))
        print(f"the report   {self.folder / 'runs/shapes/report.html'}")
        print(f"the verdict  holdfast explain {self.folder / 'runs/shapes'}")
        print("your script  holdfast run -- python train.py")

    def _strike(self, process: subprocess.Popen[bytes], run: Path, how: signal.Signals) -> None:
        """Waits until the trainer is in the middle of an epoch, past a checkpoint, and sends the signal."""
        from holdfast.journal.beats import BeatReader

        reader = BeatReader(run / "beats")
        while process.poll() is None:
            beat = reader.newest()
            if beat is not None and beat.step >= min(47, self.steps // 3):
                print(f"\n$ kill -{how.name} {beat.pid}      # the trainer, at step {beat.step}", flush=True)
                os.kill(beat.pid, how)
                return
            time.sleep(0.05)

    def _end_frozen(self, process: subprocess.Popen[bytes], run: Path) -> None:
        """The supervisor notices by itself; then somebody ends the run."""
        journal = run / "journal.jsonl"
        while process.poll() is None and '"kind": "stalled"' not in journal.read_text():
            time.sleep(0.5)
        print("\n$ holdfast explain runs/shapes      # while it stands\n", flush=True)
        subprocess.run(
            [sys.executable, "-m", "holdfast", "explain", "runs/shapes"], cwd=self.folder, check=False
        )
        process.terminate()
