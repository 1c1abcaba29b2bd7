"""`holdfast demo`: the whole story in a few minutes, each part by the command that a user would type."""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from holdfast.cli import demo_mishaps as mishaps
from holdfast.cli.arguments import whole
from holdfast.cli.demo_screen import Calm
from holdfast.errors import AlreadyThere, ExitCode, HoldfastError
from holdfast.journal.folder import RunFolder

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


#: Each way to go wrong: what the chapter is called, the settings that are changed, and the run's folder.
_WAYS: dict[str, tuple[str, tuple[str, ...], str]] = {
    "kill": ("Train it, and kill -9 the trainer in the middle of an epoch", (), "shapes"),
    "stall": ("Train it, and freeze the trainer in the middle of an epoch", (), "shapes"),
    "oom": ("Train it where memory is limited, beside a neighbour that wants it all", (), "shapes"),
    "nan": (
        "Train it with a learning rate that is far too high",
        # Group norm bears almost any rate by itself; with this decay the weights grow a hundredfold at every step.
        ("train.learning_rate=100", "train.weight_decay=1", "train.clip_norm=0", "train.optimizer=sgd"),
        "nan",
    ),
    "data": ("Train it on the dirty data after all", ("data.train=shapes/train",), "data"),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--folder", default="holdfast-demo", help="where to make it (default: ./holdfast-demo)"
    )
    parser.add_argument(
        "--steps",
        type=whole(1, such_as=150),
        default=150,
        help="of training (default: 150, about three minutes in all)",
    )
    parser.add_argument("--break", dest="broken", default="kill", choices=(*_WAYS, "none"),
                        help="how the training goes wrong on its first try (default: kill)")  # fmt: skip
    parser.add_argument("--open", action=argparse.BooleanOptionalAction,
                        help="open the report at the end (default: where there is a screen)")  # fmt: skip


def run(args: argparse.Namespace) -> int:
    folder = Path(args.folder)
    if folder.exists():
        raise AlreadyThere(
            "the demo's folder is there already, and nothing is overwritten",
            where=folder,
            change=f"rm -r {folder}, or --folder NAME",
        )
    began = time.monotonic()
    # Where a group may not be made, that is said before anything is.
    squeeze = mishaps.Squeeze() if args.broken == "oom" else None
    demo = Demo(folder, steps=args.steps)
    try:
        demo.make_data()
        demo.check_and_repair()
        demo.plan()
        went_on = args.broken != "none" and demo.go_wrong(args.broken, squeeze) == 0
    finally:
        if squeeze is not None:
            squeeze.close()
    if not went_on:
        demo.train(resumed=(folder / "runs" / "shapes").exists())
    demo.evaluate()
    demo.show(opens=_has_screen() if args.open is None else args.open)
    print(f"\n{time.monotonic() - began:.0f} s in all")
    return ExitCode.FINE


def _has_screen() -> bool:
    return sys.stdout.isatty() and any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))


class Demo:
    """The demo's folder, and how its chapters are told."""

    def __init__(self, folder: Path, *, steps: int) -> None:
        self.folder = folder
        self.steps = steps
        self.chapters = 0
        self.calm = Calm()

    def chapter(self, title: str) -> None:
        self.chapters += 1
        print(f"\n── {self.chapters}. {title} " + "─" * max(3, 74 - len(title)) + "\n", flush=True)

    def holdfast(self, *words: str, expect: tuple[int, ...] = (0,)) -> int:
        """Types a command for the user, in the demo's folder."""
        return self.wait(self.start(*words), words, expect)

    def start(self, *words: str, before: Callable[[], None] | None = None) -> subprocess.Popen[bytes]:
        print("$ holdfast " + shlex.join(words), flush=True)
        environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
        command = [sys.executable, "-m", "holdfast", *words]
        return subprocess.Popen(
            command, cwd=self.folder, env=environment, preexec_fn=before, stderr=self.calm.fd
        )

    def wait(self, process: subprocess.Popen[bytes], words: tuple[str, ...], expect: tuple[int, ...]) -> int:
        code = process.wait()
        time.sleep(0.3)  # its last lines come through the screen
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

    def plan(self) -> None:
        self.chapter("Would it fit a small card? No card is needed to know")
        self.holdfast("plan", "recipe.toml", "--device-memory", "2GiB", "--quick", expect=(0, 1))

    def go_wrong(self, how: str, squeeze: mishaps.Squeeze | None) -> int:
        """The first try. What is done to it is said; the verdict must find it out by itself."""
        title, changed, name = _WAYS[how]
        self.chapter(title)
        run = RunFolder(self.folder / "runs" / name)
        settings = [word for one in changed for word in ("--set", one)]
        words = ("train", "recipe.toml", "--run-dir", f"runs/{name}", "--restarts", "0", *settings)
        process = self.start(*words, before=squeeze.enter if squeeze else None)
        strike: dict[str, mishaps.Mishap] = {"kill": mishaps.kill, "stall": mishaps.freeze}
        if squeeze is not None:
            squeeze.tighten(process, run)
        elif how in strike:
            strike[how](process, run)
        return self.wait(process, words, expect=(0,) if how == "stall" else tuple(range(1, 256)))

    def train(self, *, resumed: bool) -> None:
        self.chapter("Go on where it was" if resumed else "Train it")
        self.holdfast("train", "recipe.toml", "--run-dir", "runs/shapes", *(["--resume"] if resumed else []))

    def evaluate(self) -> None:
        self.chapter("How good it is, on pictures that it has not seen")
        self.holdfast("eval", "runs/shapes", "shapes/validation")

    def show(self, *, opens: bool) -> None:
        self.chapter("What to look at")
        self.holdfast("report", "runs/shapes", *(["--open"] if opens else []))
        print(f"the report   {(self.folder / 'runs/shapes/report.html').resolve()}")
        print(f"the verdict  holdfast explain {self.folder / 'runs/shapes'}")
        print(f"all runs     holdfast board {self.folder / 'runs'}")
        print("your script  holdfast run -- python train.py")
