"""An experiment: what is corrected, how its result is judged, and what it says where it cannot be made."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from holdfast.cli import experiments
from holdfast.cli.main import main
from holdfast.explain import Finding, Strength, Title, explain
from holdfast.explain.experiment import model_config, model_corrections
from holdfast.explain.experiment.model_config import NoCorrection
from holdfast.explain.experiment.model_corrections import CORRECTIONS, Suspected, corrected
from holdfast.journal import events as ev
from holdfast.subprocess_json import Reply
from tests.explain.learning_runs import FALLING, FLAT, IDS, NUMBERS, dense, trained
from tests.explain.made import Run, facts, sentence

_RELU: dict[str, Any] = {"output": dense("relu", loss="mean_squared_error"), "target": NUMBERS}


def _layer(kind: str, name: str, **config: Any) -> dict[str, Any]:
    return {
        "module": "keras.layers",
        "class_name": kind,
        "config": {"name": name, **config},
        "registered_name": None,
    }


def _setup(*layers: dict[str, Any], loss: str = "binary_crossentropy", **more: Any) -> dict[str, Any]:
    known = {
        "fit": 1, "backend": "tensorflow", "model": {"class_name": "Sequential", "config": {"layers": list(layers)}},
        "loss": loss, "loss_name": loss, "from_logits": False, "batch_size": 32, "rows": 256, "inputs": None,
        "optimizer": {"module": "keras.optimizers", "class_name": "Adam", "config": {"learning_rate": 0.001}},
        "targets": {"shape": [], "low": 0.0, "high": 1.0},
    }  # fmt: skip
    return {**known, **more}


def _two(activation: str = "softmax", units: int = 1, hidden: str = "relu") -> tuple[dict[str, Any], ...]:
    return _layer("Dense", "a", units=8, activation=hidden), _layer(
        "Dense", "b", units=units, activation=activation
    )


def _suspected(cause: str, setup: dict[str, Any], task: str = "classes", **values: Any) -> Suspected:
    return Suspected(Finding(Strength.SUPPORTED, Title(cause, values), cause=cause), setup, None, task)


def _last(setup: dict[str, Any]) -> dict[str, Any]:
    config: dict[str, Any] = setup["model"]["config"]["layers"][-1]["config"]
    return config


# -- corrections ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("units", "high", "task", "expected"),
    [
        (1, 1.0, "classes", ("sigmoid", 1, "binary_crossentropy")),
        (1, 4.0, "classes", ("softmax", 5, "sparse_categorical_crossentropy")),
        (10, 4.0, "classes", ("softmax", 10, "sparse_categorical_crossentropy")),
        (1, 9.5, "numbers", ("linear", 1, "mean_squared_error")),
        (4, 1.0, "labels", ("sigmoid", 4, "binary_crossentropy")),
    ],
)
def test_the_output_follows_from_the_labels(units: int, high: float, task: str, expected: Any) -> None:
    setup = _setup(*_two(units=units), targets={"shape": [], "low": 0.0, "high": high})
    made = corrected(_suspected("output-units-mismatch", setup, task))[0].setup
    assert (_last(made)["activation"], _last(made)["units"], made["loss"]) == expected
    assert _last(setup)["activation"] == "softmax"  # what was recorded stays as it was


def test_an_activation_of_its_own_is_replaced() -> None:
    layers = [*_two("relu", 3), _layer("Softmax", "c", axis=-1)]
    changed = model_config.with_output(_setup(*layers)["model"], "softmax", 3)["config"]["layers"]
    assert [(one["class_name"], one["config"]["activation"]) for one in changed[1:]] == [
        ("Dense", "softmax"),
        ("Activation", "linear"),
    ]


def test_the_output_of_a_graph_is_found_by_its_name() -> None:
    model = {
        "class_name": "Functional",
        "config": {"layers": [*reversed(_two())], "output_layers": [["b", 0, 0]]},
    }
    changed = model_config.with_output(model, "sigmoid", 1)["config"]["layers"]
    assert [one["config"]["activation"] for one in changed] == ["sigmoid", "relu"]


@pytest.mark.parametrize(
    ("cause", "setup", "change", "check"),
    [
        ("learning-rate-too-low", _setup(*_two()), "learning-rate",
         lambda made: made["optimizer"]["config"]["learning_rate"] == pytest.approx(0.03)),
        ("learning-rate-too-high", _setup(*_two()), "learning-rate",
         lambda made: made["optimizer"]["config"]["learning_rate"] == pytest.approx(0.001 / 30, rel=0.01)),
        ("no-hidden-activation", _setup(*_two("sigmoid", 1, "linear")), "relu",
         lambda made: made["model"]["config"]["layers"][0]["config"]["activation"] == "relu"),
        ("vanishing-gradients", _setup(*_two("sigmoid", 1, "sigmoid")), "relu",
         lambda made: [one["config"]["activation"] for one in made["model"]["config"]["layers"]] ==
         ["relu", "sigmoid"]),
        ("dropout-too-strong", _setup(_layer("Dropout", "d", rate=0.95), *_two()), "dropout",
         lambda made: made["model"]["config"]["layers"][0]["config"]["rate"] == 0.2),
        ("regularisation-too-strong", _setup(_layer("Dense", "a", kernel_regularizer={"class_name": "L2"})),
         "no-penalty",
         lambda made: _last(made)["kernel_regularizer"] is None),
        ("constant-initialisation", _setup(_layer("Dense", "a", kernel_initializer={"class_name": "Zeros"})),
         "initializers", lambda made: _last(made)["kernel_initializer"]["class_name"] == "GlorotUniform"),
        ("input-scale-mismatch", _setup(*_two()), "scaled-inputs", lambda made: made["scale_inputs"]),
    ],
)  # fmt: skip
def test_each_cause_has_its_correction(cause: str, setup: dict[str, Any], change: str, check: Any) -> None:
    made = corrected(_suspected(cause, setup))[0]
    assert made.change == change
    assert check(made.setup)


def test_where_nothing_fits_it_says_so() -> None:
    with pytest.raises(NoCorrection, match="no layer drops"):
        corrected(_suspected("dropout-too-strong", _setup(*_two())))
    scheduled = {"class_name": "Adam", "config": {"learning_rate": {"class_name": "CosineDecay"}}}
    with pytest.raises(NoCorrection, match="schedule"):
        corrected(_suspected("learning-rate-too-low", _setup(*_two(), optimizer=scheduled)))


@pytest.mark.parametrize(
    ("content", "outside"),
    [
        (_setup(*_two()), ""),
        ({"module": "keras.src.backend.torch.optimizers.torch_adam", "class_name": "Adam", "config": {}}, ""),
        (_layer("Lambda", "a"), "keras.layers.Lambda"),
        ([{"module": "os", "class_name": "system", "config": {}}], "os.system"),
        ({"a": {"module": "builtins", "class_name": "function", "config": "eval"}}, "builtins.function"),
        ({"module": "keras.utils", "class_name": "get_file", "config": {}}, "keras.utils.get_file"),
        ({**_layer("Dense", "a"), "registered_name": "my>Dense"}, "keras.layers.Dense"),
    ],
)
def test_a_configuration_names_only_parts_of_keras(content: Any, outside: str) -> None:
    assert model_config.named_outside(content) == outside


# -- the judgement ----------------------------------------------------------------------------------------


def _made(path: Path, was: dict[str, Any], then: dict[str, Any], losses: list[float], **more: Any) -> Finding:
    """The finding about a ReLU for numbers below 0, after an experiment with these numbers."""
    run = Run(path / "run")
    trained(run, _RELU["output"], _RELU["target"], losses, more=(ev.ExperimentKept(fit=1, rows=256),))
    change = {
        "change": "output",
        "values": {"units": 1, "activation": "linear", "loss": "mean_squared_error"},
    }
    rows = [{"change": "", "values": {}, "steps": 300, **was}, {**change, "steps": 300, **then}]
    result = {"cause": "output-range-mismatch", "fit": 1, "rows": 256, "tried": rows, **more}
    (run.path / "experiment").mkdir()
    (run.path / "experiment" / "result.json").write_text(json.dumps(result))
    return next(one for one in explain(run.path).findings if one.cause == "output-range-mismatch")


@pytest.mark.parametrize(
    ("was", "then", "kind", "strength"),
    [
        ({"unexplained": 1.02}, {"unexplained": 0.1}, "experiment.learns", Strength.ESTABLISHED),
        ({"broken": True}, {"unexplained": 0.1}, "experiment.learns", Strength.ESTABLISHED),
        ({"unexplained": 0.5}, {"unexplained": 0.1}, "experiment.learns-better", Strength.SUPPORTED),
        ({"unexplained": 0.15}, {"unexplained": 0.1}, "experiment.learns-as-it-was", Strength.SUPPORTED),
        ({"unexplained": 1.1}, {"unexplained": 0.99}, "experiment.neither-learns", Strength.SUPPORTED),
        ({"unexplained": 1.1}, {"error": "ValueError: no"}, "experiment.neither-learns", Strength.SUPPORTED),
        ({"unexplained": 1.1}, {"unexplained": 0.9}, "experiment.open", Strength.SUPPORTED),
    ],
)
def test_only_a_clear_difference_establishes(
    tmp_path: Path, was: dict[str, Any], then: dict[str, Any], kind: str, strength: Strength
) -> None:
    finding = _made(tmp_path, was, then, [1.0] * 6)
    said = {
        fact.kind: fact for fact in (*finding.because, *finding.against) if fact.kind.startswith("experiment")
    }
    assert list(said) == [kind]
    assert finding.strength == strength
    assert sentence(said[kind]).startswith("trained again on 256 recorded rows for 300 steps")
    assert (kind in facts(finding)) == (kind in ("experiment.learns", "experiment.learns-better"))


def test_a_run_that_learned_is_not_blamed_by_an_experiment(tmp_path: Path) -> None:
    finding = _made(tmp_path, {"unexplained": 1.1}, {"unexplained": 0.1}, [1.0, 0.4, 0.1])
    assert finding.strength == Strength.POSSIBLE


def test_an_accuracy_is_judged_against_the_largest_class(tmp_path: Path) -> None:
    finding = _made(tmp_path, {"accuracy": 0.6}, {"accuracy": 0.97}, [1.0] * 6, majority=0.6)
    text = sentence(finding.because[-1])
    assert (
        "the model learns (accuracy 97 %); as it was, it does not (accuracy 60 %; the largest class is 60 %)"
        in text
    )


def test_a_result_about_something_else_or_a_broken_one_changes_nothing(tmp_path: Path) -> None:
    for number, other in enumerate(({"cause": "dead-units"}, {"fit": 2})):
        folder = tmp_path / str(number)
        finding = _made(folder, {"unexplained": 1.1}, {"unexplained": 0.1}, [1.0] * 6, **other)
        assert finding.strength == Strength.SUPPORTED
    _made(tmp_path, {"unexplained": 1.1}, {"unexplained": 0.1}, [1.0] * 6)
    path = tmp_path / "run" / "experiment" / "result.json"
    for broken in ("{", "[]", '{"cause": "output-range-mismatch", "tried": 3}'):
        path.write_text(broken)
        assert explain(tmp_path / "run").findings[0].strength == Strength.SUPPORTED


# -- where it is offered, and where it cannot be made -----------------------------------------------------


def _kept(path: Path, **kept: Any) -> Run:
    run = Run(path / "run")
    trained(
        run,
        _RELU["output"],
        _RELU["target"],
        [1.0] * 6,
        more=(ev.ExperimentKept(**{"fit": 1, "rows": 256, **kept}),),
    )
    return run


def test_it_is_offered_once_where_a_model_was_kept(tmp_path: Path) -> None:
    known = explain(_kept(tmp_path).path).known
    assert next(fact.kind for fact in known) == "experiment.offered"
    assert f"`holdfast explain {tmp_path / 'run'} --experiment`" in sentence(known[0])
    none = explain(_kept(tmp_path / "none", left_out="a Lambda layer cannot be stored").path).known
    other = explain(_kept(tmp_path / "other", fit=7).path).known
    assert "experiment.offered" not in [fact.kind for fact in (*none, *other)]


def _error(capsys: pytest.CaptureFixture[str], path: Path) -> str:
    assert main(["explain", str(path), "--experiment"]) == 2
    return " ".join(capsys.readouterr().err.split())


def test_it_says_why_it_cannot_be_made(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    refused = _kept(tmp_path / "a", left_out="8,000,000 parameters are too many for it")
    assert "8,000,000 parameters are too many" in _error(capsys, refused.path)
    assert "the recorded model cannot be read" in _error(capsys, _kept(tmp_path / "b").path)
    assert "the model of the last fit was not recorded" in _error(capsys, _kept(tmp_path / "c", fit=7).path)
    log = tmp_path / "train.log"
    log.write_text("loss 3\n")
    assert "a log holds no model" in _error(capsys, log)
    without = Run(tmp_path / "d")
    trained(without, dense("sigmoid"), IDS, FALLING)
    assert "a model is recorded when a `fit`" in _error(capsys, without.path)


def test_a_model_that_names_foreign_code_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = _kept(tmp_path)
    (run.path / "experiment").mkdir()
    content = _setup(_layer("Lambda", "a"))
    (run.path / "experiment" / "model.json").write_text(json.dumps(content))
    assert "keras.layers.Lambda" in _error(capsys, run.path)


def test_nothing_to_correct_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = Run(tmp_path / "run")
    trained(run, dense("sigmoid"), IDS, FLAT, more=(ev.ExperimentKept(fit=1, rows=256),))
    (run.path / "experiment").mkdir()
    (run.path / "experiment" / "model.json").write_text(json.dumps(_setup(*_two("sigmoid"))))
    assert "nothing was found that an experiment could correct" in _error(capsys, run.path)


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (Reply({"missing": "No module named 'keras'"}, 0, b"", False), "cannot import Keras any more"),
        (Reply(None, -9, b"", True), "did not end within 240 s"),
        (Reply(None, 1, b"x\nMemoryError\n", False), "ended without an answer: exit code 1"),
    ],
)
def test_an_experiment_without_an_answer(reply: Reply, words: str) -> None:
    with pytest.raises(experiments.ExperimentFailed, match=words):
        experiments._answer(reply, "python")


def test_only_an_interpreter_outside_of_the_folder_is_started(tmp_path: Path) -> None:
    from holdfast.explain.gather import gather

    inside = tmp_path / "run" / "python3"
    for number, (executable, used) in enumerate(
        [
            (sys.executable, sys.executable),
            ("/nowhere/bin/python3", sys.executable),
            ("/bin/sh", sys.executable),
        ]
    ):
        run = Run(tmp_path / str(number))
        run.probe(ev.ProcessJoined(executable=executable), ev.ExperimentKept(fit=1, rows=8))
        assert experiments.python_of(gather(run.path, now=0.0)) == used
    run = Run(tmp_path / "run")
    inside.write_text("#!/bin/sh\n")
    inside.chmod(0o755)
    run.probe(ev.ProcessJoined(executable=str(inside)), ev.ExperimentKept(fit=1, rows=8))
    assert experiments.python_of(gather(run.path, now=0.0)) == sys.executable


def test_the_task_follows_from_labels_and_loss(tmp_path: Path) -> None:
    from holdfast.explain.gather import gather
    from holdfast.explain.readings.compared import compared

    run = Run(tmp_path / "run")
    trained(run, dense("softmax", loss="mean_squared_error"), IDS, FLAT)
    seen = compared(gather(run.path, now=0.0))
    finding = Finding(Strength.SUPPORTED, Title("loss-task-mismatch.ids"), cause="loss-task-mismatch")
    assert model_corrections.task_of(finding, {"loss_name": "mean_squared_error"}, seen) == "classes"
    assert model_corrections.task_of(finding, {"loss_name": "mean_squared_error"}, None) == "numbers"


def test_every_cause_with_a_correction_exists() -> None:
    from holdfast.explain.causes import BY_SLUG

    assert set(CORRECTIONS) <= set(BY_SLUG)
