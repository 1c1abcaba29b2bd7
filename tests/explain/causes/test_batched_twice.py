"""A dataset that is batched twice, and models that take batches of batches."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.explain import Strength
from holdfast.journal import events as ev
from tests.explain.made import Run, facts, pipeline


def example(run: Run) -> None:
    run.fit(
        data=pipeline(
            {"op": "batch", "batch_size": 8, "where": "data.py:5"},
            {"op": "batch", "batch_size": 8, "where": "train.py:9"},
            element_spec=[[[None, None, 64, 64, 3], "float32"]],
        )
    )
    run.probe(ev.ModelSeen(input_shape=[None, 64, 64, 3], parameters=10, trainable_parameters=10))
    run.raised(
        "ValueError",
        'Input 0 of layer "conv2d" is incompatible with the layer: expected ndim=4, found ndim=5',
    )


def near_miss(run: Run) -> None:
    """Batches of sequences, for a model that takes them."""
    run.fit(
        data=pipeline(
            {"op": "batch", "batch_size": 8},
            {"op": "batch", "batch_size": 8},
            element_spec=[[[None, None, 64, 64, 3], "float32"]],
        )
    )
    run.probe(ev.ModelSeen(input_shape=[None, None, 64, 64, 3], parameters=10, trainable_parameters=10))
    run.epochs([100, 100, 100])
    run.ended(0)


def _twice(run: Run, *between: str) -> None:
    nodes = [
        {"op": "batch", "batch_size": 8},
        *({"op": op} for op in between),
        {"op": "batch", "batch_size": 4},
    ]
    run.fit(data=pipeline(*nodes))
    run.raised("ValueError", "expected ndim=4, found ndim=5")


def test_the_ranks_decide(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    example(run)
    first = run.first()
    assert first.strength == Strength.ESTABLISHED
    assert first.title.values == {"sizes": [8, 8]}
    assert facts(first)["pipeline.batches"] == {"sizes": [8, 8], "where": ["data.py:5", "train.py:9"]}
    assert facts(first)["pipeline.rank"] == {"rank": 5, "model_rank": 4}
    assert first.remedies[0].values == {"size": 8}


def test_an_error_supports_it_where_no_rank_is_known(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    _twice(run)
    assert (run.first().cause, run.first().strength) == ("batched-twice", Strength.SUPPORTED)
    assert facts(run.first())["error.quoted"]["text"] == "ValueError: expected ndim=4, found ndim=5"


@pytest.mark.parametrize("op", ["unbatch", "window", "zip"])
def test_what_regroups_elements_may_batch_again(tmp_path: Path, op: str) -> None:
    run = Run(tmp_path / "run")
    _twice(run, op)
    assert "batched-twice" not in run.slugs()


@pytest.mark.parametrize(("validation", "found"), [(2, True), (3, False)])
def test_a_model_that_takes_any_rank_by_the_rank_of_validation(
    tmp_path: Path, validation: int, found: bool
) -> None:
    run = Run(tmp_path / "run")
    twice = [{"op": "batch", "batch_size": 64}, {"op": "batch", "batch_size": 64}]
    run.fit(data=pipeline(*twice, element_spec=[[[64, 64, 10], "float32"]]))
    run.probe(ev.ModelSeen(input_shape=[64, 64, 10], parameters=10, trainable_parameters=10))
    spec = [[[64] * (validation - 1) + [10], "float32"]]
    run.probe(ev.DatasetSeen(role="validation", nodes=twice[:1], element_spec=spec))
    run.raised("ValueError", "Expected shape (64, 64, 10), but input has incompatible shape (64, 10)")
    assert (run.first().cause == "batched-twice") is found
    if found:
        assert facts(run.first())["pipeline.rank-of-validation"] == {"rank": 3, "validation_rank": 2}
