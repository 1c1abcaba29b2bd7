"""Many more threads want to run than there are cores."""

from holdfast.explain.readings.numbers import median
from holdfast.explain.readings.workers import workers_started
from holdfast.explain.rule import Evidence, Fact, Finding, Remedy, Strength, Title, cause
from holdfast.journal.vitals import Sample

_TRAINING = ("fill", "data-wait", "step", "compile")
#: Fewer samples, or a shorter time, may be a start-up. Chosen; no measurement is recorded.
_FEWEST_SAMPLES, _SHORTEST_S = 5, 5.0
#: Runnable tasks, and runnable child processes, per core, that are a crowd. Chosen; no measurement is recorded. The
#: example of twelve loaders on two cores has 7 and 6.
_TASKS_PER_CORE, _CHILDREN_PER_CORE = 2.5, 1.5
#: From here on, more than possible: tasks per core, or the share of time that some task waited (PSI, percent).
#: Chosen; no measurement is recorded.
_MANY_TASKS_PER_CORE, _HIGH_PRESSURE_PERCENT = 3.0, 50.0
_NOTABLE_PRESSURE_PERCENT = 20.0


@cause("cpu-oversubscribed")
def cpu_oversubscribed(evidence: Evidence) -> Finding | None:
    cores = evidence.opened.event.cpus if evidence.opened is not None else 0
    training = [(line, one) for line, one in evidence.samples if one.step > 0 or one.phase in _TRAINING]
    if not cores or len(training) < _FEWEST_SAMPLES:
        return None
    (first, start), (last, end) = training[0], training[-1]
    samples = [one for _, one in training]
    looked = [one for one in samples if one.thread_states or one.processes]
    tasks = _median([one.thread_states.get("R", 0) + _children(one) for one in looked])
    children = _median([_children(one) for one in samples])
    crowded = tasks >= _TASKS_PER_CORE * cores and children >= _CHILDREN_PER_CORE * cores
    if end.mono - start.mono < _SHORTEST_S or not crowded:
        return None
    pressure = _median([one.pressure.get("cpu.some", 0.0) for one in samples if one.pressure])
    load = _median([one.load1 for one in samples if one.load1 is not None])
    values = {"tasks": tasks, "cores": cores}
    waited = pressure / 100 if pressure > _NOTABLE_PRESSURE_PERCENT else None
    seen = {**values, "waited": waited, "load": load or None}
    facts = [Fact("cpu.crowded", seen, f"vitals.jsonl:{first}-{last}"), *workers_started(evidence)]
    sure = tasks >= _MANY_TASKS_PER_CORE * cores or pressure > _HIGH_PRESSURE_PERCENT
    strength = Strength.supported_if(sure)
    remedies = [Remedy("cpu.workers-as-cores", {"cores": cores})]
    return Finding(strength, Title("cpu-oversubscribed", values), facts, remedies, ends=False)


def _children(sample: Sample) -> int:
    """Child processes that run, or could."""
    return sum(process.state == "R" for process in sample.processes)


def _median(values: list[float]) -> float:
    return median(values) if values else 0.0
