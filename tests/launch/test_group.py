"""Groups of light processes under the real coordinator and supervisors: one is killed, stuck, or asked to end."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest

from holdfast.explain import explain
from holdfast.host.procfs import command_line
from holdfast.journal import events as ev
from holdfast.journal import reader
from holdfast.journal.beats import Beat, BeatReader
from holdfast.journal.group_membership import agent_folder
from tests.explain.made import code_of, facts

ROOT = Path(__file__).parent.parent.parent
WAIT_S = 300.0  # on a machine that is busy with other tests
ENGINE = {"JAX_PLATFORMS": "cpu", "KERAS_BACKEND": "jax"}


class Group:
    def __init__(
        self, folder: Path, count: int, *more: str, peer: str = "light", before: tuple[str, ...] = ()
    ) -> None:
        self.folder, self.log = folder, folder.parent / f"{folder.name}.log"
        with self.log.open("ab") as file:
            self.process = subprocess.Popen(
                [*before, sys.executable, "-m", "tests.launch.tiny_group", peer, str(folder), str(count), *more],
                cwd=ROOT, stdout=file, stderr=subprocess.STDOUT, env=os.environ | ENGINE,
            )  # fmt: skip

    def newest(self, rank: int) -> Beat | None:
        return BeatReader(agent_folder(self.folder, rank) / "beats").newest()

    def trainer_at(self, rank: int, step: int, attempt: int = 1) -> int:
        """The trainer of this rank, once it is at the step."""
        return self._until(
            lambda: (
                beat.pid
                if (beat := self.newest(rank)) and beat.step >= step and beat.attempt == attempt
                else None
            )
        )

    def supervisor(self, rank: int) -> int:
        trainer = self.newest(rank)
        assert trainer is not None
        return int(Path(f"/proc/{trainer.pid}/stat").read_text().rpartition(")")[2].split()[1])

    def ended(self, within_s: float = WAIT_S) -> tuple[int, str]:
        code = self.process.wait(within_s)
        return code, self.log.read_text()

    def _until(self, found: Callable[[], int | None]) -> int:
        until = time.monotonic() + WAIT_S
        while time.monotonic() < until and self.process.poll() is None:
            value = found()
            if value is not None:
                return value
            time.sleep(0.02)
        raise AssertionError(self.log.read_text())


E = TypeVar("E", bound=ev.Event)


def all_of(kind: type[E], folder: Path) -> list[E]:
    events = [one.event for one in reader.read(folder / "journal.jsonl")]
    return [one for one in events if isinstance(one, kind)]


def test_when_one_is_killed_it_is_named_and_all_go_on_together(tmp_path: Path) -> None:
    group = Group(tmp_path / "run", 3, "--steps", "60", "--step-s", "0.05", "--gate", "30")
    os.kill(group.trainer_at(2, 12), signal.SIGKILL)
    code, log = group.ended()
    assert code == 0, log
    assert "process 2 on" in log
    assert "was ended by SIGKILL" in log
    assert log.rstrip().endswith("group 0 2")
    assert log.count("finished at 60") == 1  # rank 0's output alone is shown
    (lost,) = all_of(ev.AgentLost, tmp_path / "run")
    assert (lost.rank, lost.signal) == (2, "SIGKILL")
    assert lost.verdict["cause"] == "killed-from-outside"
    restored = [int(line.split()[-1]) for line in log.splitlines() if line.startswith("finished at")]
    assert restored == [60]


def test_an_error_in_one_ends_all_with_its_exit_code_and_is_the_verdict(tmp_path: Path) -> None:
    code, log = Group(tmp_path / "run", 2, "--faulty", "error:1:5").ended()
    assert code == 2, log
    assert log.rstrip().endswith("ended with exit code 2")
    first = explain(tmp_path / "run").findings[0]
    assert first.title.kind == "peer-missing.lost"
    assert (first.title.values["rank"], first.title.values["exit_code"]) == (1, 2)
    assert code_of(first.remedies[0]) == "holdfast explain RUN/peers/1"


def test_a_supervisor_that_is_killed_is_replaced(tmp_path: Path) -> None:
    group = Group(tmp_path / "run", 2, "--steps", "40", "--step-s", "0.05", "--gate", "20")
    trainer = group.trainer_at(1, 7)
    os.kill(group.supervisor(1), signal.SIGKILL)
    code, log = group.ended()
    assert not Path(f"/proc/{trainer}").exists()  # two of one rank would write the same files
    assert code == 0, log
    assert "process 1" in log
    assert "without a word" in log
    assert log.rstrip().endswith("group 0 2")


def test_sigterm_to_one_ends_all_at_the_same_step(tmp_path: Path) -> None:
    group = Group(tmp_path / "run", 2, "--steps", "100000", "--step-s", "0.02")
    group.trainer_at(1, 10)
    os.kill(group.supervisor(1), signal.SIGTERM)
    code, log = group.ended()
    assert code == 143, log
    ends = [
        line
        for text in (log, (tmp_path / "run/peers/1/output.log").read_text())
        for line in text.splitlines()
        if line.startswith("ended at")
    ]
    assert len(ends) == 2
    assert ends[0] == ends[1]
    assert "SIGTERM came to the host of process" in log
    received = facts(explain(tmp_path / "run" / "peers" / "1").findings[0])["signal.passed-on"]
    assert (received["signal"], received["from_pid"]) == ("SIGTERM", os.getpid())


def test_sigterm_to_the_launcher_ends_all_at_the_same_step(tmp_path: Path) -> None:
    group = Group(tmp_path / "run", 2, "--steps", "100000", "--step-s", "0.02")
    group.trainer_at(1, 10)
    group.process.terminate()
    code, log = group.ended()
    assert code == 143, log
    asked_by = f"SIGTERM came from process {os.getpid()} ({command_line(os.getpid())[:200]})"
    assert f"{asked_by}: all save at the same step and end" in log
    saved = int((tmp_path / "run" / "saved").read_text())
    assert f"ended at {saved}" in log
    first = explain(tmp_path / "run").findings[0]
    assert first.cause == "preempted"
    asked, received = facts(first)["group.stop-requested"], facts(first)["signal.passed-on"]
    assert asked["text"] == f"{asked_by}: all save at the same step and end"
    (requested,) = all_of(ev.GroupStopRequested, tmp_path / "run")
    assert requested.from_pid == os.getpid()
    assert (received["from_pid"], received["from_coordinator"]) == (
        None,
        True,
    )  # the supervisor only passes it on


def test_ctrl_c_of_the_launcher_is_not_called_a_scheduler(tmp_path: Path) -> None:
    group = Group(tmp_path / "run", 2, "--steps", "100000", "--step-s", "0.02")
    group.trainer_at(1, 10)
    group.process.send_signal(signal.SIGINT)
    _, log = group.ended()
    assert f"SIGINT came from process {os.getpid()} " in log
    assert explain(tmp_path / "run").findings[0].title.kind == "preempted.group-interrupted"


def test_a_terminal_that_closes_ends_a_group_but_not_under_nohup(tmp_path: Path) -> None:
    group = Group(tmp_path / "run", 2, "--steps", "100000", "--step-s", "0.02")
    group.trainer_at(1, 10)
    group.process.send_signal(signal.SIGHUP)
    code, log = group.ended()
    assert code == 143, log
    assert f"SIGHUP came from process {os.getpid()} " in log
    under_nohup = Group(tmp_path / "nohup", 2, "--steps", "30", "--gate", "20", before=("nohup",))
    under_nohup.trainer_at(1, 10)
    under_nohup.process.send_signal(signal.SIGHUP)
    os.kill(under_nohup.trainer_at(1, 20), signal.SIGKILL)  # it has been there for some time, and runs on
    code, log = under_nohup.ended()
    assert code == 0, log
    assert "SIGHUP" not in log


@pytest.mark.proof
def test_one_that_is_stuck_is_named_with_the_stacks_of_all(tmp_path: Path) -> None:
    code, log = Group(tmp_path / "run", 2, "--step-s", "0.05", "--faulty", "stuck:1:10").ended()
    assert code == 0, log
    assert "for process 1 on" in log
    assert "process 0 is in read (light_peer.py" in log
    assert "process 1 is in main (light_peer.py" in log
    assert sorted(one.rank for one in all_of(ev.AgentStacksCaptured, tmp_path / "run")) == [0, 1]


@pytest.mark.proof
def test_a_suspended_one_and_a_slow_one_are_named(tmp_path: Path) -> None:
    slow = Group(tmp_path / "slow", 2, "--steps", "40", "--step-s", "0.1", "--faulty", "slow:0:2")
    code, log = slow.ended()
    assert code == 0, log
    assert "process 0 on" in log
    assert "is slow: its own part of a step takes 0.6" in log
    stopped = Group(tmp_path / "stopped", 2, "--steps", "60", "--step-s", "0.05")
    os.kill(stopped.trainer_at(1, 8), signal.SIGSTOP)
    code, log = stopped.ended()
    assert code == 0, log
    assert "is suspended (state T)" in log
    assert log.rstrip().endswith("group 0 2")


@pytest.mark.proof
@pytest.mark.timeout(1200)
def test_one_of_four_is_killed_at_random_twenty_times_and_named_each_time(tmp_path: Path) -> None:
    dice = random.Random(4)
    group = Group(tmp_path / "run", 4, "--steps", "230", "--step-s", "0.02")
    killed = []
    for number in range(20):
        killed.append(dice.randrange(4))
        os.kill(group.trainer_at(killed[-1], 10 * (number + 1), number + 1), signal.SIGKILL)
    code, log = group.ended(600)
    assert code == 0, log[-3000:]
    named = [int(line.split()[2]) for line in log.splitlines() if "was ended by SIGKILL" in line]
    assert named == killed
    assert log.rstrip().endswith("group 0 21")
