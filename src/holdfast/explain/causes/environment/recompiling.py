"""XLA compiles again for every new shape."""

from __future__ import annotations

from holdfast.explain.readings.output import clipped
from holdfast.explain.rule import Evidence, Fact, Finding, Recorded, Remedy, Strength, Title, cause, ev

#: A training step is compiled a few times in any run: for the first batch, the last one, validation. Chosen; no
#: measurement is recorded.
_FEWEST_COMPILES = 8
#: …and from here on no reading but new shapes is left. Chosen as well.
_CERTAIN_COMPILES = 15
#: Compiles per call: below it, a set of shapes repeats and all compiles are soon over. Chosen as well.
_COMPILES_PER_CALL = 0.2
#: Growth of executable memory, in units of what the first program took, and per step. That each new
#: shape leaves regions is measured (see the probe's xla_compilations); these two numbers are chosen.
_FEWEST_BY_MEMORY, _COMPILES_PER_STEP = 4, 0.5
_SHOWN = 3  # signatures


@cause("recompiling")
def recompiling(evidence: Evidence) -> Finding | None:
    counted = [one for one in evidence.all(ev.TracesCounted) if one.event.traces >= _FEWEST_COMPILES]
    if not counted:
        return _by_machine_code(evidence) or _slow(evidence)
    most = max(counted, key=lambda one: one.event.traces)
    model, jax = evidence.model, evidence.backend == "jax"
    jit = model is not None and model.event.jit_compile in (True, "True")
    calls = most.event.calls or evidence.step or 0
    often = most.event.traces >= _COMPILES_PER_CALL * max(1, calls)
    if not (jit or jax) or not often or most.event.reason == "new-object":
        return _by_machine_code(evidence)
    by_jit = jit and not jax
    source = model.source if model is not None else most.source
    return Finding(
        Strength.ESTABLISHED if most.event.traces >= _CERTAIN_COMPILES else Strength.SUPPORTED,
        Title("recompiling", _values(most.event, calls)),
        because=[*_compiled(most, calls), Fact("compile.by-xla", {"jit_compile": by_jit}, source)],
        remedies=[
            Remedy("shapes.pad"),
            Remedy("compile.without-xla") if by_jit else Remedy("shapes.use-a-few"),
        ],
        ends=False,
    )


def _values(event: ev.TracesCounted, calls: int) -> dict[str, object]:
    return {
        "function": event.function,
        "where": event.where,
        "compiles": event.traces,
        "calls": calls or None,
        "counted_steps": not event.calls,
    }


def _compiled(counted: Recorded[ev.TracesCounted], calls: int) -> list[Fact]:
    facts = [Fact("compile.counted", _values(counted.event, calls), counted.source)]
    last = counted.event.signatures[-_SHOWN:]
    return facts + ([Fact("compile.signatures", {"last": last}, counted.source)] if last else [])


def _slow(evidence: Evidence) -> Finding | None:
    line = evidence.output.last(r"Very slow compile|\[Compiling module", advice=True)
    if line is None:
        return None
    return Finding(
        Strength.POSSIBLE,
        Title("recompiling.slow"),
        because=[Fact("error.quoted", {"text": clipped(line.text)}, line.source)],
        remedies=[Remedy("shapes.pad")],
        ends=False,
    )


def _by_machine_code(evidence: Evidence) -> Finding | None:
    """New executable memory with nearly every step: XLA compiled, though TensorFlow traced nothing."""
    counted = evidence.all(ev.MachineCodeCounted)
    if len(counted) < 2:
        return None
    first, last = counted[0].event, counted[-1].event
    compiles = (last.regions - first.regions) // max(2, first.regions)
    steps = max(1, last.step - first.step)
    if compiles < _FEWEST_BY_MEMORY or compiles < _COMPILES_PER_STEP * steps:
        return None
    values = {"function": last.function, "where": last.where, "compiles": compiles, "steps": steps}
    regions = {"first_regions": first.regions, "last_regions": last.regions}
    return Finding(
        Strength.ESTABLISHED if compiles >= _CERTAIN_COMPILES else Strength.SUPPORTED,
        Title("recompiling.every-batch", values),
        because=[
            Fact("compile.by-xla", {"jit_compile": True}, counted[0].source),
            Fact("compile.machine-code", {**values, **regions}, counted[-1].source),
        ],
        remedies=[Remedy("shapes.pad"), Remedy("compile.without-xla")],
        ends=False,
    )
