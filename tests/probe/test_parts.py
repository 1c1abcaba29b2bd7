"""However a script is started, the process that trains is found, and so are its steps."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from holdfast.journal.events import (
    DatasetSeen,
    FitDone,
    FrameworkSeen,
    ModelSeen,
    ProbeFailed,
    ProcessJoined,
)

from .probed import FAULTS, SCRIPTS, Run, run, run_program

pytestmark = [pytest.mark.hot, pytest.mark.long(40)]


def _trained(done: Run) -> None:
    assert done.code == 0, done.output
    assert done.output.endswith("done\n")
    assert done.one(FitDone).steps_by_epoch == [5, 5]
    trainer = next(entry.pid for entry in done.entries if isinstance(entry.event, FitDone))
    assert done.beats[-1].pid == trainer
    assert done.beats[-1].step == 10


def test_as_a_module(tmp_path: Path) -> None:
    done = run("-m", "scripts.plain_fit", folder=tmp_path / "run", cwd=SCRIPTS.parent)
    _trained(done)
    assert Path(done.one(ProcessJoined).script).name == "plain_fit.py"


def test_as_code_on_the_command_line(tmp_path: Path) -> None:
    _trained(run("-c", "import plain_fit; plain_fit.main()", folder=tmp_path / "run", path=(SCRIPTS,)))


def test_as_a_console_script(tmp_path: Path) -> None:
    program = tmp_path / "train-it"
    program.write_text(f"#!{sys.executable}\nimport sys\nfrom plain_fit import main\nsys.exit(main())\n")
    program.chmod(0o755)
    _trained(run_program(program, folder=tmp_path / "run", path=(SCRIPTS,)))


def test_in_a_spawned_process_below_one_that_only_waits(tmp_path: Path) -> None:
    script = tmp_path / "launch.py"
    script.write_text(
        "import multiprocessing, plain_fit\n"  # the launcher imports Keras as well
        "if __name__ == '__main__':\n"
        "    process = multiprocessing.get_context('spawn').Process(target=plain_fit.main)\n"
        "    process.start()\n    process.join()\n    raise SystemExit(process.exitcode)\n"
    )
    done = run(script, folder=tmp_path / "run", path=(SCRIPTS,))
    assert done.one(FitDone).steps_by_epoch == [5, 5]
    assert [event.role for event in done.all(ProcessJoined)] == ["main", "worker"]
    assert max(beat.step for beat in done.beats) == 10


def test_a_part_of_the_probe_that_fails_leaves_the_training_as_it_is(tmp_path: Path) -> None:
    script = SCRIPTS / "plain_fit.py"
    alone = run(script, tmp_path / "alone.npy", folder=tmp_path, probe=False)
    for place, part in (
        ("fit.callback_list:CallbackListObserver.epoch_begins", "callback_list"),
        ("fit.trainer_hooks:FitObserver.fit_begins", "trainer_hooks"),
        ("fit.train_batches:TrainBatches.ends", "train_batches"),
    ):
        faulty = run(
            script, tmp_path / "faulty.npy", folder=tmp_path / part, path=(FAULTS,), FAULTY_METHOD=place
        )
        assert (alone.code, faulty.code) == (0, 0)
        assert (tmp_path / "alone.npy").read_bytes() == (tmp_path / "faulty.npy").read_bytes()
        failed = faulty.one(ProbeFailed)
        assert failed.part == part
        assert failed.error.startswith("RuntimeError: made to fail by a test")


def test_activated_by_hand_in_a_process_that_has_keras_already(tmp_path: Path) -> None:
    code = (
        "import keras, holdfast.probe, sys, plain_fit\n"
        "first, second = sys.argv[1:]\nsys.argv = sys.argv[:1]\n"
        "print(holdfast.probe.activate(first), holdfast.probe.activate(first))\n"
        "plain_fit.main()\n"
        "holdfast.probe.deactivate()\n"
        "plain_fit.main()\n"
        "print(holdfast.probe.activate(second))\n"
        "plain_fit.main()\n"
    )
    done = run(
        "-c", code, tmp_path / "run", tmp_path / "two", folder=tmp_path / "run", probe=False, path=(SCRIPTS,)
    )
    assert done.output == "True False\ndone\ndone\nTrue\ndone\n"
    for folder in ("run", "two"):  # and the fit in between is in neither
        each = Run(done.code, done.output, tmp_path / folder)
        assert [event.steps_by_epoch for event in each.all(FitDone)] == [[5, 5]]
        assert len(each.all(ProcessJoined)) == 1
        assert each.beats[-1].step == 10
        # what a run records once is recorded again in the next
        assert {event.role for event in each.all(DatasetSeen)} == {"train", "validation"}
        assert len(each.all(ModelSeen)) >= 1
        assert [event.name for event in each.all(FrameworkSeen) if event.devices] == ["tensorflow"]
