"""Labels that do not depend on the inputs."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from holdfast.explain import Strength
from holdfast.journal import events as ev
from tests.explain.learning_runs import FALLING, FLAT, IDS, INPUTS, NUMBERS, dense, trained, values
from tests.explain.made import Run, facts, remedies, title_of


def _measured(agreement: float, rows: int = 1000, structure: float | None = 1.4) -> ev.DependenceSeen:
    return ev.DependenceSeen(
        fit=1, rows=rows, agreement=agreement, chance=0.5, of="classes", structure=structure
    )


def example(run: Run) -> None:
    trained(run, dense("sigmoid"), IDS, FLAT, accuracy=[0.5] * 6, more=(_measured(0.507),))


def near_miss(run: Run) -> None:
    trained(run, dense("sigmoid"), IDS, FLAT, accuracy=[0.5] * 6, more=(_measured(0.71),))


@pytest.mark.parametrize(
    ("agreement", "rows", "columns", "losses", "strength"),
    [
        (0.5, 1000, 8, FLAT, Strength.SUPPORTED),
        (0.5, 1000, 25, FLAT, Strength.POSSIBLE),
        (0.5, 1000, 400, FLAT, None),
        (0.5, 100, 8, FLAT, None),
        (0.3, 1000, 8, FLAT, None),  # a parity: the nearest row differs in one bit
        (0.5, 1000, 8, FALLING, None),
    ],
)
def test_what_decides(
    tmp_path: Path, agreement: float, rows: int, columns: int, losses: list[float], strength: Strength | None
) -> None:
    run = Run(tmp_path / "run")
    trained(
        run, dense("sigmoid"), IDS, losses, inputs={"columns": columns}, more=(_measured(agreement, rows),)
    )
    found = [one.strength for one in run.verdict().findings if one.cause == "labels-unrelated"]
    assert found == ([strength] if strength is not None else [])


@pytest.mark.parametrize("structure", [1.01, None])
def test_labels_for_rows_of_noise_may_be_a_demonstration(tmp_path: Path, structure: float | None) -> None:
    run = Run(tmp_path / "run")
    trained(run, dense("sigmoid"), IDS, FLAT, accuracy=[0.5] * 6, more=(_measured(0.5, structure=structure),))
    found = [one.strength for one in run.verdict().findings if one.cause == "labels-unrelated"]
    assert found == [Strength.POSSIBLE]


def test_what_is_said(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    example(run)
    assert facts(run.first())["labels.of-nearest-rows"]["agreement"] == 0.507
    assert remedies(run.first()) == ["labels.check-order"]
    assert title_of(run.first()).startswith("the labels do not depend on the inputs")


def test_numbers_that_are_noise_may_be_all_there_is(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    measured = ev.DependenceSeen(fit=1, rows=1000, agreement=0.01, chance=0.0, of="values")
    trained(
        run,
        dense("linear", 1, "mean_squared_error"),
        NUMBERS,
        [1.01, 1.0, 1.0, 1.0, 1.0, 1.0],
        more=(measured,),
    )
    found = [one.strength for one in run.verdict().findings if one.cause == "labels-unrelated"]
    assert found == [Strength.POSSIBLE]


@pytest.mark.parametrize(
    ("more", "classes", "strength"),
    [
        ({"structure": 1.7, "shuffles_as_related": 0.5}, 10, Strength.SUPPORTED),
        ({"structure": 1.7, "shuffles_as_related": 0.0}, 10, None),  # some column goes with them
        ({"structure": 1.0, "shuffles_as_related": 0.5}, 10, None),
        ({"structure": 1.7, "shuffles_as_related": 0.5}, 2, None),  # perhaps a parity of details
        ({"structure": 1.0, "rows_again": 500, "relabelled": 450}, 10, Strength.SUPPORTED),
        ({"structure": 1.0, "rows_again": 500, "relabelled": 150}, 10, None),  # noise in the labels
        ({"structure": 1.0, "rows_again": 10, "relabelled": 10}, 10, None),
    ],
)
def test_wide_rows_in_a_loop(
    tmp_path: Path, more: dict[str, float], classes: int, strength: Strength | None
) -> None:
    run = Run(tmp_path / "run")
    run.probe(ev.LoopSeen(by="torch_optimizer", where="train.py:30"))
    ids = {str(one): 1000 // classes for one in range(classes)}
    target = {**IDS, "class_count": classes, "classes": ids, "max": classes - 1.0, "distinct": classes}
    output = dense("linear", classes, "sparse_categorical_crossentropy", fit=None, by="call")
    run.probe(
        values("input", fit=None, **{**INPUTS, "columns": 64}), values("target", fit=None, **target), output
    )
    constant = math.log(classes)
    for step in range(1, 60):
        loss = constant + 0.001 * (step % 3)
        run.probe(ev.LossSeen(step=step * 15, logs={"loss": loss}, step_loss=loss))
    run.probe(
        ev.DependenceSeen(rows=1000, agreement=1 / classes, chance=1 / classes, of="classes", **more)  # type: ignore[arg-type]
    )
    run.samples(3, rss_bytes=1 << 20, phase="step", step=885)
    run.ended(0)
    found = [one.strength for one in run.verdict().findings if one.cause == "labels-unrelated"]
    assert found == ([strength] if strength is not None else [])


@pytest.mark.parametrize(
    ("agreement", "rows", "structure", "strength"),
    [
        (0.02, 1000, 0.9, Strength.SUPPORTED),
        (0.24, 1000, 0.9, None),  # which of two shapes lies on the left
        (0.02, 400, 0.9, Strength.SUPPORTED),
        (0.09, 400, 0.9, Strength.POSSIBLE),
        (0.02, 1000, 0.0, Strength.POSSIBLE),  # images of noise
        (0.02, 200, 0.9, None),
    ],
)
def test_of_images(
    tmp_path: Path, agreement: float, rows: int, structure: float, strength: Strength | None
) -> None:
    run = Run(tmp_path / "run")
    seen = ev.DependenceSeen(fit=1, rows=rows, agreement=agreement, of="images", structure=structure)
    inputs = {"columns": 3072, "shape": [32, 32, 3]}
    trained(run, dense("sigmoid"), IDS, FLAT, accuracy=[0.5] * 6, inputs=inputs, more=(seen,))
    found = [one for one in run.verdict().findings if one.cause == "labels-unrelated"]
    assert [one.strength for one in found] == ([strength] if strength is not None else [])
    if found:
        assert facts(found[0])["labels.of-images-left-out"] == {"agreement": agreement, "rows": rows}
        assert remedies(found[0]) == ["labels.check-files"]


@pytest.mark.parametrize(("agreement", "strength"), [(0.02, Strength.SUPPORTED), (0.4, None)])
def test_of_images_in_a_loop_without_epochs(
    tmp_path: Path, agreement: float, strength: Strength | None
) -> None:
    """Twenty losses of the first steps, then one a second: by its steps it stays where it is."""
    run = Run(tmp_path / "run")
    run.probe(ev.LoopSeen(by="torch_optimizer", where="train.py:30"))
    target = {
        **IDS,
        "class_count": 4,
        "classes": {str(one): 250 for one in range(4)},
        "max": 3.0,
        "distinct": 4,
    }
    inputs = {**INPUTS, "columns": 3136, "shape": [1, 56, 56]}
    run.probe(values("input", fit=None, **inputs), values("target", fit=None, **target))
    run.probe(dense("linear", 4, "sparse_categorical_crossentropy", fit=None, by="call", from_logits=True))
    for step in range(1, 21):
        loss = 1.42 + 1.2 / step
        run.probe(ev.LossSeen(step=step, logs={"loss": loss}, step_loss=loss))
    for step in range(80, 1010, 90):
        run.probe(ev.LossSeen(step=step, logs={"loss": 1.388}, step_loss=1.388))
    run.probe(ev.DependenceSeen(rows=1000, agreement=agreement, of="images", structure=0.9))
    run.samples(3, rss_bytes=1 << 20, phase="step", step=1000)
    run.ended(0)
    found = {one.cause: one.strength for one in run.verdict().findings}
    assert found == (
        {"labels-unrelated": strength} if strength is not None else {"loss-not-falling": Strength.SUPPORTED}
    )


def _pairs(run: Run, losses: list[float], *, paired: bool = True, classes: int = 64) -> None:
    """A contrastive loop: each row is to be found among the 64 of its batch."""
    each = {str(one): 50 for one in range(20)}
    run.probe(
        ev.LoopSeen(by="torch_optimizer", where="train.py:40"),
        ev.OutputSeen(
            by="call", output="train.py:38", loss="sparse_categorical_crossentropy", units=64, part=True,
            prediction_shape=[64, 64], target_shape=[64],
        ),
        ev.ValuesSeen(role="target", rows=3200, classes=each, class_count=classes, shape=[]),
    )  # fmt: skip
    if paired:
        run.probe(ev.PairedLoadersSeen(rows=2048, shared_generator=True, where="train.py:37"))
    for step, loss in enumerate(losses, 1):
        run.probe(ev.LossSeen(step=step, logs={"loss": loss}, step_loss=loss))
    run.samples(3, rss_bytes=1 << 20, phase="step", step=len(losses))
    run.ended(0)


_BY_CHANCE = [math.log(64) + 0.01 * (step % 3 - 1) for step in range(160)]


@pytest.mark.parametrize(
    ("losses", "more", "found"),
    [
        (_BY_CHANCE, {}, True),
        (
            [4.2 * 0.98**step for step in range(160)],
            {},
            False,
        ),  # it learns: two sets that need not belong together
        (_BY_CHANCE, {"paired": False}, False),
        (_BY_CHANCE[:40], {}, False),  # too early to say
        (_BY_CHANCE, {"classes": 30}, False),  # not the rows of the batch: its chance is not known
    ],
)
def test_two_loaders_with_an_order_each(
    tmp_path: Path, losses: list[float], more: dict[str, Any], found: bool
) -> None:
    run = Run(tmp_path / "run")
    _pairs(run, losses, **more)
    assert ("labels-unrelated" in run.blamed()) is found
    if found:
        assert run.first().title.kind == "labels-unrelated.pairs"


@pytest.mark.parametrize(
    ("losses", "validation", "agreement", "strength"),
    [
        ([0.0129, 0.0098, 0.0097, 0.0096, 0.0095, 0.0095], 0.0099, 0.04, Strength.SUPPORTED),
        (
            [0.0129, 0.0098, 0.0097, 0.0096, 0.0095, 0.0095],
            0.0099,
            0.6,
            None,
        ),  # a network that cannot read them
        (
            [0.0129, 0.0098, 0.0080, 0.0060, 0.0040, 0.0030],
            0.0099,
            0.04,
            None,
        ),  # learned, or learned by heart
        (
            [0.0129, 0.0098, 0.0097, 0.0096, 0.0095, 0.0095],
            0.0200,
            0.04,
            None,
        ),  # the validation became better
        ([0.0129, 0.0098], 0.0099, 0.04, None),
    ],
)
def test_keypoints_of_other_images(
    tmp_path: Path, losses: list[float], validation: float, agreement: float, strength: Strength | None
) -> None:
    """The loss falls in the first epoch to that of the mean, and stays there."""
    run = Run(tmp_path / "run")
    inputs = {"columns": 2304, "shape": [48, 48, 1]}
    seen = ev.DependenceSeen(fit=1, rows=1000, agreement=agreement, of="images", structure=0.8)
    run.probe(values("input", **{**INPUTS, **inputs}), values("target", **{**NUMBERS, "shape": [4]}))
    run.probe(dense("linear", 4, "huber", prediction_shape=[None, 4], target_shape=[None, 4]))
    run.fit(epochs=len(losses), data=ev.DatasetSeen(type="array", cardinality=100, where="train.py:20"))
    for number, loss in enumerate(losses):
        logs = {"loss": loss, "val_loss": validation if number == 0 else 0.0097}
        run.probe(ev.EpochDone(fit=1, epoch=number, steps=100, logs=logs, duration_s=10.0))
    steps = [100] * len(losses)
    done = {"epochs": len(steps), "epochs_done": len(steps), "steps_by_epoch": steps, "weights_changed": True}
    run.probe(ev.FitDone(fit=1, steps=sum(steps), **done), seen)  # type: ignore[arg-type]
    run.samples(3, rss_bytes=1 << 20, phase="between", step=sum(steps))
    run.ended(0)
    found = [one.strength for one in run.verdict().findings if one.cause == "labels-unrelated"]
    assert found == ([strength] if strength is not None else [])


def _by_heart(
    run: Run,
    validation: list[float],
    accuracy: list[float],
    agreement: float = 0.05,
    files: tuple[str, ...] = (),
) -> None:
    """A small network learns 480 images of three shapes by heart."""
    classes = {"rows": 480, "class_count": 3, "classes": {"0": 160, "1": 160, "2": 160}}
    target = {**IDS, **classes, "max": 2.0, "distinct": 3}
    inputs = {"columns": 784, "shape": [28, 28, 1]}
    output = dense("softmax", 3, "sparse_categorical_crossentropy", prediction_shape=[None, 3])
    run.probe(values("input", **{**INPUTS, **inputs}), values("target", **target), output)
    run.fit(
        epochs=6, data=ev.DatasetSeen(type="tf.data", cardinality=100, files=list(files), where="train.py:20")
    )
    for number, loss in enumerate([1.1, 1.08, 1.0, 0.8, 0.5, 0.2]):
        logs = {"loss": loss, "accuracy": 0.35 + number * 0.1}
        logs.update(val_loss=validation[number], val_accuracy=accuracy[number])
        run.probe(ev.EpochDone(fit=1, epoch=number, steps=100, logs=logs, duration_s=10.0))
    done = {"epochs": 6, "epochs_done": 6, "steps_by_epoch": [100] * 6, "weights_changed": True}
    seen = ev.DependenceSeen(fit=1, rows=480, agreement=agreement, of="images", structure=0.8)
    run.probe(ev.FitDone(fit=1, steps=600, **done), seen)  # type: ignore[arg-type]
    run.samples(3, rss_bytes=1 << 20, phase="between", step=600)
    run.ended(0)


_NEVER, _AT_CHANCE = [1.10, 1.09, 1.1, 1.2, 1.4, 1.9], [0.42, 0.33, 0.35, 0.31, 0.33, 0.35]
_AS_TEXT = (
    "t/item_0.png",
    "t/item_1.png",
    *(f"t/item_1{n}.png" for n in range(10)),
    "t/item_2.png",
    "t/item_20.png",
)


@pytest.mark.parametrize(
    ("validation", "accuracy", "more", "strength"),
    [
        (_NEVER, _AT_CHANCE, {"agreement": 0.01}, Strength.SUPPORTED),
        (_NEVER, _AT_CHANCE, {}, Strength.POSSIBLE),
        (_NEVER, _AT_CHANCE, {"files": _AS_TEXT}, Strength.SUPPORTED),
        (_NEVER, _AT_CHANCE, {"files": tuple(f"t/{n:03}.png" for n in range(20))}, Strength.POSSIBLE),
        (_NEVER, _AT_CHANCE, {"files": tuple(f"t/{n}.png" for n in range(20))}, Strength.POSSIBLE),
        (_NEVER, _AT_CHANCE, {"agreement": 0.4}, None),  # the validation has other labels, or other pixels
        ([1.1, 1.0, 0.9, 0.9, 1.1, 1.4], _AT_CHANCE, {"agreement": 0.01}, None),
        (_NEVER, [0.42, 0.5, 0.55, 0.56, 0.57, 0.57], {"agreement": 0.01}, None),  # it is too sure of itself
    ],
)
def test_of_images_that_are_learned_by_heart(
    tmp_path: Path,
    validation: list[float],
    accuracy: list[float],
    more: dict[str, Any],
    strength: Strength | None,
) -> None:
    run = Run(tmp_path / "run")
    _by_heart(run, validation, accuracy, **more)
    found = [one for one in run.verdict().findings if one.cause == "labels-unrelated"]
    assert [one.strength for one in found] == ([strength] if strength is not None else [])
    if more.get("files") == _AS_TEXT:
        named = facts(found[0])["files.sorted-as-text"]
        assert named == {"first": "item_19.png", "second": "item_2.png"}
        assert facts(found[0])["validation.by-chance"]["best"] == 1.09
