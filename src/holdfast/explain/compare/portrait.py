"""What a run was made of, for comparing two: data, pipeline, model, optimizer, versions, machine, speed, memory."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, field
from typing import Any

from holdfast.explain.evidence import Evidence, Sources
from holdfast.explain.readings.memory import kept_by_objects
from holdfast.explain.readings.numbers import median
from holdfast.explain.readings.pipeline import PipelineNode
from holdfast.journal import events as ev
from holdfast.journal.vitals import Sample

#: Copies of every trainable parameter that an optimizer keeps beside it.
_SLOTS = {
    "adam": 2, "adamw": 2, "nadam": 2, "adamax": 2, "lamb": 2, "adadelta": 2, "ftrl": 2,
    "lion": 1, "rmsprop": 1, "adagrad": 1, "adafactor": 1, "muon": 1, "sgd": 0,
}  # fmt: skip

#: Settings by the names under which they are shown, in that order.
Settings = dict[str, Any]


@dataclass(frozen=True)
class Portrait:
    name: str
    #: By what they are read from: data, model, fit and so on. None: the run ended before that was seen.
    settings: dict[str, Settings | None] = field(default_factory=dict)
    nodes: tuple[PipelineNode, ...] = ()
    parameters: int = 0
    trainable: int = 0
    slots: int = 0
    batch: int | None = None
    input_values: int | None = None  # of one sample
    value_bytes: int = 4  # of one activation
    peak_bytes: int | None = None  # of all processes
    base_bytes: int | None = None  # before training
    workers_bytes: int = 0
    kept_bytes: int = 0  # by the container of the user's that grew most
    kept_name: str = ""
    step_s: float | None = None
    wait_s: float | None = None  # of it, for data
    steps: int = 0
    scripts: dict[str, str] = field(default_factory=dict)  # file name -> text

    @property
    def unseen(self) -> frozenset[str]:
        return frozenset(part for part, known in self.settings.items() if known is None)

    @property
    def dynamic_bytes(self) -> int | None:
        """What training added to the process."""
        if self.peak_bytes is None or self.base_bytes is None:
            return None
        return max(0, self.peak_bytes - self.base_bytes)


def portray(evidence: Evidence, sources: Sources | None = None) -> Portrait:
    sources, model, batch = sources or Sources(), evidence.seen(ev.ModelSeen), _batch(evidence)
    kept = kept_by_objects(evidence)
    samples = [sample for _, sample in evidence.samples]
    before = [sample for sample in samples if not sample.fit and not sample.step]
    return Portrait(
        name=evidence.name,
        settings={
            "data": _data(evidence),
            "model": _model(model) if evidence.model is not None else None,
            "fit": _fit(evidence, batch),
            "version": _versions(evidence),
            "machine": _machine(evidence)
            | {f"recipe: {name}": value for name, value in sources.recipe.items()},
            "script": _digests(evidence),
        },
        nodes=evidence.nodes,
        parameters=model.parameters,
        trainable=model.trainable_parameters,
        slots=_SLOTS.get(model.optimizer.lower(), 1 if model.optimizer else 0),
        batch=batch,
        input_values=_input_values(evidence, model),
        value_bytes=2 if "16" in model.precision else 4,
        peak_bytes=max(map(_rss, samples), default=None),
        base_bytes=next((_rss(sample) for sample in before[-1:] + samples[:1]), None),
        workers_bytes=max((sum(p.private_bytes or 0 for p in s.processes) for s in samples), default=0),
        kept_bytes=kept.bytes if kept is not None else 0,
        kept_name=kept.name if kept is not None else "",
        step_s=_step_s(evidence),
        wait_s=_wait_s(evidence),
        steps=evidence.step or 0,
        scripts=sources.scripts,
    )


def _rss(sample: Sample) -> int:
    return sample.tree_rss_bytes or sample.rss_bytes


def _data(evidence: Evidence) -> Settings | None:
    data = evidence.data()
    if data is None:
        return None
    event = data.event
    named = {
        "data: kind": event.type,
        "data: batches": event.cardinality,
        "data: files": event.file_count,
        "data: bytes of arrays": event.array_bytes,
        "data: element": str(event.element_spec or ""),
        "data: workers": event.workers,
    }
    arrays = {name: values for name, values in event.statistics.items() if isinstance(values, dict)}
    largest = {f"data: largest {name}": values.get("max") for name, values in arrays.items()}
    return named | largest | {"pipeline": " > ".join(_node(node) for node in evidence.nodes)}


def _model(model: ev.ModelSeen) -> Settings:
    return {
        "model: parameters": model.parameters,
        "model: trainable parameters": model.trainable_parameters,
        "model: layers": model.layers,
        "model: input": str(model.input_shape or ""),
        "model: loss": model.loss,
        "training: optimizer": model.optimizer,
        "training: learning rate": model.learning_rate,
        "training: schedule": model.learning_rate_schedule,
        "training: precision": model.precision,
        "training: eager": model.run_eagerly,
        "training: XLA": model.jit_compile,
    }


def _fit(evidence: Evidence, batch: int | None) -> Settings | None:
    if evidence.fit is None or evidence.fit.started is None:
        return None
    start = evidence.fit.start
    return {
        "training: batch": batch,
        "training: epochs": start.epochs,
        "training: steps an epoch": start.planned_steps_per_epoch,
        "training: callbacks": ", ".join(str(one.get("class")) for one in start.callbacks),
    }


def _versions(evidence: Evidence) -> Settings | None:
    found: Settings = {}
    for framework in (seen.event for seen in evidence.all(ev.FrameworkSeen)):
        found |= {f"version: {name}": version for name, version in framework.versions.items()}
        found[f"version: {framework.name}"] = framework.version
        found |= {f"environment: {name}": value for name, value in framework.environment.items()}
    joined = evidence.first(ev.ProcessJoined)
    return found | ({"version: Python": joined.event.python} if joined is not None else {}) if found else None


def _machine(evidence: Evidence) -> Settings:
    machine = evidence.last(ev.MachineRead)
    found: Settings = {"machine: devices": ", ".join(evidence.seen(ev.FrameworkSeen).devices) or None}
    if evidence.opened is not None:
        opened = evidence.opened.event
        found |= {"machine: host": opened.host, "machine: cores": opened.cpus}
        found["command"] = " ".join(opened.command)
    if machine is not None:
        found["machine: memory limit"] = machine.event.memory_limit_bytes
        found["machine: pids limit"] = machine.event.pids_limit
        found |= {f"machine: limit {name}": value for name, value in machine.event.rlimits.items()}
        found["machine: GPUs"] = ", ".join(str(gpu.get("name")) for gpu in machine.event.gpus)
    return found


def _digests(evidence: Evidence) -> Settings | None:
    if evidence.last(ev.ScriptRead) is None:
        return None
    read = evidence.seen(ev.ScriptRead)
    return {os.path.basename(read.script): read.digest} | read.beside


def _node(node: PipelineNode) -> str:
    size = node.buffer_size or node.settings.get("batch_size") or node.settings.get("count")
    return f"{node.op}({size})" if size else node.op


def _batch(evidence: Evidence) -> int | None:
    if evidence.fit is not None and evidence.fit.start.batch_size:
        return evidence.fit.start.batch_size
    sizes = [node.settings.get("batch_size") for node in evidence.nodes if node.op == "batch"]
    known = [size for size in sizes if isinstance(size, int)]
    return known[-1] if known else None


def _input_values(evidence: Evidence, model: ev.ModelSeen) -> int | None:
    trained = [one.event for one in evidence.all(ev.BatchSeen) if one.event.role == "train"]
    seen = [one.parts for one in trained if one.parts]
    shape = seen[-1][0].get("shape") if seen else model.input_shape
    sides = shape[1:] if isinstance(shape, list | tuple) else ()
    return math.prod(sides) if sides and all(isinstance(side, int) for side in sides) else None


def _step_s(evidence: Evidence) -> float | None:
    """Of the steps after the first, which contains the compiling."""
    epochs = [one.event for one in evidence.all(ev.EpochDone) if one.event.steps > 2 and one.event.duration_s]
    if epochs:
        rests = [
            (one.duration_s - (one.first_step_s or 0.0), one.steps - (one.first_step_s is not None))
            for one in epochs
        ]
        return median([seconds / max(1, steps) for seconds, steps in rests])
    own = [sample for _, sample in evidence.samples if sample.step > 0]
    steps = own[-1].step - own[0].step if len(own) > 2 else 0
    return (own[-1].mono - own[0].mono) / steps if steps > 0 else None


def _wait_s(evidence: Evidence) -> float | None:
    last = next((sample for _, sample in reversed(evidence.samples) if sample.step > 0), None)
    if last is None or not (last.data_wait_s or last.compute_s):
        return None
    return last.data_wait_s / last.step
