"""What `scontrol` printed on a real cluster (SLURM 22.05, tests/slurm) when SIGTERM came, shortened: what it means."""

from __future__ import annotations

import time

import pytest

from holdfast.supervise.scheduler import slurm

ASKED = "2026-11-18T19:10:34"
NOW = time.mktime(time.strptime(ASKED, "%Y-%m-%dT%H:%M:%S"))
UP = "NodeName=node0 CPULoad=2.4 State=ALLOCATED\nNodeName=node1 CPULoad=2.4 State=ALLOCATED"
DOWN = (
    "NodeName=node0 State=IDLE\nNodeName=node1 OS=Linux 6.18 #1 SMP State=DOWN+NOT_RESPONDING ThreadsPerCore=1 "
    "Reason=Not responding [root@2026-11-18T19:12:37]"
)
ENVIRONMENT = {"SLURM_JOB_ID": "3", "SLURM_JOB_NODELIST": "node[0-1]"}


def job(*, state: str = "RUNNING", restarts: int = 0, limit: str = "365-00:00:00", **times: str) -> str:
    shown = " ".join(f"{name}={value}" for name, value in times.items())
    return (
        f"JobId=3 JobName=job.sh UserId=root(0) JobState={state} Reason=None Requeue=1 Restarts={restarts} "
        f"TimeLimit={limit} {shown} CPUs/Task=1 ReqB:S:C:T=0:0:*:* NodeList=node[0-1]"
    )


def answer(shown: str, nodes: str = UP, **environment: str) -> tuple[str, dict[str, str]]:
    printed = {"job": shown, "node": nodes}
    found = slurm.asked_to_end(ENVIRONMENT | environment, now=NOW, command=lambda words: printed[words[1]])
    assert found is not None
    return found.why, found.failed_nodes


@pytest.mark.parametrize(
    ("shown", "why"),
    [
        (job(EndTime="2026-11-18T19:11:34", PreemptTime=ASKED), "preempted"),
        (job(EndTime="2026-11-18T19:11:30", PreemptTime="None", limit="00:02:00"), "time-limit"),
        (job(EndTime="2026-11-18T19:18:30", PreemptTime="None", limit="00:10:00"), "signalled"),
        (job(EndTime="Unknown", PreemptTime="None"), "signalled"),
        (job(state="COMPLETING", EndTime=ASKED, PreemptTime="None"), "cancelled"),
        (job(state="COMPLETING", restarts=1, EndTime="2027-11-18T19:12:37"), "requeued"),
        (job(state="TIMEOUT", EndTime=ASKED, limit="00:02:00"), "time-limit"),
    ],
)
def test_why_sigterm_came(shown: str, why: str) -> None:
    assert answer(shown) == (why, {})


def test_a_job_that_was_started_again_because_a_node_was_lost() -> None:
    lost = {"node1": "DOWN+NOT_RESPONDING: Not responding"}
    assert answer(job(state="COMPLETING", restarts=2, EndTime=ASKED), DOWN, SLURM_RESTART_COUNT="1") == (
        "node-failed",
        lost,
    )
    again = slurm.ended_before("3", "node[0-1]", lambda words: DOWN)
    assert again is not None
    assert (again.why, again.failed_nodes, again.later) == ("node-failed", lost, True)
    assert slurm.ended_before("3", "node[0-1]", lambda words: UP) is None


def test_nothing_is_said_outside_of_a_job_and_where_scontrol_does_not_answer() -> None:
    assert slurm.started({}) is None
    assert slurm.asked_to_end({}, now=NOW) is None
    assert slurm.asked_to_end(ENVIRONMENT, now=NOW, command=lambda words: "") is None
    began = slurm.started(ENVIRONMENT | {"SLURM_RESTART_COUNT": "2"}, lambda words: "")
    assert began is not None
    assert (began.job, began.nodes, began.restarts, began.ends_at) == ("3", "node[0-1]", 2, None)


def test_a_value_may_have_spaces() -> None:
    assert slurm.fields("A=1 Reason=Not responding [x] B/C:D=2") == {
        "A": "1",
        "Reason": "Not responding [x]",
        "B/C:D": "2",
    }
