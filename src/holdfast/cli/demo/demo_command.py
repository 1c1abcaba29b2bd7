"""`holdfast demo`: a tour in a few minutes, each chapter with the command that a user would type."""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Collection
from pathlib import Path

from holdfast.cli.arguments import integer
from holdfast.cli.demo import injected_failures as failures
from holdfast.errors import AlreadyThere, ExitCode, HoldfastError
from holdfast.journal.folder import RunFolder
from holdfast.supervise.child.tensorflow_noise import FilteredStderr

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


#: Any exit code but 0.
FAILURE = range(1, 256)

#: Each failure: the title of its chapter, the settings that are changed, and the name of the run.
_WAYS: dict[str, tuple[str, tuple[str, ...], str]] = {
    "kill": ("Train it, and kill -9 the trainer in the middle of an epoch", (), "shapes"),
    "stall": ("Train it, and freeze the trainer in the middle of an epoch", (), "shapes"),
    "oom": ("Train it with limited memory, next to a process that takes it all", (), "shapes"),
    "nan": (
        "Train it with a learning rate that is far too high",
        # Group norm tolerates almost any learning rate; with this decay the weights grow 100 times per step.
        ("train.learning_rate=100", "train.weight_decay=1", "train.clip_norm=0", "train.optimizer=sgd"),
        "nan",
    ),
    "data": ("Train it on the dirty data after all", ("data.train=shapes/train",), "data"),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--folder", default="holdfast-demo", help="the folder to create (default: ./holdfast-demo)"
    )
    parser.add_argument(
        "--steps",
        type=integer(1, such_as=150),
        default=150,
        help="training steps (default: 150, about three minutes in all)",
    )
    parser.add_argument("--break", dest="broken", default="kill", choices=(*_WAYS, "none"),
                        help="how the first training fails (default: kill)")  # fmt: skip
    parser.add_argument("--open", action=argparse.BooleanOptionalAction,
                        help="open the report at the end (default: if there is a display)")  # fmt: skip


def run(args: argparse.Namespace) -> int:
    folder = Path(args.folder)
    if folder.exists():
        raise AlreadyThere(
            "the folder of the demo already exists, and nothing is overwritten",
            where=folder,
            change=f"rm -r {folder}, or --folder NAME",
        )
    began = time.monotonic()
    # Fails before anything is written where a control group cannot be created.
    squeeze = failures.Squeeze() if args.broken == "oom" else None
    demo = Demo(folder, steps=args.steps)
    try:
        demo.make_data()
        demo.check_and_repair()
        demo.plan()
        finished = args.broken != "none" and demo.fail_once(args.broken, squeeze) == 0
    finally:
        if squeeze is not None:
            squeeze.close()
    if not finished:
        demo.train(resumed=(folder / "runs" / "shapes").exists())
    demo.evaluate()
    demo.show(opens=_has_screen() if args.open is None else args.open)
    print(f"\n{time.monotonic() - began:.0f} s in all")
    return ExitCode.FINE


def _has_screen() -> bool:
    return sys.stdout.isatty() and any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))


class Demo:
    """The folder of the demo, and its chapters."""

    def __init__(self, folder: Path, *, steps: int) -> None:
        self.folder = folder
        self.steps = steps
        self.chapters = 0
        self.stderr = FilteredStderr()

    def chapter(self, title: str) -> None:
        self.chapters += 1
        print(f"\n── {self.chapters}. {title} " + "─" * max(3, 74 - len(title)) + "\n", flush=True)

    def holdfast(self, *words: str, expect: tuple[int, ...] = (0,)) -> int:
        """Runs a command as the user would, in the folder of the demo."""
        return self.wait(self.start(*words), words, expect)

    def start(self, *words: str, before: Callable[[], None] | None = None) -> subprocess.Popen[bytes]:
        print("$ holdfast " + shlex.join(words), flush=True)
        environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
        command = [sys.executable, "-m", "holdfast", *words]
        return subprocess.Popen(
            command, cwd=self.folder, env=environment, preexec_fn=before, stderr=self.stderr.fd
        )

    def wait(self, process: subprocess.Popen[bytes], words: tuple[str, ...], expect: Collection[int]) -> int:
        code = process.wait()
        time.sleep(0.3)  # for its last lines to pass the filter
        if code not in expect:
            raise HoldfastError(
                "the training of the demo finished before it could be broken"
                if expect is FAILURE
                else f"a command of the demo ended with exit code {code} instead of {' or '.join(map(str, expect))}",
                where=self.folder,
                found="holdfast " + shlex.join(words),
                change="use more --steps, or --break none" if expect is FAILURE else "read its output above",
            )
        print()
        return code

    def make_data(self) -> None:
        from holdfast.data import synthetic

        self.chapter("A small dataset, with errors that real ones have")
        planted = synthetic.make_dataset(
            self.folder / "shapes" / "train", count=240, side=160, seed=1, dirt=True
        )
        synthetic.make_dataset(self.folder / "shapes" / "validation", count=48, side=160, seed=2)
        (self.folder / "recipe.toml").write_text(_RECIPE.format(steps=self.steps))
        print(f"288 images of {', '.join(synthetic.CLASSES)} in {self.folder / 'shapes'}. Errors in it:")
        print("\n".join(f"  - {one}" for one in planted))

    def check_and_repair(self) -> None:
        self.chapter("Check it before training")
        self.holdfast("check", "shapes/train", expect=(1,))
        self.holdfast("data", "repair", "shapes/train", "shapes/clean")

    def plan(self) -> None:
        self.chapter("Would it fit on a small GPU? No GPU is needed to find out")
        self.holdfast("plan", "recipe.toml", "--device-memory", "2GiB", "--quick", expect=(0, 1))

    def fail_once(self, how: str, squeeze: failures.Squeeze | None) -> int:
        """The first training. The failure is printed; the verdict has to find it by itself."""
        title, changed, name = _WAYS[how]
        self.chapter(title)
        run = RunFolder(self.folder / "runs" / name)
        settings = [word for one in changed for word in ("--set", one)]
        words = ("train", "recipe.toml", "--run-dir", f"runs/{name}", "--restarts", "0", *settings)
        process = self.start(*words, before=squeeze.enter if squeeze else None)
        strike: dict[str, failures.Failure] = {"kill": failures.kill, "stall": failures.freeze}
        if squeeze is not None:
            squeeze.tighten(process, run)
        elif how in strike:
            strike[how](process, run)
        return self.wait(process, words, expect=(0,) if how == "stall" else FAILURE)

    def train(self, *, resumed: bool) -> None:
        self.chapter("Resume it" if resumed else "Train it")
        self.holdfast("train", "recipe.toml", "--run-dir", "runs/shapes", *(["--resume"] if resumed else []))

    def evaluate(self) -> None:
        self.chapter("Evaluate it on images that it has not seen")
        self.holdfast("eval", "runs/shapes", "shapes/validation")

    def show(self, *, opens: bool) -> None:
        self.chapter("What to look at")
        self.holdfast("report", "runs/shapes", *(["--open"] if opens else []))
        print(f"the report   {(self.folder / 'runs/shapes/report.html').resolve()}")
        print(f"the verdict  holdfast explain {self.folder / 'runs/shapes'}")
        print(f"all runs     holdfast board {self.folder / 'runs'}")
        print("your script  holdfast run -- python train.py")
