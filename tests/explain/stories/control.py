"""Control flow and numerics."""

from __future__ import annotations

from holdfast.journal import events as ev
from holdfast.journal.stacks import Frame, Thread
from tests.explain.made import KERAS, MIB, Run, main_in_fit, user


def early_stopping(run: Run) -> None:
    run.fit(epochs=50)
    run.probe(
        ev.StopRequested(
            by="EarlyStopping",
            epoch=4,
            step=500,
            where="keras/src/callbacks/early_stopping.py:148",
            settings={"monitor": "val_loss", "patience": 3, "best": 0.41, "stopped_epoch": 4},
        )
    )
    run.epochs([100] * 5, stopped=True)
    run.ended(0)


def near_early_stopping(run: Run) -> None:
    """Armed, and never fired."""
    run.fit(epochs=5, callbacks=[{"class": "EarlyStopping", "settings": {"monitor": "loss", "patience": 3}}])
    run.epochs([100] * 5)
    run.ended(0)


def stopped_by_callback(run: Run) -> None:
    run.fit(epochs=10)
    run.probe(ev.StopRequested(by="GoodEnough", where="train.py:18", epoch=2, step=300, logs={"loss": 0.05}))
    run.epochs([100] * 3, stopped=True)
    run.ended(0)


def near_stopped_by_callback(run: Run) -> None:
    """Asked in the last epoch, where it changes nothing."""
    run.fit(epochs=3)
    run.probe(ev.StopRequested(by="GoodEnough", where="train.py:18", epoch=2, step=300))
    run.epochs([100] * 3, stopped=True)
    run.ended(0)


def stopped_on_nan(run: Run) -> None:
    run.fit(epochs=10)
    run.probe(ev.StopRequested(by="TerminateOnNaN", step=33, epoch=0))
    run.output("Batch 33: Invalid loss, terminating training\n")
    run.epochs([33], [float("nan")], stopped=True)
    run.ended(0)


def near_stopped_on_nan(run: Run) -> None:
    near_early_stopping(run)


def callback_raised(run: Run) -> None:
    run.fit()
    run.raised(
        "RuntimeError",
        "the server said no",
        callback="Upload",
        user_line="train.py:14",
        user_code="raise RuntimeError(text)",
    )


def near_callback_raised(run: Run) -> None:
    run.fit()
    run.raised("RuntimeError", "the server said no", frames=["train.py:30 <module>", "train.py:12 load"])


def callback_blocked(run: Run) -> None:
    run.fit()
    frames = [
        user(15, "on_epoch_end", "requests.post(url, json=logs)"),
        Frame(KERAS, 1, "fit"),
        user(30, "<module>"),
    ]
    run.stalled(
        "callback",
        Thread(
            tid=4000,
            main=True,
            state="S",
            wait="sk_wait_data",
            syscall="recvfrom fd=9 (socket:[99])",
            frames=frames,
        ),
        callback="Upload",
    )
    run.stopped()


def near_callback_blocked(run: Run) -> None:
    run.fit()
    run.stalled(
        "callback", Thread(tid=4000, main=True, state="S", frames=[user(15, "on_epoch_end")]), callback="Slow"
    )
    run.supervisor(ev.StallEnded(silent_for_s=95.0))
    run.epochs([100, 100, 100])
    run.ended(0)


def waiting_for_a_person(run: Run) -> None:
    run.fit()
    frames = [user(15, "on_epoch_end", 'input("go on? ")'), Frame(KERAS, 1, "fit"), user(30, "<module>")]
    run.output("go on? ")
    run.stalled(
        "callback",
        Thread(
            tid=4000,
            main=True,
            state="S",
            wait="anon_pipe_read",
            syscall="read fd=0 (pipe:[77])",
            frames=frames,
        ),
        callback="Ask",
    )
    run.stopped()


def near_waiting_for_a_person(run: Run) -> None:
    """A read of a pipe that is not standard input."""
    run.fit()
    frames = [user(15, "load"), Frame(KERAS, 1, "fit"), user(30, "<module>")]
    run.stalled(
        "data-wait",
        Thread(
            tid=4000,
            main=True,
            state="S",
            wait="anon_pipe_read",
            syscall="read fd=7 (pipe:[78])",
            frames=frames,
        ),
    )
    run.stopped()


def already_at_target(run: Run) -> None:
    run.probe(ev.Restored(path="backup", by="BackupAndRestore", epoch=5))
    run.probe(ev.FitStarted(epochs=5, initial_epoch=5, where="train.py:30"))
    run.probe(ev.FitDone(steps=0, epochs=0, epochs_done=0))
    run.ended(0)


