"""The look after a fit that learned nothing: when it is taken, what it finds, and that it leaves no trace."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.journal.events import LayersMeasured, ProbeFailed, TracesCounted, ValuesSeen, WeightsMoved
from holdfast.probe.learning import deep_look
from tests.probe.probed import SCRIPTS, run

_SCRIPT = "learns_nothing.py"


def _epochs(*losses: float, **more: float) -> list[dict[str, float]]:
    return [{"loss": loss, **more} for loss in losses]


@pytest.mark.parametrize(
    ("first", "epochs", "reason"),
    [
        (0.7, _epochs(0.693, 0.693, 0.692), "flat"),
        (0.7, _epochs(0.5, 0.3, 0.1), ""),
        (9.0, _epochs(2.0, 0.694, 0.693, 0.693), "trivial"),  # it fell to a plateau
        (9.0, _epochs(0.693, accuracy=0.5), "trivial"),
        (0.7, _epochs(0.693, 0.692, accuracy=0.97), ""),
        (None, _epochs(1e-5, 1e-5), ""),
        (0.7, _epochs(0.7, float("nan")), ""),
        (0.7, [], ""),
    ],
)
def test_what_is_suspicious(first: float | None, epochs: list[dict[str, float]], reason: str) -> None:
    assert deep_look.suspicion(first, epochs) == reason


@pytest.mark.hot
@pytest.mark.long(90)
@pytest.mark.parametrize(
    "backend",
    ["tensorflow", *(pytest.param(one, marks=pytest.mark.proof) for one in ("torch", "jax", "tf_keras"))],
)
def test_everything_is_the_same_bits_with_the_look_and_without(backend: str, tmp_path: Path) -> None:
    if backend == "torch":
        pytest.importorskip("torch")
    more = {"KERAS_BACKEND": backend} if backend != "tf_keras" else {}
    extra = [backend] if backend == "tf_keras" else []
    alone = run(SCRIPTS / _SCRIPT, tmp_path / "a.npy", *extra, folder=tmp_path, probe=False, **more)
    watched = run(SCRIPTS / _SCRIPT, tmp_path / "b.npy", *extra, folder=tmp_path / "run", **more)
    assert (alone.code, watched.code) == (0, 0), watched.output
    assert (tmp_path / "a.npy").read_bytes() == (tmp_path / "b.npy").read_bytes()
    assert _without_noise(alone.output) == _without_noise(watched.output)
    assert watched.all(ProbeFailed) == []
    looks = watched.all(LayersMeasured)
    assert [(look.fit, look.reason, look.rows, look.left_out) for look in looks] == [
        (1, "flat", 64, ""),
        (2, "flat", 64, ""),
    ]
    assert looks[0].activations[0]["zero"] == 1.0
    assert [one["norm"] for one in looks[0].gradients if one["layer"].endswith("dense")][:2] == [0.0, 0.0]
    assert looks[0].loss is not None and looks[0].penalty is not None and 0 < looks[0].penalty < looks[0].loss
    assert [one.rows_differ for one in watched.all(ValuesSeen) if one.role == "prediction"] == [False, False]


@pytest.mark.hot
@pytest.mark.long(60)
def test_it_is_switched_off_with_one_variable(tmp_path: Path) -> None:
    watched = run(SCRIPTS / _SCRIPT, tmp_path / "a.npy", folder=tmp_path / "run", HOLDFAST_DEEP_LOOK="0")
    assert watched.code == 0
    assert watched.all(LayersMeasured) == []
    moved = watched.all(WeightsMoved)
    assert {(one.fit, one.since) for one in moved} == {(1, "start"), (1, "step"), (2, "start"), (2, "step")}
    first = moved[-1].variables[0]
    assert (first["name"], first["layer"], first["change"]) == ("kernel", "dense", 0.0)
    assert len(watched.all(TracesCounted)) <= 4  # two functions of each fit


def _without_noise(output: str) -> list[str]:
    return [line for line in output.splitlines() if line.startswith(("dense", "sequential"))]
