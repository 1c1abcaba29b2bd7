"""A limit on threads, and a limit on address space that fails with the same words."""

from __future__ import annotations

from pathlib import Path

from holdfast.explain import Strength
from holdfast.journal import events as ev
from tests.explain.made import MIB, Run, facts

_REFUSED = (
    "F external/local_xla/xla/tsl/platform/default/env.cc:74] Thread tf_Compute creation via "
    "pthread_create() failed.\n"
)


def example(run: Run) -> None:
    run.output(f"terminate called\n{_REFUSED}")
    run.ended(signal="SIGABRT", pids_refused_before=0, pids_refused_after=1)


def near_miss(run: Run) -> None:
    """The same words under a limit on address space."""
    run.supervisor(ev.MachineRead(rlimits={"data": 2000 * MIB}))
    run.samples(5, rss_bytes=900 * MIB, virtual_bytes=1990 * MIB, phase="compile")
    run.output(_REFUSED)
    run.ended(signal="SIGABRT", pids_refused_before=0, pids_refused_after=0)


def test_the_limits_are_given(tmp_path: Path) -> None:
    run = Run(tmp_path / "run", pids_limit=64, rlimits={"nproc": 512})
    run.samples(1, rss_bytes=MIB, threads=60)
    example(run)
    found = facts(run.first())
    assert (found["limit.pids"]["limit"], found["limit.user-processes"]["limit"]) == (64, 512)
    assert found["threads.counted"] == {"threads": 60} and "limit.threads-refused" in found


def test_under_a_limit_on_address_space_it_is_only_possible(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    near_miss(run)
    finding = next(one for one in run.verdict().findings if one.cause == "thread-limit")
    assert (finding.title.kind, finding.strength) == ("thread-limit.or-memory", Strength.POSSIBLE)
    assert [fact.kind for fact in finding.against] == ["limit.address-space-set"]
