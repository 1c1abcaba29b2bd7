"""`holdfast lr-find RECIPE_OR_DATA`: which learning rate the network bears, by a range test on a copy."""

from __future__ import annotations

import argparse
import json
import math
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holdfast.cli.arguments import whole
from holdfast.cli.recipe import add_overrides
from holdfast.errors import ExitCode, HoldfastError

if TYPE_CHECKING:
    from holdfast.settings.recipe import Recipe

STEPS = 100
LEAST_STEPS = 10  # fewer show no curve
#: What the answer depends on; with another value of one of these a stored answer is another network's.
DEPENDS_ON = ("data.train", "model.detector", "model.backbone", "model.weights", "model.input", "train.batch",
              "train.precision", "train.optimizer", "train.clip_norm")  # fmt: skip


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("source", metavar="RECIPE_OR_DATA", help="a recipe (.toml), or data to train on")
    add_overrides(parser)
    parser.add_argument(
        "--steps",
        type=whole(LEAST_STEPS, such_as=STEPS),
        default=STEPS,
        metavar="N",
        help=f"of the test (default {STEPS})",
    )
    parser.add_argument("--json", action="store_true", help="print the points and the suggestion as JSON")


def run(args: argparse.Namespace) -> int:
    from holdfast.cli.train import _recipe, refuse_missing
    from holdfast.report.text import terminal_width, wrap
    from holdfast.train import range_test

    recipe = _recipe(args.source, args.overrides)
    refuse_missing(recipe, args.source, args.overrides)
    found = measured(recipe, steps=args.steps)
    if args.source.endswith(".toml"):
        store(Path(args.source), found)
    if args.json:
        print(
            json.dumps(
                {**found, "losses": [loss if math.isfinite(loss) else None for loss in found["losses"]]}
            )
        )
    else:
        seen = range_test.points(found["rates"], found["losses"])
        marks = {"suggested": found["suggestion"] or 0.0, "the recipe's": recipe.train.learning_rate}
        print(range_test.plot(seen, marks=marks))
        print(
            f"\ntrain.learning_rate = {found['suggestion']:g}" if found["suggestion"] else "\nno suggestion"
        )
        print("\n".join(wrap(found["why"], width=terminal_width(sys.stdout))))
        if args.source.endswith(".toml"):
            print(f"kept in {stored_at(Path(args.source))}, which `holdfast check` looks at")
    return ExitCode.FINE if found["suggestion"] is not None else ExitCode.FINDINGS


def measured(recipe: Recipe, *, steps: int) -> dict[str, Any]:
    """Runs the range test in a process of its own, with a line of progress."""
    from holdfast import settings
    from holdfast.train import range_test

    with tempfile.TemporaryDirectory(prefix="holdfast-lr-find-") as folder:
        Path(folder, "recipe.toml").write_text(settings.to_toml(recipe))
        _train(folder, steps)
        found: dict[str, Any] = json.loads(Path(folder, "lr_find.json").read_text())
    suggestion = range_test.suggest(
        range_test.points(found["rates"], found["losses"]), batch=recipe.train.batch
    )
    return {
        "suggestion": suggestion.rate, "why": suggestion.why, "recipe": recipe.train.learning_rate,
        "depends_on": depends_on(recipe), **found,
    }  # fmt: skip


def _train(folder: str, steps: int) -> None:
    """The child's steps come through standard output, what went wrong through standard error."""
    command = [sys.executable, "-m", "holdfast.train.lr_find", folder, str(steps)]
    live = sys.stderr.isatty()
    with (
        tempfile.TemporaryFile() as errors,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True) as child,
    ):
        assert child.stdout is not None
        try:
            for number, line in enumerate(child.stdout):
                if live:
                    print(f"\r\x1b[2K{line.rstrip()}", end="", file=sys.stderr, flush=True)
                elif number % 10 == 0:
                    print(line.rstrip(), file=sys.stderr, flush=True)
            code = child.wait()
        finally:  # after Ctrl-C too: nobody is left who wants its answer
            child.terminate()
            if live:
                print("\r\x1b[2K", end="", file=sys.stderr, flush=True)
        errors.seek(0)
        said = errors.read()
    if code == -signal.SIGINT:
        raise KeyboardInterrupt
    if code:
        raise refused(Path(folder)) or RangeTestEnded(said, code)


def refused(folder: Path) -> HoldfastError | None:
    """The answer of the range test's process, when it found something that its user can mend."""
    from holdfast.train.lr_find import ANSWER

    try:
        told = json.loads((folder / ANSWER).read_text())
    except (OSError, ValueError):
        return None
    error = HoldfastError(
        told["what"], where=told["where"], found=told["found"], change=told["change"], more=told["more"]
    )
    error.slug = told["error"]
    return error


class RangeTestEnded(HoldfastError):
    """The process of the range test did not come to an end of its own; what it said is shown."""

    slug = "range-test"

    def __init__(self, said: bytes, code: int) -> None:
        from holdfast.supervise.hush import Hush

        how = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
        hush = Hush()
        shown = (hush.shown(said) + hush.rest()).decode("utf-8", "replace")
        lines = [line for line in shown.splitlines() if line.strip()]
        super().__init__(
            f"the range test {how}",
            found=lines[-12:],
            change="what it said above; `holdfast train` with the same recipe explains an end at length",
        )


# -- kept for `check` -----------------------------------------------------------------------------


def stored_at(recipe: Path) -> Path:
    return recipe.with_suffix(".lr-find.json")


def store(recipe: Path, found: dict[str, Any]) -> None:
    try:
        stored_at(recipe).write_text(json.dumps(found))
    except OSError as error:
        print(f"holdfast: not kept: {error}", file=sys.stderr)


def suggested_for(recipe_path: Path, recipe: Recipe) -> float | None:
    """The suggestion of an earlier range test of this recipe, if nothing that it depends on was changed."""
    try:
        kept = json.loads(stored_at(recipe_path).read_text())
    except (OSError, ValueError):
        return None
    rate = kept.get("suggestion") if isinstance(kept, dict) else None
    return rate if isinstance(rate, float) and kept.get("depends_on") == depends_on(recipe) else None


def depends_on(recipe: Recipe) -> dict[str, Any]:
    values = {key: getattr(getattr(recipe, key.split(".")[0]), key.split(".")[1]) for key in DEPENDS_ON}
    return {**values, "data.train": Path(recipe.data.train).name}  # wherever the recipe is read from
