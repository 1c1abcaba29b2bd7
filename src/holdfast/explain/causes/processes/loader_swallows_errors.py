"""Your generator is busy and yields nothing."""

from __future__ import annotations

from holdfast.explain.causes.declare import Group, cause
from holdfast.explain.evidence import Evidence
from holdfast.explain.readings.stacks import ThreadState
from holdfast.explain.unconverted import Fact, Finding, Remedy, Strength
from holdfast.explain.words import clipped, span
from holdfast.journal import events as ev
from holdfast.journal.beats import Phase


@cause("loader-swallows-errors", Group.PROCESSES, specialises=("input-blocked",))
def loader_swallows_errors(evidence: Evidence) -> Finding | None:
    standing = evidence.stacks
    if (
        evidence.stall is None
        or standing is None
        or evidence.phase in (Phase.CALLBACK, Phase.EXIT, Phase.AFTER, Phase.START, Phase.IMPORT, Phase.BUILD)
    ):
        return None
    for process in (standing.process, *standing.others):
        for thread in process.threads:
            frame = thread.users
            if not thread.busy or frame is None or _trains(thread):
                continue
            share_ = f"{thread.cpu_share:.0%} of a core"
            facts = [
                Fact(
                    f"{'the main thread' if thread.main else 'a thread'} of process {process.pid} computes "
                    f"({share_}) in {thread.where}, and no batch comes",
                    standing.source,
                ),
                Fact(f"no step for {span(evidence.silent_for_s)}", evidence.stall.source),
            ]
            raised = [
                said
                for said in evidence.all(ev.ExceptionRaised)
                if said.event.left in ("loader", "thread") or said.event.caught
            ]
            facts += [
                Fact(
                    f"{said.event.type} at {said.event.user_line} was swallowed: {clipped(said.event.message, 80)}",
                    said.source,
                )
                for said in raised[-1:]
            ]
            return Finding(
                "loader-swallows-errors",
                Strength.SUPPORTED,
                f"your loader is busy at {frame.file}:{frame.line} ({frame.function}) and yields nothing",
                tuple(facts),
                (),
                (
                    Remedy(
                        "let errors out after a few in a row: `except: continue` in an endless loop hides every one",
                        "your-choice",
                        "bad += 1\nif bad > 100: raise",
                    ),
                    Remedy(
                        "look whether it waits for something that never comes: enough samples for a batch, a "
                        "file that is found",
                        "guess",
                    ),
                ),
            )
    return None


def _trains(thread: ThreadState) -> bool:
    """It is inside a training step or a trace, not in a loader."""
    if thread.within("script_ops.py", "generator_data_adapter", "py_dataset_adapter") is not None:
        return False
    return (
        thread.within(
            "one_step_on_data",
            "train_step",
            "autograph",
            "func_graph",
            "tracing_compilation",
            "jax/_src/interpreters",
            "pxla",
        )
        is not None
    )
