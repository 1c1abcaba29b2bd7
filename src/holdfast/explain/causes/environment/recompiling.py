"""XLA compiles anew for every new shape."""

from __future__ import annotations

from holdfast.explain.causes.declare import Group, cause
from holdfast.explain.evidence import Evidence
from holdfast.explain.unconverted import Fact, Finding, Remedy, Strength
from holdfast.explain.words import clipped, listed, whole
from holdfast.journal import events as ev


@cause("recompiling", Group.ENVIRONMENT)
def recompiling(evidence: Evidence) -> Finding | None:
    counted_ = [said for said in evidence.all(ev.TracesCounted) if said.event.traces >= 8]
    worst = max(counted_, key=lambda said: said.event.traces, default=None)
    model = evidence.model
    jit = model is not None and model.event.jit_compile in (True, "True")
    jax = evidence.backend == "jax"
    slow = evidence.output.last(r"Very slow compile|\[Compiling module", advice=True)
    if worst is None:
        return _by_machine_code(evidence) or (
            Finding(
                "recompiling",
                Strength.POSSIBLE,
                "XLA said that a compile was very slow",
                (Fact(clipped(slow.text, 120), slow.source),),
                (),
                (_PAD,),
                ends=False,
            )
            if slow is not None
            else None
        )
    event = worst.event
    calls, each = (event.calls, "calls") if event.calls else (evidence.step or 0, "steps")
    if not (jit or jax) or event.traces < 0.2 * max(1, calls) or event.reason == "new-object":
        return _by_machine_code(evidence)
    times = f"{event.traces} times" + (f" in {whole(calls)} {each}" if calls else "")
    where = f" ({event.where})" if event.where else ""
    facts = [
        Fact(
            f"{event.function}{where} was compiled {times}",
            worst.source,
        ),
        Fact(
            "it is compiled by XLA (jit_compile)" if jit and not jax else "JAX compiles every new shape",
            model.source if model is not None else worst.source,
        ),
    ]
    facts += (
        [
            Fact(
                f"the last ones: {listed([clipped(one, 60) for one in event.signatures[-3:]], 3)}",
                worst.source,
            )
        ]
        if event.signatures
        else []
    )
    return Finding(
        "recompiling",
        Strength.ESTABLISHED if event.traces >= 15 else Strength.SUPPORTED,
        f"XLA compiles {event.function} anew for every new shape: {times}",
        tuple(facts),
        (),
        (
            _PAD,
            Remedy(
                "leave XLA out where shapes must vary", "your-choice", "model.compile(…, jit_compile=False)"
            )
            if jit and not jax
            else Remedy("a few lengths, each padded to the next: one compilation for each", "your-choice"),
        ),
        ends=False,
    )


def _by_machine_code(evidence: Evidence) -> Finding | None:
    """New executable memory with nearly every step: XLA compiled, though TensorFlow traced nothing."""
    counted = evidence.all(ev.MachineCodeCounted)
    if len(counted) < 2:
        return None
    first, last = counted[0], counted[-1]
    old, new = first.event, last.event
    compiles = (new.regions - old.regions) // max(2, old.regions)
    steps = max(1, new.step - old.step)
    if compiles < 4 or compiles < 0.5 * steps:
        return None
    where = f" ({new.where})" if new.where else ""
    return Finding(
        "recompiling",
        Strength.ESTABLISHED if compiles >= 15 else Strength.SUPPORTED,
        f"XLA compiles {new.function} anew for nearly every batch: about {compiles} times in {steps} steps",
        (
            Fact(f"{new.function}{where} is compiled by XLA (jit_compile)", first.source),
            Fact(
                f"executable memory grew from {old.regions} to {new.regions} regions between step "
                f"{old.step:,} and step {new.step:,}: {compiles} times what the first program took",
                last.source,
            ),
        ),
        (),
        (
            _PAD,
            Remedy(
                "leave XLA out where shapes must vary", "your-choice", "model.compile(…, jit_compile=False)"
            ),
        ),
        ends=False,
    )


_PAD = Remedy(
    "pad to one size, or to a few",
    "your-choice",
    "ds = ds.padded_batch(8, padded_shapes=([512, 512, 3], [100, 4]))",
)
