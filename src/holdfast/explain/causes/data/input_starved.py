"""Most of the time of each step is spent waiting for data."""

from __future__ import annotations

from holdfast.explain.causes.declare import Group, cause
from holdfast.explain.evidence import Evidence
from holdfast.explain.readings.pipeline import waits_for_data, waits_throughout
from holdfast.explain.unconverted import Fact, Finding, Remedy, RuledOut, Strength
from holdfast.explain.words import span


@cause("input-starved", Group.DATA)
def input_starved(evidence: Evidence) -> Finding | RuledOut | None:
    found = waits_for_data(evidence)
    if found is None:
        return None
    share_waiting, waited_s, source = found
    steps = evidence.step or 0
    if not steps:  # it waits for its first batch, which is no share of any step
        return None
    if share_waiting < 0.6:
        return RuledOut(
            "input-starved", f"{share_waiting:.0%} of the time was spent waiting for data", source
        )
    if waited_s < 8 or waited_s / steps < 0.01:
        return None
    if not waits_throughout(evidence):
        return RuledOut(
            "input-starved", f"it waited {span(waited_s)} for data, but not at most steps", source
        )
    facts = [
        Fact(
            f"{share_waiting:.0%} of the time of steps was spent waiting for the next batch: "
            f"{span(waited_s / steps)} a step",
            source,
        )
    ]
    cores, busy = _busy(evidence)
    data = evidence.data()
    python = data is not None and bool(data.event.python_fed)
    if busy is not None:
        facts.append(
            Fact(
                f"meanwhile the process used {busy:.1f} of {cores} cores"
                + ("; Python code feeds it, one thread at a time" if python and busy < 1.5 else ""),
                "vitals.jsonl",
            )
        )
    remedies = [
        Remedy(
            "let several elements be made at once, and two batches ahead",
            "your-choice",
            "ds = ds.map(load, num_parallel_calls=tf.data.AUTOTUNE).batch(8).prefetch(2)",
        )
    ]
    if python:
        remedies.insert(
            0,
            Remedy(
                "do the work in TensorFlow's own operations, or in processes: Python runs one thread at a time",
                "your-choice",
                "keras.utils.PyDataset(workers=4, use_multiprocessing=True)",
            ),
        )
    else:
        remedies.append(
            Remedy(
                "do what is the same in every epoch once: resize the files, or cache before the random part",
                "your-choice",
            )
        )
    return Finding(
        "input-starved",
        Strength.SUPPORTED,
        f"the model waits for data {share_waiting:.0%} of the time",
        tuple(facts),
        (),
        tuple(remedies[:2]),
        ends=False,
    )


def _busy(evidence: Evidence) -> tuple[int, float | None]:
    cores = evidence.opened.event.cpus if evidence.opened is not None and evidence.opened.event.cpus else 1
    own = [s for _, s in evidence.samples if s.step > 0]
    if len(own) < 3 or own[-1].mono <= own[0].mono:
        return cores, None
    return cores, (own[-1].cpu_s - own[0].cpu_s) / (own[-1].mono - own[0].mono)
