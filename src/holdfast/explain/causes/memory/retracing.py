"""A tf.function is traced again and again."""

from __future__ import annotations

from holdfast.explain.causes.declare import Group, cause
from holdfast.explain.evidence import Evidence
from holdfast.explain.readings.growth import GrowthShape
from holdfast.explain.readings.memory import MemoryEnd, memory_end
from holdfast.explain.readings.recorded import Recorded
from holdfast.explain.unconverted import Fact, Finding, Remedy, RuledOut, Strength, grew
from holdfast.explain.words import clipped, listed, whole
from holdfast.journal import events as ev


@cause(
    "retracing",
    Group.MEMORY,
    specialises=(
        "memory-leak",
        "recompiling",
    ),
)
def retracing(evidence: Evidence) -> Finding | RuledOut | None:
    worst = max(evidence.all(ev.TracesCounted), key=lambda said: said.event.traces, default=None)
    warned = [said for said in evidence.all(ev.WarningSeen) if "retracing" in said.event.text]
    if worst is None or worst.event.traces < 8:
        return _by_warning(evidence, warned)
    event = worst.event
    if event.reason == "new-object" and event.where.startswith(("keras/", "tf_keras/")):
        return None  # a new model makes its own step; that is not one function traced again
    if event.signatures and event.signatures[-1].startswith("compiled in"):
        return None  # JAX: see recompiling
    rate = event.traces / max(1, event.calls)
    if (rate < 0.2 and event.traces < 40) or rate < 0.01:  # a few lengths of padding, among very many calls
        return RuledOut(
            "retracing",
            f"{event.function} was traced {event.traces} times in {whole(event.calls)} calls",
            worst.source,
        )
    ended = memory_end(evidence)
    where = f" ({event.where})" if event.where else ""
    facts = [
        Fact(
            f"{event.function}{where} was traced {event.traces} times in {whole(event.calls)} calls",
            worst.source,
        )
    ]
    facts += (
        [
            Fact(
                f"the last signatures: {listed([clipped(one, 60) for one in event.signatures[-3:]], 3)}",
                worst.source,
            )
        ]
        if event.signatures
        else []
    )
    facts += [Fact("TensorFlow warned of retracing", warned[0].source)] if warned else []
    if evidence.growth.when not in (GrowthShape.NONE, GrowthShape.IN_WORKERS):
        facts.append(grew(evidence))
    many = event.traces >= 15 and rate >= 0.5
    strength = (
        Strength.ESTABLISHED
        if many
        else Strength.SUPPORTED
        if event.traces >= 15 and rate >= 0.2
        else Strength.POSSIBLE
    )
    why, remedy = _WHY.get(event.reason, _WHY[""])
    return Finding(
        "retracing",
        strength,
        f"{event.function}{where} is traced anew {why}: {event.traces} times in {whole(event.calls)} calls",
        tuple(facts),
        (),
        (remedy,),
        led_to=ended.cause,
        ends=ended is not MemoryEnd.NO,
    )


def _by_warning(evidence: Evidence, warned: list[Recorded[ev.WarningSeen]]) -> Finding | None:
    printed = evidence.output.last(r"triggered tf\.function retracing", advice=True)
    if (not warned and printed is None) or len(evidence.fits) > 2:
        return None
    source = warned[0].source if warned else printed.source if printed else ""
    return Finding(
        "retracing",
        Strength.POSSIBLE,
        "TensorFlow warned that a function is traced again and again",
        (Fact("the warning says how often up to then; it is not repeated", source),),
        (),
        (_WHY[""][1],),
        ends=False,
    )


_WHY = {
    "new-shape": (
        "for every new shape",
        Remedy(
            "say which dimensions vary, or pad to a few sizes",
            "your-choice",
            "@tf.function(reduce_retracing=True)\n# or input_signature=[tf.TensorSpec([None, None, None, 3], "
            "tf.float32)]",
        ),
    ),
    "python-value": (
        "for every new Python value",
        Remedy("pass numbers as tensors", "your-choice", "step(x, tf.constant(learning_rate))"),
    ),
    "new-object": ("for every new object", Remedy("make the function once, outside the loop", "your-choice")),
    "": (
        "at nearly every call",
        Remedy(
            "make the function once, pass tensors instead of Python numbers, keep shapes fixed",
            "your-choice",
            "@tf.function(reduce_retracing=True)",
        ),
    ),
}
