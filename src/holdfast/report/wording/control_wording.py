"""Sentences of causes in callbacks, stopping, resuming and what is trained."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from holdfast.explain.causes.control.waiting_for_a_person import AwaitedInput
from holdfast.report.wording.advice import Advice
from holdfast.report.wording.template import Text, filled
from holdfast.units import number

_AWAITED: dict[str, str] = {
    AwaitedInput.DEBUGGER: "a command in the debugger",
    AwaitedInput.TERMINAL: "an answer at the terminal",
    AwaitedInput.WINDOW: "a window to be closed",
    AwaitedInput.STANDARD_INPUT: "an answer on standard input",
}


def _wrong_mode(values: Mapping[str, Any]) -> str:
    grows = "grow" if values["mode"] == "max" else "fall"
    return filled(
        f"waits for {{monitor}} to {grows}, and takes a model that learns for one that does not", values
    )


def _logs(values: Mapping[str, Any]) -> str:
    shown = [f"{name} {number(value)}" for name, value in values["logs"].items()]
    return filled("the logs were {logs:list 4}", {"logs": shown})


def _load_strictly(values: Mapping[str, Any]) -> str:
    given, wanted = str(values["given_name"]), str(values["wanted_name"])
    load, rename = "model.load_state_dict(state)", ""
    if wanted and given.endswith(f".{wanted}"):
        rename = f'name.removeprefix("{given[: -len(wanted)]}")'
    elif given and wanted.endswith(f".{given}"):
        rename = f'"{wanted[: -len(given)]}" + name'
    return f"state = {{{rename}: value for name, value in state.items()}}\n{load}" if rename else load


def _resumed(values: Mapping[str, Any]) -> str:
    return (
        filled("training continues at epoch {epoch}", values)
        if values["epoch"]
        else "an earlier attempt had trained"
    )


TITLES: dict[str, Text] = {
    "already-at-target": "there was nothing left to do: epoch {first_epoch} of {epochs} was reached before",
    "already-at-target.another-fit": "{idle} of {fits} fits trained nothing: each restored epoch {epochs} of {epochs}, "
    "which an earlier fit had saved",
    "already-at-target.steps": "there was nothing left to do: {done:count step} were done before, and the goal is "
    "{steps:count}",
    "already-at-target.no-round": "there was nothing left to do: the loop at {where} begins at "
    "{counter} = {first:count} and ends at {bound} = {goal:count}",
    "already-at-target.loop": "there was nothing left to do: {path} was written back as it was read",
    "callback-blocked": "it hangs inside the callback[ {callback}][ at {where}]",
    "callback-raised": "the callback {callback} raised {type}[ at {where}]: {message:clip 100}",
    "callback-raised.swallowed": "the callback[ {callback}] raised StopIteration, which Keras swallows: "
    "epochs are cut short",
    "early-stopping": "EarlyStopping stopped training[ at epoch {epoch} of {epochs}], as configured",
    "early-stopping.wrong-mode": lambda values: (
        filled("EarlyStopping stopped training[ at epoch {epoch} of {epochs}]: it ", values)
        + _wrong_mode(values)
    ),
    "early-stopping.ours": "early stopping stopped training at step {step:count}[ of {steps:count}], as "
    "configured",
    "learning-rate-collapsed": "the learning rate fell to {last:number} after {epochs_done} of {epochs} "
    "epochs; nothing is learned since then",
    "learning-rate-collapsed.zero": "the learning rate is 0 in all {epochs} epochs: nothing is learned",
    "learning-rate-collapsed.loop": "the learning rate fell to {last:number}; for most of the {steps:count "
    "step} it was next to nothing",
    "monitor-missing": "{callback:or a callback} watches {monitor}, which is not among the metrics"
    "[, so it never acts{never_acts:if}]",
    "learning-rate-collapsed.by-steps": "since step {step:count} of {steps:count} a step changes the weights by next "
    "to nothing",
    "nothing-trainable": "nothing is trainable: training changes no weight",
    "nothing-trainable.of-other-weights": "the optimizer at {where} was given no weight of what is trained: no weight "
    "changes",
    "nothing-trainable.no-gradient": "no gradient reaches any weight: the loss does not follow from them "
    "by steps that can be differentiated",
    "resume-lost-state": "it was resumed without the optimizer's state: momenta and schedule started again",
    "resume-lost-state.nothing-taken": "nothing was restored: load_state_dict took none of the "
    "{given:count entry/entries} that it was given[ ({where})]",
    "silent-but-moving": "it is not stuck: it trains, {steps_per_s:number} steps a second, and prints nothing",
    "stopped-by-callback": "{by:or the script} stopped the training[ ({where})]",
    "stopped-on-nan.raised": "the program stopped itself: the loss was not a number",
    "stopped-on-nan": "TerminateOnNaN ended the training: the loss was not a number",
    "waiting-for-a-person": lambda values: filled(
        f"it waits for {_AWAITED[values['awaited']]}[ at {{where}}]", values
    ),
}

FACTS: dict[str, Text] = {
    "save.by-another-fit": "an earlier fit of this process saved {path}",
    "fits.without-steps": "fit[ ({where})] did no step {idle:count time}",
    "fit.planned": "fit[ ({where})] was to run up to epoch {epochs} and began at epoch {first_epoch}",
    "fit.resumed-at": _resumed,
    "save.same-path": "then it was saved to {path} again",
    "loop.no-round": "the loop at {where} has no round: {counter} is {first:count}, its bound {bound} is {goal:count}",
    "steps.goal": "the goal of the script is {name} = {steps}",
    "checkpoint.restored": "{by} restored {path}[ at epoch {epoch}][, after {iterations:count step} of "
    "training]",
    "checkpoint.without-optimizer": "{by} restored {path} without the optimizer's state[ ({where})]",
    "state.not-taken": "the first entry of the checkpoint is called {given_name}, the model's {wanted_name}; "
    "strict=False passes over names that do not fit",
    "checkpoint.numbered-again": "it continues from {path}, and saves from {first} on again",
    "callback.stalled": "it has not moved for {seconds:duration} inside the callback[ {callback}]",
    "callback.watches": "{callback:or a callback} watches {monitor}",
    "callback.unset": "its {attribute} is None: it never saw a value of {monitor}",
    "callback.stop-iteration": "{callback:or a callback} raised StopIteration at {where:or an unknown "
    "line}, {times} times",
    "keras.swallows-stop-iteration": "Keras takes StopIteration for the end of the data and cuts the epoch "
    "short",
    "keras.warned": "Keras warned: {text:clip 120}",
    "keras.skips-optimizer": "Keras reported that it skips the optimizer's variables",
    "thread.main-at": "the main thread is at {where}",
    "thread.innermost": "innermost: {function} ({file}:{line})",
    "thread.computes-or-waits": lambda values: (
        "it computes" if values["busy"] else f"it waits in {values['wait'] or 'an unknown call'}"
    ),
    "error.left-callback": "it left the callback {callback}",
    "stop.set": "{by} set stop_training[ after epoch {epoch}][ ({where})]",
    "stop.set-at-step": "{by} set stop_training[ at step {step:count}]",
    "stop.set-on-model": "{by:or the script} set model.stop_training = True[ at epoch {epoch}][, step "
    "{step:count}]"
    "[ ({where})]",
    "early-stopping.watches": "it watches {monitor}[ with patience {patience}][; the best was {best:number}]",
    "early-stopping.wrong-mode": lambda values: (
        f"mode {values['mode']!r} on {values['monitor']} {_wrong_mode(values)}"
    ),
    "early-stopping.no-patience": "patience 0 stops at the first epoch that is not better",
    "early-stopping.not-better": "{monitor} was not better in the last {waited} validations; the patience "
    "is {patience}",
    "early-stopping.best": "the best was {best:number} at step {step:count}, and model.npz has those weights",
    "learning-rate.fell": "the learning rate fell from {highest:number} to {fell_to:number} by epoch "
    "{epoch} and is {last:number} now",
    "learning-rate.zero": "the learning rate was 0 at the end of all {epochs} epochs",
    "learning-rate.highest": "the learning rate was {learning_rate:number} at its highest",
    "updates.highest": "step {step:count} changed the weights by {size:number}, all together",
    "updates.low-since": "step {step:count} by {share:number} of that, and no later one that was looked at by more; "
    "the last by {last:number}",
    "loss.differs-by-batch": "the batches still have losses of their own, and so gradients: nothing has come to rest",
    "learning-rate.low-since": "at step {step:count} it was {learning_rate:number}, and has not risen since",
    "learning-rate.set-by-callback": "{callback} sets it before each epoch",
    "learning-rate.reduced-by": "{callback} reduces it: factor {factor}, patience {patience}, min_delta "
    "{min_delta}, min_lr {min_lr}",
    "learning-rate.schedule": "the optimizer follows a schedule, {schedule}",
    "loss.since": "the loss since: {first:number} to {last:number}",
    "loss.now": "the loss is {loss:number}",
    "logs.then": _logs,
    "metrics.are": "the metrics are {metrics:list 8}",
    "model.frozen": "{parameters:count} parameters, none of them trainable[ ({where})]",
    "optimizer.all-frozen": "the {optimizer} made at {where} was given {parameters:count} weights, and all of them "
    "have requires_grad=False",
    "optimizer.no-parameters": "the {optimizer} made at {where} was given no weight: its list of parameters is empty",
    "gradients.of-nothing": "the tape was asked for gradients with respect to an empty list {times:count} times, at "
    "{where}: no weight is trainable",
    "step.leaves-weights": "in the step at {where} none of the {weights:count} arrays of weights that come out depends "
    "on the data that goes in",
    "gradients.none-given": "apply_gradients was given no gradient at all ({type}: {message:clip 100})",
    "weights.none-changed": "after {steps:count step} no weight had changed",
    "optimizer.fresh": "the optimizer has done 0 iterations: its momenta and its schedule start again",
    "output.none-while-training": "nothing was printed for {seconds:duration}, while {steps:count step} "
    "were done: {steps_per_s:number} a second",
}

REMEDIES: dict[str, Advice] = {
    "fit.more-epochs": Advice(
        "ask for more epochs", "model.fit(…, epochs={epochs}, initial_epoch={first_epoch})"
    ),
    "steps.more": Advice("to continue, raise {name} above {done}"),
    "loop.more-rounds": Advice("to continue, raise {bound} above {first}"),
    "checkpoint.remove-to-start-over": Advice(
        "to start over, remove the backup or the checkpoint that is restored"
    ),
    "checkpoint.one-for-each-fit": Advice(
        "give every model a folder of its own to back up to",
        'keras.callbacks.BackupAndRestore(os.path.join("backup", str(trial)))',
    ),
    "checkpoint.save-with-optimizer": Advice(
        "save and load the whole model, with its optimizer",
        'model.save("last.keras")\nmodel = keras.models.load_model("last.keras")',
    ),
    "state.load-strictly": Advice(
        "rename the entries, and load with strict=True, which raises where a name does not fit",
        _load_strictly,
    ),
    "checkpoint.backup-and-restore": Advice(
        "let a callback do it", 'keras.callbacks.BackupAndRestore("backup", double_checkpoint=True)'
    ),
    "loop.look-at-its-end": Advice("check where the loop starts and where it ends"),
    "wait.set-timeout": Advice(
        "give what it waits for a timeout", "requests.post(url, json=logs, timeout=5)"
    ),
    "callback.use-a-thread": Advice("do slow work in a thread of its own, so that training continues"),
    "callback.catch-its-errors": Advice(
        "let a callback that only reports survive its own failures: catch them in it"
    ),
    "callback.set-stop-training": Advice(
        "raise something else[ at {where}], or set self.model.stop_training = True"
    ),
    "line.change": Advice(
        lambda values: (
            f"change the line {values['where']}" if values["where"] else f"change {values['callback']}"
        )
    ),
    "condition.read": Advice(
        lambda values: (
            f"read the condition at {values['where']}"
            if values["where"]
            else f"read {values['by'] or 'the script'}"
        )
    ),
    "early-stopping.more-patience": Advice(
        "nothing, if this was meant. To train longer: more patience, and keep the best weights",
        'EarlyStopping("{monitor}", patience={patience}, restore_best_weights=True)',
    ),
    "early-stopping.turn-mode": Advice(
        "reverse the mode, or leave it to Keras: mode='{mode}'",
        'EarlyStopping("{monitor}", mode="{mode}", patience={patience})',
    ),
    "early-stopping.resume": Advice(
        "nothing, if this was meant. To train longer, resume with more patience",
        "holdfast train --resume --run-dir RUN --set train.early_stopping_patience={patience}",
    ),
    "learning-rate.more-patience": Advice(
        "more patience, a gentler factor and a floor",
        "keras.callbacks.ReduceLROnPlateau(patience=10, factor=0.5, min_lr=1e-5)",
    ),
    "learning-rate.schedule-to-the-end": Advice(
        "a schedule that ends with the training", "keras.optimizers.schedules.CosineDecay(1e-3, steps)"
    ),
    "monitor.watch-another": Advice(
        "watch {metric:or a metric that exists}",
        lambda values: (
            f'{values["callback"]}(monitor="{values["metric"] or "val_loss"}")' if values["callback"] else ""
        ),
    ),
    "model.unfreeze": Advice(
        "unfreeze what is to learn, before compile",
        "model.trainable = True\nbackbone.trainable = False\nmodel.compile(…)",
    ),
    "parameters.unfreeze": Advice(
        "unfreeze what is to learn, and give the optimizer only that",
        "model.head.requires_grad_(True)\noptimizer = torch.optim.AdamW(model.head.parameters(), lr=1e-3)",
    ),
    "updates.of-what-learns": Advice(
        "give what is to learn an optimizer that changes it",
        'optax.multi_transform({"train": optax.adam(1e-3), "fixed": optax.set_to_zero()}, labels)',
    ),
    "gradient.find-the-break": Advice(
        "check what lies between the model and the loss: argmax, rounding, a cast to integers, numpy() and a model "
        "called outside of the tape all stop the gradient"
    ),
    "nan.cure-the-loss": Advice("fix what broke the loss; the callback only saw it"),
    "nan.raise-an-error": Advice(
        "let it fail loudly, so that the exit code is not 0",
        "keras.callbacks.TerminateOnNaN(raise_error=True)",
    ),
    "nan.raise-keras-2": Advice(
        "let it fail loudly, so that the exit code is not 0",
        lambda values: (
            'if not np.isfinite(history.history["loss"][-1]): raise SystemExit("the loss is not a number")'
        ),
    ),
    "output.print-progress": Advice("nothing; to see it, print", "model.fit(…, verbose=2)"),
    "input.answer-or-close": Advice(
        "answer it, or start it so that nobody is asked", "holdfast run -- python train.py < /dev/null"
    ),
    "plot.without-windows": Advice(
        "for plots use a backend without windows",
        'matplotlib.use("Agg")   # and plt.savefig instead of plt.show',
    ),
}

RULED_OUT: dict[str, Text] = {}
