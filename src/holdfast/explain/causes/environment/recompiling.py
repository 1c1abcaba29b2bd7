"""XLA compiles again for every new shape."""

import re

from holdfast.explain.rule import Evidence, Fact, Finding, Remedy, Strength, Title, cause, ev

#: A training step is compiled a few times in any run: for the first batch, the last one, validation. Chosen; no
#: measurement is recorded.
_FEWEST_COMPILES = 8
#: …and from here on no reading but new shapes is left. Chosen as well.
_CERTAIN_COMPILES = 15
#: Fewer are enough where nearly every step waited for one, and all of them took this long together. Chosen.
_FEWEST_LONG, _LONG_S, _NEARLY_EVERY = 4, 20.0, 0.8
#: Compiles per call: below it, a set of shapes repeats and all compiles are soon over. Chosen as well.
_COMPILES_PER_CALL = 0.2
#: Growth of executable memory, in units of what the first program took, and per step. That each new
#: shape leaves regions is measured (see the probe's xla_compilations); these two numbers are chosen.
_FEWEST_BY_MEMORY, _COMPILES_PER_STEP = 4, 0.5
_SHOWN = 3  # signatures
#: What XLA prints of one compilation, and how many of them are more than those of any large model. Chosen.
_SLOW, _FEWEST_SLOW = re.compile(r"Very slow compile"), 4


@cause("recompiling")
def recompiling(evidence: Evidence) -> Finding | None:
    most = max(evidence.all(ev.TracesCounted), key=lambda one: _again(one.event), default=None)
    if most is None or not _many(most.event, evidence.step or 0):
        return _by_machine_code(evidence) or _slow(evidence)
    event, model, jax = most.event, evidence.model, evidence.backend == "jax"
    jit = model is not None and model.event.jit_compile in (True, "True")
    calls = event.calls or evidence.step or 0
    often = _again(event) >= _COMPILES_PER_CALL * max(1, calls)
    if not (jit or jax) or not often or event.reason == "new-object":
        return _by_machine_code(evidence)
    by_jit, source = jit and not jax, model.source if model is not None else most.source
    values = {
        "function": event.function,
        "where": event.where,
        "compiles": _again(event),
        "calls": calls or None,
        "counted_steps": not event.calls,
        "seconds": event.seconds or None,
    }
    facts, last = [Fact("compile.counted", values, most.source)], event.signatures[-_SHOWN:]
    facts += [most.fact("compile.signatures", last=last)] if last else []
    facts.append(Fact("compile.by-xla", {"jit_compile": by_jit}, source))
    other = Remedy("compile.without-xla") if by_jit else Remedy("shapes.use-a-few")
    remedies, strength = [Remedy("shapes.pad"), other], _strength(_again(event))
    return Finding(strength, Title("recompiling", values), facts, remedies, ends=False)


def _again(event: ev.TracesCounted) -> int:
    """Compiles without those that any run has."""
    return event.traces - event.expected


def _many(event: ev.TracesCounted, steps: int) -> bool:
    again = _again(event)
    long = event.seconds >= _LONG_S and again >= _NEARLY_EVERY * max(1, steps)
    return again >= (_FEWEST_LONG if long else _FEWEST_COMPILES)


def _strength(compiles: int) -> Strength:
    if compiles < _FEWEST_COMPILES:
        return Strength.POSSIBLE
    return Strength.established_if(compiles >= _CERTAIN_COMPILES)


def _slow(evidence: Evidence) -> Finding | None:
    slow = [line for line in evidence.output.lines if _SLOW.search(line.text)]
    if len(slow) < _FEWEST_SLOW:
        return None
    remedies = [Remedy("shapes.pad")]
    return Finding(Strength.POSSIBLE, Title("recompiling.slow"), [slow[-1].fact], remedies, ends=False)


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
    compiled = counted[-1].fact("compile.machine-code", **values, **regions)
    facts = [counted[0].fact("compile.by-xla", jit_compile=True), compiled]
    remedies = [Remedy("shapes.pad"), Remedy("compile.without-xla")]
    return Finding(_strength(compiles), Title("recompiling.every-batch", values), facts, remedies, ends=False)
