"""Real scripts, with and without the probe: the weights are the same bits, and the journal has the right values."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from holdfast.journal.beats import Phase
from holdfast.journal.events import (
    BadFilesFound,
    BatchSeen,
    DatasetSeen,
    EpochDone,
    ExceptionRaised,
    ExitStarted,
    FitDone,
    FitStarted,
    FrameworkSeen,
    LoopSeen,
    LossSeen,
    ModelSeen,
    NonFiniteSeen,
    PassDone,
    PredictDone,
    ProbeFailed,
    ProcessJoined,
    Restored,
    SaveDone,
    SaveFailed,
    SeedSet,
    StopRequested,
    TracesCounted,
    ValidationDone,
    WarningSeen,
)

from .probed import SCRIPTS, Run, line, run

pytestmark = [pytest.mark.hot, pytest.mark.long(60)]


@pytest.fixture(scope="module")
def probed(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Run]:
    """Runs a script of `scripts/` once with the probe; its first argument is a file for its weights."""
    runs: dict[str, Run] = {}

    def get(name: str) -> Run:
        if name not in runs:
            folder = tmp_path_factory.mktemp(name.removesuffix(".py"))
            runs[name] = run(SCRIPTS / name, folder / "with.npy", folder=folder / "run", cwd=SCRIPTS)
        return runs[name]

    return get


@pytest.mark.parametrize(
    "name", ["fit_tensorflow.py", "loop_tensorflow.py", "loop_session.py", "jax_both.py", "fit_tf_keras.py"]
)
def test_weights_are_the_same_bits_with_the_probe_and_without(
    name: str, probed: Callable[[str], Run], tmp_path: Path
) -> None:
    watched = probed(name)
    alone = run(SCRIPTS / name, tmp_path / "without.npy", folder=tmp_path, probe=False, cwd=SCRIPTS)
    assert alone.code == watched.code
    with_probe = (watched.folder.parent / "with.npy").read_bytes()
    assert with_probe == (tmp_path / "without.npy").read_bytes()
    assert len(with_probe) > 300
    assert watched.all(ProbeFailed) == []


def test_output_is_the_same_with_the_probe_and_without(probed: Callable[[str], Run], tmp_path: Path) -> None:
    watched = probed("fit_tensorflow.py")
    alone = run(
        SCRIPTS / "fit_tensorflow.py", tmp_path / "without.npy", folder=tmp_path, probe=False, cwd=SCRIPTS
    )
    assert _traceback(watched.output) == _traceback(alone.output)
    assert "ValueError: the fourth batch" in _traceback(alone.output)


def test_fit_on_tensorflow_is_told_in_full(probed: Callable[[str], Run]) -> None:
    told = probed("fit_tensorflow.py")
    assert told.one(ProcessJoined).role == "main"
    assert {event.name for event in told.all(FrameworkSeen)} >= {"keras", "tensorflow"}
    devices = [(event.devices, event.device_kinds) for event in told.all(FrameworkSeen) if event.devices]
    assert devices == [(["CPU:0"], ["cpu"])]
    assert told.all(SeedSet)[0] == SeedSet(
        by="set_random_seed", seed=7, where=line("fit_tensorflow.py", "set_random_seed")
    )
    first, second = told.all(FitStarted)
    assert (first.epochs, first.planned_steps_per_epoch, first.batch_size, first.validation) == (
        6,
        10,
        16,
        True,
    )
    assert first.where == line("fit_tensorflow.py", "model.fit(x, y, epochs=6")
    assert [entry["class"] for entry in first.callbacks][:2] == ["Stopper", "EarlyStopping"]
    assert first.callbacks[0]["file"] == "fit_tensorflow.py"
    assert first.callbacks[1]["settings"]["monitor"] == "val_loss"
    assert first.callbacks[1]["settings"]["patience"] == 50
    assert [(event.epoch, event.steps, event.planned_steps) for event in told.all(EpochDone)] == [
        (0, 10, 10), (1, 10, 10), (2, 10, 10),
    ]  # fmt: skip
    assert set(told.all(EpochDone)[0].logs) == {"loss", "mae", "val_loss", "val_mae"}
    assert [event.batches for event in told.all(ValidationDone)] == [3, 3, 3]
    assert told.one(PredictDone).batches == 1
    assert (second.fit, second.iterations) == (2, 30)


def test_who_stopped_and_who_raised_are_named_with_their_lines(probed: Callable[[str], Run]) -> None:
    told = probed("fit_tensorflow.py")
    stop = told.one(StopRequested)
    assert (stop.by, stop.where, stop.epoch, stop.step) == (
        "Stopper",
        line("fit_tensorflow.py", "stop_training = True"),
        2,
        30,
    )
    assert "val_loss" in stop.logs
    left = [(event.left, event.type, event.user_line, event.callback) for event in told.all(ExceptionRaised)]
    assert left == [
        ("callback", "ValueError", line("fit_tensorflow.py", "raise ValueError"), "Raiser"),
        ("fit", "ValueError", line("fit_tensorflow.py", "raise ValueError"), ""),
        ("script", "ValueError", line("fit_tensorflow.py", "raise ValueError"), ""),
    ]
    assert told.all(ExceptionRaised)[0].user_code == 'raise ValueError("the fourth batch")'
    done = told.all(FitDone)
    assert (done[0].steps, done[0].steps_by_epoch, done[0].stopped, done[0].iterations) == (
        30,
        [10, 10, 10],
        True,
        30,
    )
    assert (done[1].steps, done[1].raised, done[1].epochs_done) == (4, "ValueError", 0)
    assert told.one(ExitStarted) == ExitStarted(raised="ValueError", steps=34)


def test_model_and_data_of_a_fit_are_described(probed: Callable[[str], Run]) -> None:
    told = probed("fit_tensorflow.py")
    model = told.all(ModelSeen)[-1]
    assert (model.parameters, model.trainable_parameters, model.optimizer, model.loss) == (
        49,
        49,
        "Adam",
        "mse",
    )
    assert model.where == line("fit_tensorflow.py", "model.compile(")
    train, held_out, predicted, again = told.all(DatasetSeen)
    assert (train.role, train.type, train.cardinality, train.array_bytes) == (
        "train",
        "array",
        10,
        160 * 5 * 4,
    )
    assert held_out.role == "validation"
    assert predicted.role == "predict"
    assert again.cardinality == 7
    assert 0 <= train.statistics["x"]["min"] < 0.05 < 0.95 < train.statistics["x"]["max"] <= 1


def test_beats_of_a_fit_tell_phases_and_counts(probed: Callable[[str], Run]) -> None:
    beats = probed("fit_tensorflow.py").beats
    phases = [beat.phase for beat in beats]
    order = [
        Phase.IMPORT,
        Phase.BUILD,
        Phase.FILL,
        Phase.COMPILE,
        Phase.STEP,
        Phase.VALIDATION,
        Phase.PREDICT,
    ]
    assert [phases.index(phase) for phase in order] == sorted(phases.index(phase) for phase in order)
    assert phases[-1] is Phase.EXIT
    assert beats[-1].step == 34
    steps = [beat.step for beat in beats]
    assert steps == sorted(steps)
    stopper = [
        beat for beat in beats if beat.phase is Phase.CALLBACK and beat.callback_index == 1 and beat.fit == 1
    ]
    assert {beat.epoch for beat in stopper} == {0, 1, 2}
    assert max(beat.test_batches for beat in beats) == 3
    assert beats[-1].has_loss


def test_loss_of_a_step_is_worked_out_from_the_mean(probed: Callable[[str], Run]) -> None:
    seen = [event for event in probed("fit_tensorflow.py").all(LossSeen) if event.epoch == 0][:3]
    means = [event.logs["loss"] for event in seen]
    assert seen[0].step_loss == pytest.approx(means[0], rel=1e-5)
    assert seen[1].step_loss == pytest.approx(2 * means[1] - means[0], rel=1e-4)
    assert seen[2].step_loss == pytest.approx(3 * means[2] - 2 * means[1], rel=1e-4)
    assert seen[0].learning_rate == pytest.approx(0.001)


def test_loop_without_fit_is_counted_exactly(probed: Callable[[str], Run]) -> None:
    told = probed("loop_tensorflow.py")
    assert told.code == 0
    assert [event.by for event in told.all(LoopSeen)] == ["tf_function", "apply_gradients", "train_on_batch"]
    assert told.all(LoopSeen)[0].where == line("loop_tensorflow.py", "def train_step")
    assert told.one(ExitStarted).steps == 3 * 8 + 5 + 4
    passes = told.all(PassDone)
    assert [event.steps for event in passes] == [8, 8, 8, 5]
    assert all(0 < event.first_step_s < event.duration_s for event in passes)
    beats = told.beats
    assert max(beat.test_batches for beat in beats if beat.phase is Phase.VALIDATION) >= 3
    assert beats[-1].data_wait_ns > 0
    assert {Phase.DATA_WAIT, Phase.FILL, Phase.COMPILE} <= {beat.phase for beat in beats}
    first = told.all(LossSeen)[0]
    assert set(first.logs) == {"loss", "result 1"}
    roles = {(event.role, event.cardinality) for event in told.all(DatasetSeen)}
    assert {("train", 8), ("validation", 3)} <= roles
    [batch] = told.all(BatchSeen)
    assert [(part["path"], part["shape"], part["finite"]) for part in batch.parts] == [
        ("x", [8, 8], True), ("y", [8, 1], True),
    ]  # fmt: skip
    assert 0 <= batch.parts[0]["min"] < batch.parts[0]["max"] <= 1
    shuffle = told.all(DatasetSeen)[0].nodes[1]
    assert (shuffle["op"], shuffle["buffer_size"]) == ("shuffle", 64)


def test_runs_of_a_session_that_train_are_steps(probed: Callable[[str], Run]) -> None:
    told = probed("loop_session.py")
    assert [event.by for event in told.all(LoopSeen)] == ["session"]
    assert told.one(ExitStarted).steps == 12 + 8
    losses = [event.logs["loss"] for event in told.all(LossSeen)]
    assert losses[0] == pytest.approx(1.0) and losses[11] < 0.9
    assert not told.all(ProbeFailed)


def test_a_function_traced_at_every_call_is_told_with_the_reason(probed: Callable[[str], Run]) -> None:
    told = probed("loop_tensorflow.py")
    scaled = [event for event in told.all(TracesCounted) if event.function == "scaled"]
    assert (scaled[-1].traces, scaled[-1].reason) == (9, "python-value")
    assert scaled[-1].where == line("loop_tensorflow.py", "def scaled")
    steps = [event.traces for event in told.all(TracesCounted) if event.function == "train_step"]
    assert steps == [1]
    assert "retracing" in [event.category for event in told.all(WarningSeen)]


def test_jax_fit_and_loop_are_counted(probed: Callable[[str], Run]) -> None:
    told = probed("jax_both.py")
    assert told.code == 0
    assert told.one(FitStarted).data_wait == "exact"
    assert [event.steps for event in told.all(EpochDone)] == [6, 6, 6]
    assert told.one(ExitStarted).steps == 18 + 16
    assert [event.by for event in told.all(LoopSeen)] == ["stateless_apply"]
    assert "jit(step)" in [event.function for event in told.all(TracesCounted)]
    phases = {beat.phase for beat in told.beats if beat.fit == 1}
    assert {Phase.DATA_WAIT, Phase.STEP, Phase.FILL, Phase.COMPILE, Phase.VALIDATION} <= phases


def test_a_loop_on_jax_is_counted_whatever_feeds_it(tmp_path: Path) -> None:
    told = run(SCRIPTS / "jax_numpy_loop.py", folder=tmp_path / "run", cwd=SCRIPTS)
    assert told.code == 0, told.output
    assert told.output.split()[-2:-1] == ["step"]
    assert told.all(ProbeFailed) == []
    assert told.one(ExitStarted).steps == 30
    broke = told.all(NonFiniteSeen)[0]
    assert (broke.what, broke.learning_rate, broke.weights_finite) == ("loss", 5.0, None)
    grew = [event.logs["loss"] for event in told.all(LossSeen) if event.step < broke.step]
    assert len(grew) == broke.step - 1 > 5
    assert grew[-1] > 1e6 * grew[0]


def test_tf_keras_is_told_like_keras(probed: Callable[[str], Run]) -> None:
    told = probed("fit_tf_keras.py")
    assert told.code == 0
    first, second = told.all(FitDone)
    assert (first.steps_by_epoch, first.stopped) == ([6, 6], True)
    assert second.steps_by_epoch == [5, 3]
    stop = told.one(StopRequested)
    assert (stop.by, stop.where) == ("Stopper", line("fit_tf_keras.py", "stop_training = True"))
    assert "out-of-data" in [event.category for event in told.all(WarningSeen)]
    assert [event.step for event in told.all(SaveDone)] == [6, 12]
    assert told.all(DatasetSeen)[-1].nodes[1]["buffer_size"] == 20
    assert len(told.all(LossSeen)) == 20


def test_trouble_leaves_its_evidence(tmp_path: Path) -> None:
    told = run(SCRIPTS / "trouble.py", tmp_path, folder=tmp_path / "run", cwd=SCRIPTS)
    assert told.code == 0, told.output
    assert told.all(ProbeFailed) == []
    _check_saves(told, tmp_path)
    _check_numbers_that_broke(told)
    _check_counts(told)
    _check_files(told, tmp_path)


def _check_saves(told: Run, folder: Path) -> None:
    assert [Path(event.path).name for event in told.all(SaveDone)] == ["m.weights.h5"] * 2
    lost = told.one(Restored)
    assert (lost.by, lost.iterations, lost.optimizer_restored) == ("load_weights", 0, False)
    failed = told.one(SaveFailed)
    assert (failed.errno, failed.path) == (2, str(folder / "missing" / "m.keras"))
    categories = [event.category for event in told.all(WarningSeen)]
    assert "monitor-missing" in categories
    assert "optimizer-not-restored" in categories


def _check_numbers_that_broke(told: Run) -> None:
    rate = [event for event in told.all(NonFiniteSeen) if event.learning_rate and event.learning_rate > 1]
    assert rate[0].what == "loss"
    assert rate[0].weights_finite_before is not False  # not known where the step came before the first look
    assert rate[0].last_finite is not None
    singular = [event for event in told.all(NonFiniteSeen) if event.learning_rate and event.learning_rate < 1]
    assert (singular[0].what, singular[0].last_finite) == (
        "weights",
        None,
    )  # broken by the step whose loss was 0.0
    assert (singular[1].what, singular[1].weights_finite_before) == ("loss", False)
    assert singular[1].step == singular[0].step + 1
    assert singular[1].input_finite is True


def _check_counts(told: Run) -> None:
    by_fit = [event.steps_by_epoch for event in told.all(FitDone)]
    assert by_fit[3] == [6, 2, 2]  # the generator: two batches that Keras had peeked at, again and again
    assert by_fit[4] == [3]
    swallowed = [event for event in told.all(ExceptionRaised) if event.type == "StopIteration"]
    assert [(event.left, event.callback, event.user_line) for event in swallowed] == [
        ("callback", "Swallowed", line("trouble.py", "raise StopIteration"))
    ]
    generator = next(event for event in told.all(DatasetSeen) if event.type == "generator")
    assert generator.nodes[0]["where"] == line("trouble.py", "def batches")


def _check_files(told: Run, folder: Path) -> None:
    loader = next(event for event in told.all(ExceptionRaised) if event.left == "loader")
    assert (loader.type, loader.user_line) == ("OSError", line("trouble.py", "raise OSError"))
    assert loader.paths == [str(folder / "4.jpg")]
    images, records = told.all(BadFilesFound)
    assert images.files == [{"path": str(folder / "4.jpg"), "what": "a JPEG without its end", "bytes": 202}]
    assert records.files == [
        {"path": str(folder / "1.tfrecord"), "what": "a record is damaged", "offset": 369, "bytes": 107}
    ]
    dataset = next(event for event in told.all(DatasetSeen) if event.python_fed and event.type == "tf.data")
    assert [(node["op"], node.get("buffer_size")) for node in dataset.nodes] == [
        ("tensor_slice", None), ("map", None), ("shuffle", 3), ("batch", None), ("prefetch", 1),
    ]  # fmt: skip
    assert dataset.file_count == 6


def _traceback(output: str) -> str:
    return output[output.index("Traceback") :]
