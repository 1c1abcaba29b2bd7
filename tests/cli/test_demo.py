"""The demo: every way to go wrong ends in the verdict that belongs to it, and then in a trained detector."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.waiting import PATIENCE_S

from holdfast.cli.demo import injected_failures as failures
from holdfast.cli.demo.demo_command import FAILURE, Demo
from holdfast.cli.main import main
from holdfast.errors import HoldfastError
from holdfast.journal.beats import BeatReader
from holdfast.journal.folder import RunFolder
from holdfast.supervise.child.tensorflow_noise import FilteredStderr

NOISE = (
    "WARNING: All log messages before absl::InitializeLog() is called are written to STDERR\n"
    "I0000 00:00:1794746163.287006   13780 port.cc:153] oneDNN custom operations are on.\n"
    "E0000 00:00:1794746186.022783   13780 util.cc:131] oneDNN supports DT_UINT8 only\n"
)


def test_the_lines_of_a_framework_that_starts_are_left_out(capfd: pytest.CaptureFixture[str]) -> None:
    calm = FilteredStderr()
    os.write(calm.fd, b"first\n" + NOISE.encode() + b"  verdict: \xe2\x80\xa6\nno end")
    calm.close()
    assert capfd.readouterr().err == "first\n  verdict: …\nno end"


def test_a_folder_that_is_there_is_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--folder", str(tmp_path)]) == 2
    assert capsys.readouterr().err.startswith("error[already-there]: ")


TRAINER = """
import sys, time
from pathlib import Path
from holdfast.errors import HoldfastError
from holdfast.journal.beats import BeatWriter, Phase
folder = Path(sys.argv[1])
beats = BeatWriter(folder / "beats")
for step in range(10_000):
    beats.write(Phase.STEP, step=step)
    if step == 20:
        (folder / "checkpoints" / "step-20").mkdir(parents=True)
    time.sleep(0.01)
"""


def test_the_strike_comes_some_steps_after_a_checkpoint(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    with subprocess.Popen([sys.executable, "-c", TRAINER, str(tmp_path)]) as trainer:
        assert failures.wait_until_past_a_checkpoint(trainer, run) == trainer.pid
        newest = BeatReader(run.beats).newest()
        assert newest is not None
        assert newest.step >= 25
        failures.kill(trainer, run)
    assert trainer.returncode == -signal.SIGKILL
    assert failures.wait_until_past_a_checkpoint(trainer, run) is None, "one that has ended is not struck"


@pytest.mark.hot
@pytest.mark.proof
@pytest.mark.parametrize(
    ("how", "verdict"),
    [
        ("kill", "verdict[killed-from-outside]"),
        ("stall", "verdict[process-suspended]"),
        ("oom", "verdict[killed-for-memory]"),
        ("nan", "learning-rate-too-high"),
        ("data", "undecodable-image"),
    ],
)
def test_the_whole_story(tmp_path: Path, how: str, verdict: str) -> None:
    if how == "oom":
        try:
            failures.Squeeze().close()
        except failures.HoldfastError as error:
            pytest.skip(str(error))
    command = [sys.executable, "-m", "holdfast", "demo", "--folder", str(tmp_path / "demo"), "--steps", "30"]
    done = subprocess.run([*command, "--break", how], capture_output=True, text=True, timeout=580)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    said = done.stdout + done.stderr
    assert verdict in said
    assert "verdict[finished]" in said
    assert (tmp_path / "demo/runs/shapes/report.html").stat().st_size > 100_000
    assert "Traceback" not in said


def test_a_training_that_ends_before_it_is_broken(tmp_path: Path) -> None:
    tour = Demo(tmp_path, steps=1)
    with subprocess.Popen(["true"]) as process, pytest.raises(HoldfastError) as caught:
        tour.wait(process, ("train", "recipe.toml"), expect=FAILURE)
    assert caught.value.what == "the training of the demo finished before it could be broken"
    assert caught.value.change == ("use more --steps, or --break none",)
    with (
        subprocess.Popen(["false"]) as process,
        pytest.raises(HoldfastError, match="exit code 1 instead of 0"),
    ):
        tour.wait(process, ("eval", "runs/shapes"), expect=(0,))


def test_ctrl_c_ends_the_demo_with_a_word(tmp_path: Path) -> None:
    code = (
        "import os, signal, sys\n"
        "from holdfast.cli.demo import demo_command as demo\n"
        "demo.Demo.make_data = lambda self: os.kill(os.getpid(), signal.SIGINT) or signal.pause()\n"
        "from holdfast.cli.main import main\n"
        f"sys.exit(main(['demo', '--folder', {str(tmp_path / 'd')!r}]))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE_S)
    assert done.returncode == 128 + signal.SIGINT
    assert done.stderr.endswith("holdfast: interrupted\n")
