"""What a run was made of, for comparing two: data, pipeline, model, optimizer, versions, machine, speed, memory."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, field
from typing import Any

from holdfast.explain.evidence import Evidence, Sources
from holdfast.explain.readings.numbers import median
from holdfast.explain.readings.pipeline import PipelineNode
from holdfast.journal import events as ev

#: Copies of every trainable parameter that an optimizer keeps beside it.
_SLOTS = {
    "adam": 2, "adamw": 2, "nadam": 2, "adamax": 2, "lamb": 2, "adadelta": 2, "ftrl": 2,
    "lion": 1, "rmsprop": 1, "adagrad": 1, "adafactor": 1, "muon": 1, "sgd": 0,
}  # fmt: skip


@dataclass(frozen=True)
class Portrait:
    name: str
    #: "data: batches" -> value, in the order in which they are shown.
    settings: dict[str, Any] = field(default_factory=dict)
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
    unseen: frozenset[str] = frozenset()  # kinds of facts that it ended before: data, model, fit, framework
    scripts: dict[str, str] = field(default_factory=dict)  # file name -> text

    @property
    def dynamic_bytes(self) -> int | None:
        """What training added to the process."""
        if self.peak_bytes is None or self.base_bytes is None:
            return None
        return max(0, self.peak_bytes - self.base_bytes)


def portray(evidence: Evidence, sources: Sources | None = None) -> Portrait:
    sources = sources or Sources()
    model = evidence.model.event if evidence.model is not None else ev.ModelSeen()
    batch, values = _batch(evidence), _input_values(evidence, model)
    kept, kept_name = _kept(evidence)
    return Portrait(
        name=evidence.name,
        settings=_settings(evidence, model, batch) | _started_with(evidence, sources),
        nodes=evidence.nodes,
        parameters=model.parameters,
        trainable=model.trainable_parameters,
        slots=_SLOTS.get(model.optimizer.lower(), 1 if model.optimizer else 0),
        batch=batch,
        input_values=values,
        value_bytes=2 if "16" in model.precision else 4,
        peak_bytes=max((s.tree_rss_bytes or s.rss_bytes for _, s in evidence.samples), default=None),
        base_bytes=_base(evidence),
        workers_bytes=max(
            (sum(p.private_bytes or 0 for p in s.processes) for _, s in evidence.samples), default=0
        ),
        kept_bytes=kept,
        kept_name=kept_name,
        step_s=_step_s(evidence),
        wait_s=_wait_s(evidence),
        steps=evidence.step or 0,
        unseen=_unseen(evidence),
        scripts=sources.scripts,
    )


def source_of(setting: str) -> str:
    """Which kind of facts a setting is read from."""
    if setting in _OF_FIT:
        return "fit"
    group = setting.partition(":")[0]
    return {"pipeline": "data", "training": "model", "environment": "version"}.get(group, group)


_OF_FIT = ("training: epochs", "training: steps an epoch", "training: callbacks", "training: batch")


def _unseen(evidence: Evidence) -> frozenset[str]:
    seen = {
        "data": evidence.data() is not None,
        "model": evidence.model is not None,
        "fit": evidence.fit is not None and evidence.fit.started is not None,
        "version": bool(evidence.all(ev.FrameworkSeen)),
        "script": evidence.last(ev.ScriptRead) is not None,
    }
    return frozenset(kind for kind, known in seen.items() if not known)


def _started_with(evidence: Evidence, sources: Sources) -> dict[str, Any]:
    found = {f"recipe: {name}": value for name, value in sources.recipe.items()}
    script = evidence.last(ev.ScriptRead)
    if script is not None:
        event = script.event
        found |= {f"script: {os.path.basename(event.script)}": event.digest}
        found |= {f"script: {name}": digest for name, digest in event.beside.items()}
    return found


def _settings(evidence: Evidence, model: ev.ModelSeen, batch: int | None) -> dict[str, Any]:
    nodes = {"pipeline": " > ".join(_node(node) for node in evidence.nodes)}
    return (
        _data(evidence) | nodes | _training(evidence, model, batch) | _versions(evidence) | _machine(evidence)
    )


def _data(evidence: Evidence) -> dict[str, Any]:
    data = evidence.data()
    if data is None:
        return {}
    event = data.event
    return {
        "data: kind": event.type,
        "data: batches": event.cardinality,
        "data: files": event.file_count,
        "data: bytes of arrays": event.array_bytes,
        "data: element": str(event.element_spec or ""),
        "data: bytes of a batch": evidence.batch_bytes,
        "data: workers": event.workers,
    } | {
        f"data: largest {name}": values.get("max")
        for name, values in event.statistics.items()
        if isinstance(values, dict)
    }


def _training(evidence: Evidence, model: ev.ModelSeen, batch: int | None) -> dict[str, Any]:
    started = evidence.fit.started if evidence.fit is not None else None
    fit = started.event if started is not None else None
    return {
        "model: parameters": model.parameters,
        "model: trainable parameters": model.trainable_parameters,
        "model: layers": model.layers,
        "model: input": str(model.input_shape or ""),
        "model: loss": model.loss,
        "training: batch": batch,
        "training: optimizer": model.optimizer,
        "training: learning rate": model.learning_rate,
        "training: schedule": model.learning_rate_schedule,
        "training: precision": model.precision,
        "training: eager": model.run_eagerly,
        "training: XLA": model.jit_compile,
        "training: epochs": fit.epochs if fit else None,
        "training: steps an epoch": fit.planned_steps_per_epoch if fit else None,
        "training: callbacks": ", ".join(str(one.get("class")) for one in fit.callbacks) if fit else None,
    }


def _versions(evidence: Evidence) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for framework in (seen.event for seen in evidence.all(ev.FrameworkSeen)):
        found |= {f"version: {name}": version for name, version in framework.versions.items()}
        found[f"version: {framework.name}"] = framework.version
        found["machine: devices"] = ", ".join(framework.devices)
        found |= {f"environment: {name}": value for name, value in framework.environment.items()}
    joined = evidence.first(ev.ProcessJoined)
    return found | ({"version: Python": joined.event.python} if joined is not None else {})


def _machine(evidence: Evidence) -> dict[str, Any]:
    opened, machine = evidence.opened, evidence.last(ev.MachineRead)
    found: dict[str, Any] = {}
    if opened is not None:
        found |= {
            "machine: host": opened.event.host,
            "machine: cores": opened.event.cpus,
            "machine: memory": opened.event.memory_bytes,
            "command": " ".join(opened.event.command),
        }
    if machine is not None:
        found |= {
            "machine: memory limit": machine.event.memory_limit_bytes,
            "machine: pids limit": machine.event.pids_limit,
        }
        found |= {f"machine: limit {name}": value for name, value in machine.event.rlimits.items()}
        found["machine: GPUs"] = ", ".join(str(gpu.get("name")) for gpu in machine.event.gpus)
    return found


def _node(node: PipelineNode) -> str:
    size = node.buffer_size or node.settings.get("batch_size") or node.settings.get("count")
    return f"{node.op}({size})" if size else node.op


def _batch(evidence: Evidence) -> int | None:
    fit = evidence.fit
    if fit is not None and fit.started is not None and fit.started.event.batch_size:
        return fit.started.event.batch_size
    sizes = [node.settings.get("batch_size") for node in evidence.nodes if node.op == "batch"]
    known = [size for size in sizes if isinstance(size, int)]
    return known[-1] if known else None


def _input_values(evidence: Evidence, model: ev.ModelSeen) -> int | None:
    seen = [said for said in evidence.all(ev.BatchSeen) if said.event.role == "train" and said.event.parts]
    shape = seen[-1].event.parts[0].get("shape") if seen else model.input_shape
    if (
        not isinstance(shape, list | tuple)
        or len(shape) < 2
        or not all(isinstance(side, int) for side in shape[1:])
    ):
        return None
    return math.prod(shape[1:])


def _base(evidence: Evidence) -> int | None:
    before = [s.tree_rss_bytes or s.rss_bytes for _, s in evidence.samples if not s.fit and not s.step]
    inside = [s.tree_rss_bytes or s.rss_bytes for _, s in evidence.samples]
    return before[-1] if before else inside[0] if inside else None


def _kept(evidence: Evidence) -> tuple[int, str]:
    from holdfast.explain.readings.memory import kept_by_objects

    found = kept_by_objects(evidence)
    return (found[0], str(found[1].get("name"))) if found is not None else (0, "")


def _step_s(evidence: Evidence) -> float | None:
    """Of the steps after the first, which contains the compiling."""
    rests = [
        (said.event.duration_s - (said.event.first_step_s or 0.0))
        / max(1, said.event.steps - (said.event.first_step_s is not None))
        for said in evidence.all(ev.EpochDone)
        if said.event.steps > 2 and said.event.duration_s
    ]
    if rests:
        return median(rests)
    own = [(s.mono, s.step) for _, s in evidence.samples if s.step > 0]
    if len(own) > 2 and own[-1][1] > own[0][1]:
        return (own[-1][0] - own[0][0]) / (own[-1][1] - own[0][1])
    return None


def _wait_s(evidence: Evidence) -> float | None:
    own = [s for _, s in evidence.samples if s.step > 0]
    if not own or not own[-1].step or not (own[-1].data_wait_s or own[-1].compute_s):
        return None
    return own[-1].data_wait_s / own[-1].step
