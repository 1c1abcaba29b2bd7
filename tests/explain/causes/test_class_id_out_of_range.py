"""Class ids beyond the model's outputs: raised by TensorFlow and torch, NaN on a GPU, silent on JAX."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from holdfast.explain import Strength
from holdfast.journal import events as ev
from tests.explain.broken_numbers import broke
from tests.explain.learning_runs import dense, trained, values
from tests.explain.made import Run, facts, remedies

_SPEC = [[[None, 20], "float32"], [[None], "int64"]]


def example(run: Run) -> None:
    run.raised(
        "InvalidArgumentError",
        "Graph execution error:\n\nReceived a label value of 3 which is outside the valid range of [0, 3).  "
        "Label values: 0 3 1",
    )


def near_miss(run: Run) -> None:
    run.raised("ValueError", "labels must be between 0 and 2")


@pytest.mark.parametrize(
    ("kind", "message", "values"),
    [
        ("InvalidArgumentError", "Received a label value of 3 which is outside the valid range of [0, 3).",
         {"class_id": 3, "classes": 3}),
        ("IndexError", "Target 3 is out of bounds.", {"class_id": 3, "classes": None}),
        ("RuntimeError", "Assertion `t >= 0 && t < n_classes` failed.", {"class_id": None, "classes": None}),
    ],
)  # fmt: skip
def test_what_the_error_names(tmp_path: Path, kind: str, message: str, values: dict[str, object]) -> None:
    run = Run(tmp_path / "run")
    run.raised(kind, message)
    first = run.first()
    assert (first.cause, first.title.values) == ("class-id-out-of-range", values)
    assert remedies(first) == ["class-ids.map", "class-ids.check"]
    off_by_one = values["class_id"] == values["classes"] == 3
    assert first.remedies[0].values == {"last": 2 if off_by_one else None, "off_by_one": off_by_one}


def _trained(path: Path, *, loss: str, spec: list[object], backend: str, nan: bool = False) -> Run:
    run = Run(path)
    run.probe(ev.FrameworkSeen(name="keras", backend=backend))
    run.probe(ev.ModelSeen(output_shape=[None, 10], loss=loss, trainable_parameters=5, trainable_variables=2))
    statistics = {"y": {"min": 1.0, "max": 10.0, "finite": True, "whole": True}}
    run.fit(data=ev.DatasetSeen(type="array", element_spec=spec, statistics=statistics, cardinality=100))
    if nan:
        run.probe(broke())
    run.epochs([100, 100, 100])
    run.ended(0)
    return run


@pytest.mark.parametrize(
    ("loss", "spec", "found"),
    [
        ("sparse_categorical_crossentropy", _SPEC, True),
        ("sparse_categorical_crossentropy (ignore_class=10)", _SPEC, False),
        ("sparse_categorical_crossentropy", [*_SPEC, [[None], "f"]], False),  # sample weights
    ],
)
def test_class_ids_that_jax_ignores(tmp_path: Path, loss: str, spec: list[object], found: bool) -> None:
    run = _trained(tmp_path / "run", loss=loss, spec=spec, backend="jax")
    assert run.slugs() == (["class-id-out-of-range"] if found else [])
    if found:
        assert run.first().title.values == {"class_id": 10, "classes": 10}
        assert "class-id.ignored-by-jax" in facts(run.first())


def test_class_ids_that_give_nan_on_a_gpu(tmp_path: Path) -> None:
    loss = "sparse_categorical_crossentropy"
    run = _trained(tmp_path / "run", loss=loss, spec=_SPEC, backend="tensorflow", nan=True)
    first = run.first()
    assert (first.cause, first.strength, first.led_to) == (
        "class-id-out-of-range", Strength.ESTABLISHED, "loss-not-finite",
    )  # fmt: skip
    assert facts(first)["targets.range"] == {"low": 1.0, "high": 10.0}
    assert facts(first)["model.output-shape"] == {"shape": [None, 10]}


def _binary(path: Path, *, top: float, losses: list[float]) -> Run:
    run = Run(path)
    values = {"x": {"min": -3.0, "max": 3.0, "finite": True}, "y": {"min": 0.0, "max": top, "finite": True}}
    run.fit(data=ev.DatasetSeen(type="array", cardinality=100, statistics=values))
    run.probe(ev.ModelSeen(parameters=300, trainable_parameters=300, loss="binary_crossentropy"))
    run.probe(*(ev.LossSeen(step=100 * at + 1, logs={"loss": loss}) for at, loss in enumerate(losses)))
    run.epochs([100] * 3, losses)
    run.ended(0)
    return run


def test_class_ids_given_to_a_binary_loss_make_it_negative(tmp_path: Path) -> None:
    first = _binary(tmp_path / "a", top=9.0, losses=[0.05, -1.1, -68.5]).first()
    assert (first.title.kind, first.strength) == ("class-id-out-of-range.binary-loss", Strength.ESTABLISHED)
    assert facts(first)["loss.negative"] == {"loss": -1.1, "step": 101}
    assert facts(first)["targets.range"] == {"low": 0.0, "high": 9.0}
    assert _binary(tmp_path / "b", top=1.0, losses=[0.6, 0.4, 0.3]).slugs() == []
    assert _binary(tmp_path / "c", top=9.0, losses=[0.6, 0.4, 0.3]).slugs() == []


@pytest.mark.parametrize(
    ("message", "code", "values"),
    [
        ("indices[7,10] = 500 is not in [0, 500) [Op:ResourceGather]", "v = tf.gather(table, ids)",
         {"index": 500, "size": 500}),
        ("index out of range in self", "return torch.embedding(weight, ids)", {"index": None, "size": None}),
        ("index 10 is out of bounds for axis 1 with size 10", "y = np.eye(10)[labels]", {"index": 10, "size": 10}),
    ],
)  # fmt: skip
def test_an_id_beyond_a_table(tmp_path: Path, message: str, code: str, values: dict[str, object]) -> None:
    run = Run(tmp_path / "run")
    run.probe(
        ev.AtHandSeen(arrays=[{"name": "ids", "dtype": "int64", "shape": [16, 12], "min": 1, "max": 500}])
    )
    run.raised("IndexError", message, user_code=code)
    assert (run.first().title.kind, run.first().title.values) == ("class-id-out-of-range.lookup", values)
    assert ("array.reaches" in facts(run.first())) is (values["size"] is not None)


def test_an_index_beyond_a_list_of_the_scripts_own_is_no_class(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.raised(
        "IndexError", "index 10 is out of bounds for axis 0 with size 10", user_code="best = losses[10]"
    )
    assert run.first().cause == "script-error"


@pytest.mark.parametrize(
    ("low", "high", "how", "breaks_at", "strength"),
    [
        (1, 5, "fill", 1, Strength.ESTABLISHED),
        (0, 7, "fill", 1, Strength.ESTABLISHED),
        (0, 7, "fill", 40, Strength.SUPPORTED),  # NaN in a gradient that a mask hid at first
        (1, 5, "one-hot", None, Strength.SUPPORTED),  # counted from one
        (1, 5, "clip", None, Strength.SUPPORTED),
        (0, 255, "one-hot", None, None),  # to be ignored
        (0, 5, "one-hot", None, None),  # one more id, for padding
        (0, 7, "clip", 1, None),  # the last one is taken: no NaN comes of it
    ],
)
def test_indices_of_a_jitted_step(
    tmp_path: Path, low: int, high: int, how: str, breaks_at: int | None, strength: Strength | None
) -> None:
    run = Run(tmp_path / "run")
    run.probe(ev.LoopSeen(by="jax", where="train.py:20"))
    run.probe(ev.IndexOutOfRange(step=1, low=low, high=high, size=5, how=how, where="train.py:20"))
    if breaks_at is not None:
        run.probe(broke(step=breaks_at, weights_finite_before=None))
    run.ended(0)
    found = [one.strength for one in run.verdict().findings if one.cause == "class-id-out-of-range"]
    assert found == ([strength] if strength is not None else [])
    assert strength is None or run.first().cause == "class-id-out-of-range"


@pytest.mark.parametrize(
    ("beyond", "label", "found"),
    [
        (3, True, [Strength.SUPPORTED]),
        (1, True, []),  # one mark for what is to be ignored
        (3, False, []),  # a feature, whose rare values are a row of zeros on purpose
    ],
)
def test_several_labels_that_jax_counts_as_nothing(
    tmp_path: Path, beyond: int, label: bool, found: list[Strength]
) -> None:
    run = Run(tmp_path / "run")
    run.probe(ev.LoopSeen(by="jax", where="train.py:20"))
    seen = ev.IndexOutOfRange(step=1, low=0, high=9, size=5, how="one-hot", beyond=beyond, label=label)
    run.probe(seen.changed(where="train.py:20"))
    run.ended(0)
    assert [one.strength for one in run.verdict().findings if one.cause == "class-id-out-of-range"] == found


_CODES = {"10": 300, "20": 200, "95": 250, "100": 250}


@pytest.mark.parametrize(
    ("target", "backend", "more", "found"),
    [
        ({"classes": _CODES, "min": 10.0, "max": 100.0, "distinct": 4}, "jax", (), Strength.ESTABLISHED),
        ({"classes": _CODES, "min": 10.0, "max": 100.0, "distinct": 4}, "torch", (), None),
        ({"classes": _CODES, "min": 10.0, "max": 100.0, "distinct": 4}, "jax", (values("weight"),), None),
        ({"classes": {"1": 500, "11": 500}, "min": 1.0, "max": 11.0, "distinct": 11}, "jax", (), Strength.SUPPORTED),
        # a map of which no classes are listed: 30 different ids do not fit among 11
        ({"shape": [8, 8], "min": 0.0, "max": 255.0, "distinct": 30}, "jax", (), Strength.SUPPORTED),
        ({"shape": [8, 8], "min": 0.0, "max": 255.0, "distinct": 12}, "jax", (), None),  # 255: to be ignored
        ({"classes": {"0": 500, "11": 500}, "min": 0.0, "max": 11.0, "distinct": 2}, "jax", (), None),
        ({"classes": {"0": 500, "10": 500}, "min": 0.0, "max": 10.0, "distinct": 2}, "jax", (), None),
    ],
)  # fmt: skip
def test_labels_of_any_data_that_a_compiled_loss_counts_as_nothing(
    tmp_path: Path, target: dict[str, Any], backend: str, more: tuple[ev.Event, ...], found: Strength | None
) -> None:
    run = Run(tmp_path / "run")
    run.probe(ev.FrameworkSeen(name="keras", backend=backend))
    output = dense("softmax", 11, "sparse_categorical_crossentropy")
    labels = {"whole_numbers": True, "shape": [], **target}
    trained(run, output, labels, [0.1, 0.01, 0.001], more=more)
    assert [one.strength for one in run.verdict().findings if one.cause == "class-id-out-of-range"] == (
        [found] if found is not None else []
    )
