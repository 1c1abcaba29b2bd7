"""The training step is run operation by operation."""

from __future__ import annotations

from holdfast.explain.causes.declare import Group, cause
from holdfast.explain.evidence import Evidence
from holdfast.explain.unconverted import Fact, Finding, Remedy, Strength
from holdfast.explain.words import span
from holdfast.journal import events as ev


@cause("eager-execution", Group.ENVIRONMENT)
def eager_execution(evidence: Evidence) -> Finding | None:
    model = next((said for said in reversed(evidence.all(ev.ModelSeen)) if said.event.run_eagerly), None)
    warned = next(
        (
            said
            for said in evidence.all(ev.WarningSeen)
            if "run_functions_eagerly" in said.event.text or "Even though the `tf.config" in said.event.text
        ),
        None,
    )
    switched = next(
        (
            said
            for said in evidence.all(ev.FrameworkSeen)
            if said.event.environment.get("functions_run_eagerly") == "true"
        ),
        None,
    )
    known = model or switched or warned
    if known is None:
        return None
    steps = evidence.step or 0
    trained_s = sum(said.event.duration_s for said in evidence.all(ev.EpochDone))
    if not trained_s and len(evidence.samples) > 2:
        own = [s for _, s in evidence.samples if s.step > 0]
        trained_s = own[-1].mono - own[0].mono if len(own) > 1 else 0.0
    facts = [
        Fact(
            "the model runs eagerly: run_eagerly=True, or tf.config.run_functions_eagerly"
            + (f" ({model.event.where})" if model is not None and model.event.where else "")
            if model is not None or switched is None
            else "all functions run eagerly: tf.config.run_functions_eagerly(True)",
            known.source,
        )
    ]
    if steps and trained_s:
        facts.append(
            Fact(
                f"a step takes {span(trained_s / steps)}; compiled, it would take a tenth where operations are small",
                "journal.jsonl",
            )
        )
    enough = steps >= 100 and trained_s >= 5
    return Finding(
        "eager-execution",
        Strength.SUPPORTED if enough else Strength.POSSIBLE,
        "the training step is run operation by operation instead of compiled",
        tuple(facts),
        (),
        (
            Remedy(
                "leave it out, except for debugging",
                "your-choice",
                "model.compile(…)   # without run_eagerly=True"
                if model is not None or switched is None
                else "tf.config.run_functions_eagerly(False)",
            ),
        ),
        ends=False,
    )
