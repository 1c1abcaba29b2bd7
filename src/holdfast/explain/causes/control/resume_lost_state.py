"""Training was resumed without the optimizer's state."""

from __future__ import annotations

from holdfast.explain.causes.declare import Group, cause
from holdfast.explain.evidence import Evidence
from holdfast.explain.unconverted import Fact, Finding, Remedy, Strength
from holdfast.journal import events as ev


@cause("resume-lost-state", Group.CONTROL)
def resume_lost_state(evidence: Evidence) -> Finding | None:
    fit = evidence.fit
    restored = [
        said
        for said in evidence.all(ev.Restored)
        if said.event.by
        != "trainer"  # our own restores all or nothing; its step 0 is a run stopped before the first
        and (said.event.optimizer_restored is False or said.event.iterations == 0)
    ]
    skipped = next(
        (
            said
            for said in evidence.all(ev.WarningSeen)
            if "Skipping variable loading for optimizer" in said.event.text
        ),
        None,
    )
    printed = evidence.output.last("Skipping variable loading for optimizer", advice=True)
    if fit is None or fit.started is None or not (restored or skipped is not None or printed is not None):
        return None
    begun = fit.started.event.initial_epoch
    # Weights from elsewhere, then two phases with another optimizer: that is how one fine-tunes.
    phases = begun > 0 and any(one.epochs for one in evidence.fits[:-1])
    resumed = (begun > 0 and not phases) or len(evidence.earlier) > 0
    fresh = fit.started.event.iterations == 0
    if not resumed or not (fresh or skipped is not None or printed is not None):
        return None
    facts = [
        Fact(
            f"training goes on at epoch {fit.started.event.initial_epoch}"
            if fit.started.event.initial_epoch
            else "an earlier attempt had trained already",
            fit.started.source,
        )
    ]
    if restored:
        facts.insert(
            0,
            Fact(
                f"{restored[-1].event.by} restored {restored[-1].event.path} without the optimizer's state"
                + (f" ({restored[-1].event.where})" if restored[-1].event.where else ""),
                restored[-1].source,
            ),
        )
    if fresh:
        facts.append(
            Fact(
                "the optimizer has done 0 iterations: its momenta and its schedule begin anew",
                fit.started.source,
            )
        )
    if skipped is not None or printed is not None:
        facts.append(
            Fact(
                "Keras said that it skips the optimizer's variables",
                skipped.source if skipped is not None else printed.source if printed is not None else "",
            )
        )
    return Finding(
        "resume-lost-state",
        Strength.ESTABLISHED if fresh and restored else Strength.SUPPORTED,
        "it was resumed without the optimizer's state: momenta and schedule began anew",
        tuple(facts),
        (),
        (
            Remedy(
                "save and load the whole model, with its optimizer",
                "your-choice",
                'model.save("last.keras")\nmodel = keras.models.load_model("last.keras")',
            ),
            Remedy(
                "let a backup do it",
                "your-choice",
                'keras.callbacks.BackupAndRestore("backup", double_checkpoint=True)',
            ),
        ),
        ends=False,
    )
