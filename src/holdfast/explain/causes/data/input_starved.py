"""The model waits for data at most steps."""

from holdfast.explain.readings.pipeline import waits_for_data, waits_throughout
from holdfast.explain.rule import Evidence, Fact, Finding, Remedy, RuledOut, Strength, Title, cause, ev, facts

#: Share of the time of steps; below it the model computes for a good part of the time, and a faster pipeline gains
#: little. Chosen: separates the starved test programs from the healthy ones.
_STARVED_SHARE = 0.6
#: Waiting that is worth a finding: less in all, or less at a step, is lost in the start of the pipeline. Chosen.
_WORTH_S, _WORTH_S_PER_STEP = 8.0, 0.01
_SAMPLES_NEEDED = 3
#: Cores in use up to which Python code, one thread at a time, may be what limits the pipeline.
_ONE_CORE = 1.5


@cause("input-starved")
def input_starved(evidence: Evidence) -> Finding | RuledOut | None:
    wait, steps = waits_for_data(evidence), evidence.step or 0
    if wait is None or not steps:  # what waits for its first batch waits for no share of a step
        return None
    if wait.share < _STARVED_SHARE:
        return RuledOut("input-starved.small-share", {"share": wait.share}, wait.source)
    if wait.seconds + _first_batches_s(evidence) < _WORTH_S or wait.seconds / steps < _WORTH_S_PER_STEP:
        return None
    if not waits_throughout(evidence):
        return RuledOut("input-starved.few-steps", {"seconds": wait.seconds}, wait.source)
    python = bool(evidence.dataset().python_fed)
    parallel = Remedy("pipeline.parallel-and-prefetch")
    return Finding(
        Strength.SUPPORTED,
        Title("input-starved", {"share": wait.share}),
        facts(wait.fact, _cores(evidence, python=python)),
        [Remedy("pipeline.out-of-python"), parallel] if python else [parallel, Remedy("pipeline.do-once")],
        ends=False,
    )


def _first_batches_s(evidence: Evidence) -> float:
    """Of every pass of a loop but the first, which has to start the pipeline: not among the time of steps."""
    return sum(done.event.first_step_s or 0.0 for done in evidence.all(ev.PassDone) if done.event.number > 1)


def _cores(evidence: Evidence, *, python: bool) -> Fact | None:
    """The cores that the process used while it trained."""
    trained = [sample for _, sample in evidence.samples if sample.step > 0]
    if len(trained) < _SAMPLES_NEEDED or trained[-1].mono <= trained[0].mono:
        return None
    used = (trained[-1].cpu_s - trained[0].cpu_s) / (trained[-1].mono - trained[0].mono)
    cores = evidence.opened.event.cpus if evidence.opened is not None else 0
    values = {"used": used, "cores": cores or 1, "python_fed": python and used < _ONE_CORE}
    return Fact("cpu.used-meanwhile", values, "vitals.jsonl")
