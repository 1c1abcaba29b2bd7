"""Hand-made runs of our own trainer, as it leaves their journals."""

from __future__ import annotations

from holdfast.journal import events as ev
from tests.explain.made import Run


def doubted(rule: str, setting: str = "train.learning_rate", value: object = 1e-7) -> ev.SettingDoubted:
    return ev.SettingDoubted(
        rule=rule, setting=setting, value=value, text="said of it", change=f"{setting} = other"
    )


def trained(
    run: Run,
    *events: ev.Event,
    precision: float | None,
    steps: int = 200,
    losses: tuple[float, float] = (7.0, 3.5),
    learning_rate: float = 1e-3,
    answers: ev.ValidationAnswersSeen | None = None,
) -> None:
    """`precision` is the AP50 of the validation at the end; None without one. The loss falls evenly."""
    run.probe(
        ev.DatasetSeen(role="train", type="holdfast", cardinality=-1, file_count=160),
        ev.ModelSeen(
            name="ssd",
            parameters=1000,
            trainable_parameters=1000,
            optimizer="adamw",
            learning_rate=learning_rate,
        ),
        *events,
        ev.FitStarted(epochs=1, planned_steps_per_epoch=steps, batch_size=8, iterations=0),
    )
    first, last = losses
    for number in range(21):
        loss = first + (last - first) * number / 20
        logs = {"loss": loss, "classification": loss / 2, "localization": loss / 2}
        run.probe(ev.LossSeen(step=max(1, number * steps // 20), logs=logs, learning_rate=learning_rate))
    metrics = {} if precision is None else {"AP": precision / 2, "AP50": precision}
    if precision is not None:
        run.probe(*([answers] if answers else []), ev.ValidationDone(fit=1, logs=metrics))
    run.probe(
        ev.EpochDone(steps=steps, planned_steps=steps, logs=metrics),
        ev.FitDone(
            steps=steps,
            epochs=1,
            epochs_done=1,
            steps_by_epoch=[steps],
            iterations=steps,
            weights_changed=True,
        ),
    )
    run.ended(0)