def near_already_at_target(run: Run) -> None:
    run.probe(ev.FitStarted(epochs=5, initial_epoch=3, planned_steps_per_epoch=10, iterations=30))
    run.epochs([10, 10])
    run.ended(0)


def _monitored(run: Run, monitor: str) -> None:
    run.fit(epochs=5, callbacks=[{"class": "EarlyStopping", "settings": {"monitor": monitor, "patience": 1}}])
    for epoch in range(5):
        run.probe(
            ev.EpochDone(
                epoch=epoch, steps=100, logs={"loss": 1.0 / (epoch + 1), "val_loss": 1.0 / (epoch + 1)}
            )
        )
    run.probe(ev.FitDone(steps=500, epochs=5, epochs_done=5, steps_by_epoch=[100] * 5))
    run.ended(0)


def monitor_missing(run: Run) -> None:
    _monitored(run, "val_los")


def near_monitor_missing(run: Run) -> None:
    _monitored(run, "val_loss")


def _rates(run: Run, rates: list[float], *, schedule: str = "", reducer: bool = True) -> None:
    callbacks = (
        [
            {
                "class": "ReduceLROnPlateau",
                "settings": {"factor": 0.01, "patience": 0, "min_delta": 1, "min_lr": 0},
            }
        ]
        if reducer
        else []
    )
    run.probe(
        ev.ModelSeen(
            parameters=10, trainable_parameters=10, learning_rate=rates[0], learning_rate_schedule=schedule
        )
    )
    run.fit(epochs=len(rates), callbacks=callbacks)
    for epoch, rate in enumerate(rates):
        run.probe(
            ev.EpochDone(epoch=epoch, steps=100, logs={"loss": 0.7 - 0.001 * epoch}, learning_rate=rate)
        )
    run.probe(
        ev.FitDone(
            steps=100 * len(rates),
            epochs=len(rates),
            epochs_done=len(rates),
            steps_by_epoch=[100] * len(rates),
        )
    )
    run.ended(0)


def learning_rate_collapsed(run: Run) -> None:
    _rates(run, [1e-3, 1e-5, 1e-7, 1e-9, 1e-11, 1e-11, 1e-11, 1e-11])


def near_learning_rate_collapsed(run: Run) -> None:
    """A cosine that ends with the training."""
    _rates(run, [1e-3, 9e-4, 7e-4, 5e-4, 3e-4, 1e-4, 2e-5, 1e-9], schedule="CosineDecay", reducer=False)


def _trainable(run: Run, count: int, changed: bool) -> None:
    run.probe(ev.ModelSeen(parameters=1000, trainable_parameters=count, where="train.py:25"))
    run.fit()
    run.epochs([100, 100, 100], weights_changed=changed)
    run.ended(0)


def nothing_trainable(run: Run) -> None:
    _trainable(run, 0, False)


def near_nothing_trainable(run: Run) -> None:
    """A frozen backbone under a head that learns."""
    _trainable(run, 12, True)


def _resumed(run: Run, *, initial_epoch: int, iterations: int, restored: bool) -> None:
    run.probe(
        ev.Restored(
            path="last.weights.h5",
            by="load_weights",
            iterations=iterations,
            optimizer_restored=restored,
            where="train.py:22",
        )
    )
    run.probe(
        ev.FitStarted(
            epochs=8, initial_epoch=initial_epoch, planned_steps_per_epoch=100, iterations=iterations
        )
    )
    run.epochs([100] * (8 - initial_epoch))
    run.ended(0)


def resume_lost_state(run: Run) -> None:
    _resumed(run, initial_epoch=5, iterations=0, restored=False)


def near_resume_lost_state(run: Run) -> None:
    """Pretrained weights for a training that begins."""
    _resumed(run, initial_epoch=0, iterations=0, restored=False)


# -- numerics -------------------------------------------------------------------------------------


def silent_but_moving(run: Run) -> None:
    run.fit(epochs=500, steps=100)
    run.samples(
        40, rss_bytes=600 * MIB, phase="step", fit=1, step=lambda n: 5 * n, loss=0.3, output_bytes=100
    )


def near_silent_but_moving(run: Run) -> None:
    """Silent, and standing."""
    run.fit(epochs=500, steps=100)
    run.samples(40, rss_bytes=600 * MIB, phase="step", fit=1, step=77, output_bytes=100)
    run.stalled("step", main_in_fit())
