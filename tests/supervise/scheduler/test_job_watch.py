"""What a run records of its job."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from holdfast.journal import events as ev
from holdfast.journal import reader
from holdfast.journal.folder import RunFolder
from holdfast.journal.writer import JournalWriter
from holdfast.supervise.scheduler import job_watch, pod
from holdfast.supervise.scheduler.job_watch import JobWatch

JOB = {"SLURM_JOB_ID": "7", "SLURM_JOB_NODELIST": "node[0-1]"}
SCONTROL = """\
#!/bin/sh
case "$2" in
  job) echo "JobId=7 JobState=RUNNING Restarts=0 TimeLimit=UNLIMITED EndTime=Unknown PreemptTime=2026-11-18T19:11:32";;
  node) cat "$(dirname "$0")/nodes";;
esac
"""


@pytest.fixture
def nodes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A `scontrol` on the path; the file says what it prints of nodes."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "scontrol").write_text(SCONTROL)
    (folder / "scontrol").chmod(0o755)
    (folder / "nodes").write_text("NodeName=node0 State=IDLE\n")
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    return folder / "nodes"


def watched(folder: RunFolder, attempt: int, *, asked: bool) -> None:
    watch = JobWatch(folder, attempt=lambda: attempt, environment=JOB)
    watch.begin()
    watch.close()
    if asked:
        watch.asked_to_end()
        watch.asked_to_end()
        watch.close()


def test_the_answer_is_recorded_once(tmp_path: Path, nodes: Path) -> None:
    folder = RunFolder(tmp_path)
    watched(folder, 1, asked=True)
    began, answer = reader.read(folder.journal)
    assert isinstance(began.event, ev.JobStarted)
    assert (began.event.job, began.event.nodes, began.attempt) == ("7", "node[0-1]", 1)
    assert isinstance(answer.event, ev.SchedulerAnswered)
    assert (answer.event.why, answer.event.state) == ("preempted", "RUNNING")


def test_a_lost_node_is_recorded_with_the_attempt_that_it_ended(tmp_path: Path, nodes: Path) -> None:
    folder = RunFolder(tmp_path)
    watched(folder, 1, asked=False)
    JournalWriter(folder.journal, by="supervisor", attempt=1).append(ev.AttemptStarted(pid=1))
    nodes.write_text("NodeName=node0 State=DOWN+NOT_RESPONDING Reason=Not responding [root@x]\n")
    watched(folder, 2, asked=False)
    lost = [one for one in reader.read(folder.journal) if isinstance(one.event, ev.SchedulerAnswered)]
    assert [(one.attempt, one.event.why, one.event.later) for one in lost] == [(1, "node-failed", True)]


def test_an_attempt_that_ended_by_itself_was_not_ended_by_its_nodes(tmp_path: Path, nodes: Path) -> None:
    folder = RunFolder(tmp_path)
    watched(folder, 1, asked=False)
    JournalWriter(folder.journal, by="supervisor", attempt=1).append(ev.AttemptEnded(exit_code=1))
    nodes.write_text("NodeName=node0 State=DOWN Reason=Not responding\n")
    watched(folder, 2, asked=False)
    assert not [one for one in reader.read(folder.journal) if isinstance(one.event, ev.SchedulerAnswered)]


def test_whoever_explains_a_job_that_waits_again_is_told_of_the_lost_node(
    tmp_path: Path, nodes: Path
) -> None:
    folder = RunFolder(tmp_path)
    watched(folder, 1, asked=False)
    job_watch.ask_about(folder)
    assert len(reader.read(folder.journal)) == 1  # all nodes are there: it may still run
    nodes.write_text("NodeName=node0 State=DOWN+NOT_RESPONDING Reason=Not responding [root@x]\n")
    job_watch.ask_about(folder)
    job_watch.ask_about(folder)
    lost = [one.event for one in reader.read(folder.journal) if isinstance(one.event, ev.SchedulerAnswered)]
    assert [one.failed_nodes for one in lost] == [{"node0": "DOWN+NOT_RESPONDING: Not responding"}]


def test_an_eviction_is_in_the_termination_message_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kubelet may leave a second between SIGTERM and SIGKILL."""
    monkeypatch.setattr(pod, "low_disks", lambda: ["6% of the node's disk free"])
    monkeypatch.setattr(pod, "available_bytes", lambda: 8 << 30)
    written: list[str] = []
    monkeypatch.setattr(pod, "write_message", lambda text, environment: written.append(text))
    environment = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "HOLDFAST_POD": "a"}
    watch = JobWatch(RunFolder(tmp_path), attempt=lambda: 1, environment=environment)
    watch.asked_to_end()
    watch.close()
    (entry,) = reader.read(RunFolder(tmp_path).journal)
    assert isinstance(entry.event, ev.SchedulerAnswered) and entry.event.why == "evicted"
    assert written == [f"evicted: 6% of the node's disk free\nrun folder: {tmp_path}"]


def test_outside_of_a_job_nothing_is_recorded(tmp_path: Path) -> None:
    watch = JobWatch(RunFolder(tmp_path), attempt=lambda: 1, environment={})
    watch.begin()
    watch.asked_to_end()
    watch.close()
    assert not (tmp_path / "journal.jsonl").exists()
