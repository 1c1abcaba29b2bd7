"""A kill for memory: by the kernel's counter, by its log, by the limit alone; and of a process below."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from holdfast.explain import Strength
from holdfast.host import machine_limits
from holdfast.journal import events as ev
from tests.explain.made import GIB, MIB, Run, facts, growing, main_in_fit, remedies, title_of


def example(run: Run) -> None:
    run.samples(8, rss_bytes=growing(200), phase="build")
    run.ended(signal="SIGKILL", oom=1)


def near_miss(run: Run) -> None:
    run.samples(8, rss_bytes=600 * MIB, phase="step", step=5, fit=1)
    run.ended(signal="SIGKILL", oom=0)


def _killed(path: Path, *, mib: int = 600, kernel_log: tuple[str, ...] = (), oom: int | None = None) -> Run:
    run = Run(path / "run")
    run.samples(8, rss_bytes=mib * MIB, phase="step", step=5, fit=1)
    run.ended(signal="SIGKILL", oom=oom, kernel_log=list(kernel_log))
    return run


def _all_gone(path: Path, *, used_mib: int, host: str = "") -> Run:
    """As a container over its memory limit ends: the supervisor goes with the rest, and nobody writes an end."""
    run = Run(path / "run", host=host or os.uname().nodename)
    used = {"memory_used_bytes": used_mib * MIB, "memory_limit_bytes": 2 * GIB}
    run.samples(8, rss_bytes=(used_mib - 100) * MIB, **used)
    return run


@pytest.fixture
def same_boot(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine_limits, "boot_id", lambda: "b")


def test_a_container_that_the_kernel_ended_as_a_whole(tmp_path: Path, same_boot: None) -> None:
    first = _all_gone(tmp_path, used_mib=2030).first()
    assert (first.cause, first.strength) == ("killed-for-memory", Strength.SUPPORTED)
    assert (
        title_of(first) == "all processes ended at once when the control group's memory of 2.0 GiB was full"
    )
    assert facts(first)["memory.last-measured"]["used_bytes"] == 2030 * MIB
    assert facts(first)["end.not-recorded"] == {}


def test_below_the_limit_nobody_knows_what_ended_it(tmp_path: Path, same_boot: None) -> None:
    assert _all_gone(tmp_path, used_mib=1500).blamed() == []


def test_a_machine_that_restarted_is_not_out_of_memory(tmp_path: Path) -> None:
    run = _all_gone(tmp_path, used_mib=2030)
    assert run.slugs()[0] == "host-rebooted"
    assert "killed-for-memory" not in run.slugs()


def test_the_next_start_in_the_pod_says_so_on_any_machine(tmp_path: Path) -> None:
    run = _all_gone(tmp_path, used_mib=2030, host="pod-7")
    assert run.blamed() == []  # for all that is known here, it still runs
    run.supervisor(ev.SchedulerAnswered(scheduler="kubernetes", job="a", why="out-of-memory", later=True))
    assert run.blamed() == ["killed-for-memory"]


def test_a_shell_around_the_training_is_no_loader(tmp_path: Path) -> None:
    """`sh -c "python train.py; …"`, as images of containers start it."""
    run = Run(tmp_path / "run")
    child = {"pid": 4001, "parent": 4000, "name": "python3"}
    run.samples(
        8, rss_bytes=2 * MIB, processes=lambda number: [{**child, "private_bytes": (200 + 200 * number) * MIB}],
        tree_rss_bytes=lambda number: (202 + 200 * number) * MIB, memory_limit_bytes=2 * GIB,
    )  # fmt: skip
    run.ended(137, oom=1)
    first = run.first()
    assert (first.cause, first.strength) == ("killed-for-memory", Strength.ESTABLISHED)
    assert first.title.values == {"peak_bytes": 1602 * MIB, "limit_bytes": 2 * GIB}
    assert "worker-memory-grows" not in run.slugs()


def test_the_counter_is_enough(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    example(run)
    first = run.first()
    assert first.strength == Strength.ESTABLISHED
    assert first.title.values == {"peak_bytes": 2000 * MIB, "limit_bytes": 2 * GIB}
    assert facts(first)["memory.oom-kills"] == {"kills": 1}
    assert facts(first)["end.seen"]["signal"] == "SIGKILL"
    assert facts(first)["memory.grew"]["bytes"] == 1400 * MIB
    assert remedies(first) == ["memory.more-or-need-less", "report.open"]


@pytest.mark.parametrize(
    "line",
    [
        "Out of memory: Killed process 4000 (python) total-vm:9000000kB",
        "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),task=python,pid=4000",
        "python invoked oom-killer: gfp_mask=0xcc0, order=0",
    ],
)
def test_the_kernels_log_is_enough(tmp_path: Path, line: str) -> None:
    first = _killed(tmp_path, kernel_log=(line,)).first()
    assert (first.cause, first.strength) == ("killed-for-memory", Strength.ESTABLISHED)
    assert facts(first)["kernel.logged"] == {"line": line}


@pytest.mark.parametrize(
    "line",
    [
        "traps: python[4000] trap invalid opcode: illegal instruction",
        "python[4000]: segfault, 1 million pages filled",
    ],
)
def test_a_line_about_something_else_is_no_kill(tmp_path: Path, line: str) -> None:
    """The letters "ill" are in "illegal", "million" and "filled", too."""
    run = _killed(tmp_path, kernel_log=(line,))
    found = next(one for one in run.verdict().findings if one.cause == "killed-for-memory")
    assert found.strength == Strength.POSSIBLE
    assert "kernel.logged" not in facts(found)


@pytest.mark.parametrize(("mib", "strength"), [(1990, Strength.SUPPORTED), (600, Strength.POSSIBLE)])
def test_without_a_counter_the_limit_decides(tmp_path: Path, mib: int, strength: Strength) -> None:
    run = _killed(tmp_path, mib=mib)
    found = next(one for one in run.verdict().findings if one.cause == "killed-for-memory")
    assert found.strength == strength
    unread = [fact.values for fact in found.against if fact.kind == "memory.oom-kills"]
    assert unread == ([] if strength == Strength.SUPPORTED else [{"kills": None}])


def test_a_counter_that_did_not_move_rules_it_out(tmp_path: Path) -> None:
    run = _killed(tmp_path, oom=0)
    assert run.slugs() == ["killed-from-outside"]
    ruled_out = {one.cause: one.kind for one in run.verdict().ruled_out}
    assert ruled_out["killed-for-memory"] == "killed-for-memory.not-counted"


def test_more_than_the_limit_is_not_shown_as_the_peak(tmp_path: Path) -> None:
    """Pages of shared libraries count for the process and not for its group."""
    values = _killed(tmp_path, mib=2100, oom=1).first().title.values
    assert values["peak_bytes"] > values["limit_bytes"]


@pytest.mark.parametrize("stalled", [True, False])
def test_a_worker_that_was_killed(tmp_path: Path, stalled: bool) -> None:
    run = Run(tmp_path / "run")
    run.fit()
    gone = ev.WorkerGone(worker_pid=4100, name="python", rss_bytes=700 * MIB, oom_kills_rose=True)
    run.supervisor(gone, ev.OomKillSeen(oom_kills=1, was=0, victim_pid=4100))
    if stalled:
        run.stalled("data-wait", main_in_fit())
        run.ended(signal="SIGKILL", stopped_by_us="stall", oom=1)
    else:
        run.ended(1, oom=1)
    found = next(one for one in run.verdict().findings if one.cause == "killed-for-memory")
    assert (found.title.kind, found.title.values) == ("killed-for-memory.worker", {"stalled": stalled})
    assert (found.strength, found.led_to, found.ends) == (Strength.ESTABLISHED, "worker-died", True)
    worker = facts(found)["worker.ended"]
    assert (worker["pid"], worker["rss_bytes"], worker["oom_kills_rose"]) == (4100, 700 * MIB, True)


def test_a_worker_that_was_killed_without_harm_is_only_possible(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.fit()
    run.supervisor(ev.WorkerGone(worker_pid=4100, name="python", oom_kills_rose=True))
    run.epochs([100, 100, 100])
    run.ended(0, oom=1)
    found = next(one for one in run.verdict().findings if one.cause == "killed-for-memory")
    assert (found.strength, found.ends) == (Strength.POSSIBLE, False)
