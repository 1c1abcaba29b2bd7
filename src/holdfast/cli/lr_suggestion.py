"""The LR range test in a process of its own, and its answer stored next to the recipe for `holdfast check`."""

from __future__ import annotations

import json
import signal
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holdfast import atomic_write, regular_file
from holdfast.errors import HoldfastError, from_json
from holdfast.stderr import print_line
from holdfast.subprocess_json import Reply, ask
from holdfast.terminal_text import write_control

if TYPE_CHECKING:
    from holdfast.settings.recipe import Recipe

STEPS = 100
MIN_STEPS = 10  # fewer show no curve
#: What the answer depends on: with another value of one of these, a stored answer belongs to another network.
DEPENDS_ON = ("data.train", "model.detector", "model.backbone", "model.weights", "model.input", "train.batch",
              "train.precision", "train.optimizer", "train.clip_norm")  # fmt: skip


class RangeTestFailed(HoldfastError):
    """The process of the range test ended without an answer; its last lines are shown."""

    slug = "range-test"
    advice = "`holdfast train` with the same recipe explains such a failure at length"


def measure(recipe: Recipe, *, steps: int) -> dict[str, Any]:
    """Runs the range test, with a line of progress."""
    from holdfast import settings
    from holdfast.train.lr_range import range_test

    with tempfile.TemporaryDirectory(prefix="holdfast-lr-find-") as folder:
        path = Path(folder, "recipe.toml")
        path.write_text(settings.to_toml(recipe))
        found = _run(path, steps)
    suggestion = range_test.suggest(
        range_test.points(found["rates"], found["losses"]), batch=recipe.train.batch
    )
    return {
        "suggestion": suggestion.learning_rate, "why": suggestion.reason, "recipe": recipe.train.learning_rate,
        "depends_on": depends_on(recipe), **found,
    }  # fmt: skip


def _run(recipe: Path, steps: int) -> dict[str, Any]:
    progress = _Progress()
    try:
        reply = ask("holdfast.train.lr_range.lr_find_process", str(recipe), str(steps), on_progress=progress)
    finally:
        progress.clear()
    if reply.exit_code == -signal.SIGINT:
        raise KeyboardInterrupt
    answer = reply.answer or {}
    if "error" in answer:
        raise from_json(answer["error"])
    if reply.exit_code or "rates" not in answer:
        raise failed(reply)
    found: dict[str, Any] = answer
    return found


class _Progress:
    """One line that is overwritten in a terminal; every tenth line elsewhere."""

    def __init__(self) -> None:
        self._live = sys.stderr.isatty()
        self._lines = 0

    def __call__(self, line: str) -> None:
        if self._live:
            write_control(sys.stderr, "\r\x1b[2K")
            print(line, end="", file=sys.stderr, flush=True)
        elif self._lines % 10 == 0:
            print_line(line)
        self._lines += 1

    def clear(self) -> None:
        if self._live:
            write_control(sys.stderr, "\r\x1b[2K")
            sys.stderr.flush()


def failed(reply: Reply) -> RangeTestFailed:
    from holdfast.supervise.child.tensorflow_noise import TensorFlowNoiseFilter

    noise = TensorFlowNoiseFilter()
    shown = (noise.shown(reply.stderr) + noise.rest()).decode("utf-8", "replace")
    lines = [line for line in shown.splitlines() if line.strip()]
    return RangeTestFailed(f"the LR range test failed: {reply.ending}", found=lines[-12:])


# -- stored for `check` ---------------------------------------------------------------------------


def stored_at(recipe: Path) -> Path:
    return recipe.with_suffix(".lr-find.json")


def store(recipe: Path, found: dict[str, Any]) -> None:
    try:
        atomic_write.write_text(stored_at(recipe), json.dumps(found))
    except OSError as error:
        print_line(f"holdfast: the answer could not be stored: {error}")


def suggested_for(recipe_path: Path, recipe: Recipe) -> float | None:
    """The suggestion of an earlier range test of this recipe, if nothing that it depends on has changed."""
    try:
        stored = regular_file.read_json(stored_at(recipe_path), most=1 << 20)
    except (OSError, ValueError):
        return None
    rate = stored.get("suggestion") if isinstance(stored, dict) else None
    return rate if isinstance(rate, float) and stored.get("depends_on") == depends_on(recipe) else None


def depends_on(recipe: Recipe) -> dict[str, Any]:
    values = {key: getattr(getattr(recipe, key.split(".")[0]), key.split(".")[1]) for key in DEPENDS_ON}
    return {**values, "data.train": Path(recipe.data.train).name}  # from wherever the recipe is read
