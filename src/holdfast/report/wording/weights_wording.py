"""Sentences of causes in the weights, the units and the gradients."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from holdfast.report.wording import shared_wording
from holdfast.report.wording.advice import Advice
from holdfast.report.wording.template import Text, filled


def _dead(values: Mapping[str, Any]) -> str:
    units = "all units" if values["share"] == 1 else "{share:percent} of the units"
    return filled(units + " of {layer} are dead: they give 0 for every input", values)


def _saturated(values: Mapping[str, Any]) -> str:
    of = "units" if values["every_row"] else "values"
    where = "at the same limit for every input" if values["every_row"] else "at their limits"
    return filled(f"{{share:percent}} of the {of} of {{layer}} ({{activation}}) are {where}", values)


def _equal(values: Mapping[str, Any]) -> str:
    began = "zeros" if values["zeros"] else "one constant"
    text = filled(f"the weights of {{layers:list 3}} began as {began}[ ({{where}})]", values)
    since = (
        "and no step has changed them"
        if values["still"]
        else "so that every step changes its units in the same way"
    )
    return f"{text}, {since}"


def _linear(values: Mapping[str, Any]) -> str:
    return filled(
        "{layers:list 4} follow one another without an activation between them[ ({where})]: together they are one "
        "linear layer",
        values,
    )


TITLES: dict[str, Text] = {
    "dead-units.no-gradient": "no gradient passes the ReLU units[ of {layer}][ ({where})]: they give zero for every "
    "input",
    "dead-units": _dead,
    "saturated-units": _saturated,
    "vanishing-gradients": "the gradient at {first} is [{times:number} times ]smaller than at {last}: it "
    "vanishes on its "
    "way through {kernels} layers",
    "vanishing-gradients.by-motion": "{first} moved [{times:number} times ]less than {last}: the gradient vanishes on "
    "its way through {kernels} layers",
    "vanishing-gradients.normalised-alone": "{layer} normalises one value by itself, which gives the same whatever the "
    "value is: no gradient passes it",
    "exploding-gradients": "the gradient at {first} is {relative:number} times as large as its weights: it explodes on "
    "its way through {kernels} layers",
    "no-hidden-activation": _linear,
    "constant-initialisation": _equal,
    "learning-rate-too-low": "the learning rate of {learning_rate:number} is too low: {steps:count step} "
    "moved the weights "
    "by {moved:number} of their size",
    "learning-rate-too-low.setting": shared_wording.DOUBTED,
    "too-few-updates.setting": shared_wording.DOUBTED,
    "regularisation-too-strong.setting": shared_wording.DOUBTED,
    "learning-rate-too-high.setting": shared_wording.DOUBTED,
    "nothing-trainable.setting": shared_wording.DOUBTED,
    "learning-rate-too-low.by-steps": "the learning rate is too low: {steps:count step} moved the weights "
    "by {moved:number} of their size, a step by {step:number}",
    "learning-rate-too-low.clipped-while-scaled": "gradients are clipped to a norm of {norm:number} while GradScaler "
    "has them multiplied by {scale:number}: {left:number} is left of them",
    "learning-rate-too-high.updates": "each step changes the weights by {ratio:percent} of their size"
    "[; the learning rate is {learning_rate:number}]",
    "learning-rate-too-high.spike": "the loss jumped to {highest:number} early on and stayed at "
    "{last:number}, above the "
    "{constant:number} of a constant answer[; the learning rate is {learning_rate:number}]",
    "batch-norm-misused": "as it predicts, the model is far worse than as it trains, on the same rows: batch "
    "normalisation "
    "uses averages that do not fit",
    "batch-norm-misused.lags": "the averages of batch normalisation are still {left:percent} what they began "
    "with after "
    "{steps:count step}: as it predicts, the model is another than the one that was trained",
    "batch-norm-misused.thrown-away": "the step at {where} throws away the averages of its batch normalisation: they "
    "are 0 and 1 after {steps:count step}, and {evaluated:or the evaluation} normalises by them",
    "batch-norm-misused.tiny": "batch normalisation after a dense layer with batches of {rows:count row}",
    "too-few-updates": "the training ended after {steps:count update}[ in {batches:count batch/batches}]"
    "[, with the loss still falling{falls:if}]",
    "dropout-too-strong": "dropout leaves {left:percent} of the values at {layers:list 3}",
    "dropout-too-strong.loop": "a dropout with a rate of {rate:number} leaves {left:percent} of the values[ ({where})]",
    "dropout-too-strong.outputs": "{layer} drops {rate} of the answers themselves: it comes after the last layer with "
    "weights[ ({where})]",
    "regularisation-too-strong": "the penalty on the weights is {share:percent} of the loss",
    "regularisation-too-strong.collapsed": "the penalty on the weights has pressed them to nothing",
    "regularisation-too-strong.decayed": "a decay of the weights has pressed all of them to nothing: the largest "
    "layer has {shrunk:number} of its size",
    "regularisation-too-strong.beside-loss": "a term beside the loss[ ({where})] has pressed all weights to nothing: "
    "the largest layer has {shrunk:number} of its size",
    "nothing-trainable.little": "only {trainable:count} of {parameters:count} weights are trainable, and nothing "
    "was learned",
}

FACTS: dict[str, Text] = {
    "weights.never-moved": "{kernels:count kernel} did not change by a single bit in {steps:count step}: no gradient "
    "reaches them",
    "layer.penalised": "{layer:or a layer}[ ({where})] has the penalty {penalty}",
    "units.zero": "{share:percent} of the [{units} ]units of {layer} give exactly 0 for each of {rows:count "
    "row} of the "
    "training data",
    "units.at-limits-for-every-row": "at step {step:count} {share:percent} of the units of {layer}, the first "
    "activation, are "
    "at a limit of {activation} for each of {rows:count row}: they tell no rows apart",
    "gradient.exactly-zero": "the gradient of every weight of {layer} is exactly 0: no step can change it",
    "predictions.the-same": "the model gives the same answer for each of {rows:count row}[: {value:number}]",
    "units.saturated": "{share:percent} of what {layer} gives for {rows:count row} lies within 0.001 of a limit of "
    "{activation}, where its gradient is next to 0",
    "gradient.by-depth": "the norm of the gradient is {first_norm:number} at {first} and {last_norm:number} at {last}",
    "weights.moved-by-depth": "in the whole training {first} moved by {first_moved:number} of its size, {last} by "
    "{last_moved:number}, and those between by more from layer to layer",
    "gradient.zero-at": "the gradient is exactly 0 at {kernels:count kernel}: {layers:list 4}; {layer} has one channel",
    "layers.bounded": "{count:count layer} between them squash their values: {layers:list 4}",
    "layers.linear": "{count:count layer} in a row have no activation: {layers:list 5}",
    "units.equal": "all units of {layer} had the same weights at the start, and have the same weights after "
    "{steps:count step}",
    "scaler.clipped": "before GradScaler divides them, at {where}, the gradients had the same norm of {norm:number} at "
    "{looks:count look}, as clipped ones have; its scale is {scale:number}",
    "weights.hardly-moved": "{steps:count step}[ of {optimizer:or the optimizer} at {learning_rate:number}] "
    "moved the weights "
    "by {moved:number} of their size[, a step by {step:number}]; about 0.001 a step is usual",
    "updates.large": "a step changes the weights by {ratio:number} of their size; about 0.001 is usual",
    "loss.spike": "the loss rose from {first:number} to {highest:number}, and ended at {last:number}",
    "batch.rows": "a batch has {rows:count row}: their own mean is taken from each of them",
    "loss.by-mode": "the same {rows:count row} of the training data have a loss of {loss:number} as the model "
    "trains and "
    "of {predicts:number} as it predicts",
    "norm.far-from-batches": "{far} of {layers:count layer} that normalise batches[, with a momentum of "
    "{momentum},] have "
    "averages far from their batches: the mean is off by {mean_off:number} standard deviations, the variance by "
    "a factor "
    "of {times:number}",
    "loss.validated": "in epoch {epoch} the loss was {loss:number} in training and {validated:number} in validation",
    "norm.averages-unmoved": "the step normalises by its batch and computes new averages ({names:list 4}), which are "
    "still 0 and 1 as they began when the function at {evaluated} was given them after {steps:count step}",
    "norm.lags": "the moving averages of mean and variance were updated {steps:count} times; at the usual "
    "momentum of 0.99 "
    "some 500 updates are needed",
    "updates.few": "{steps:count update} in {epochs:count epoch}; from the middle to the end the loss fell by "
    "{fell:percent}",
    "updates.added-up": "gradients of [{each} ]batches are added up for one update[ ({where})]: {updates:count update} "
    "in {batches:count batch/batches}",
    "loss.of-batches": "the loss was {first:number} in the first batches and {newest:number} in the last[; that of a "
    "constant answer is {constant:number}]",
    "dropout.leaves": "{layers:list 3} with a rate of {rate} leave {left:percent} of the values in training",
    "dropout.seen": "a step of the loop drops {rate:percent} of the values, at {times:count place}",
    "dropout.of-outputs": "{layer} with a rate of {rate} comes after the last layer with weights",
    "loss.without-dropout": "the same rows have a loss of {loss:number} with dropout and of {predicts:number} without",
    "loss.penalty": "{penalty:number} of the loss of {loss:number} is a penalty on the weights",
    "weights.shrunk": "the weights have {shrunk:number} of the size that they began with",
    "loss.ends-at-constant-of-term": "the loss is a sum of terms, and ends at {last:number}; the cross-entropy in it "
    "is {constant:number} for the best answer that ignores the inputs",
    "model.little-trainable": "{trainable:count} of {parameters:count} parameters are trainable[ ({where})]",
}

REMEDIES: dict[str, Advice] = {
    "output.no-relu": Advice(
        "leave the last layer without a ReLU", "keras.layers.Dense(units)   # linear, for a regression"
    ),
    "units.revive": Advice(
        "start from biases of 0 and random weights, scale the inputs, and let a little pass below zero",
        'keras.layers.Dense(units, activation="leaky_relu", kernel_initializer="he_normal")',
    ),
    "learning-rate.lower-tenth": Advice(
        "use a tenth of the learning rate: one step that is too large kills units for good"
    ),
    "units.use-relu": Advice(
        "use ReLU in hidden layers; keep sigmoid and softmax for the last one",
        'keras.layers.Dense(units, activation="relu", kernel_initializer="he_normal")',
    ),
    "model.add-normalisation": Advice(
        "normalise between layers, or add shortcuts around them", "keras.layers.LayerNormalization()"
    ),
    "norm.over-more-values": Advice(
        "normalise over an axis with more than one value, widen the layer before it, or leave the normalisation out",
        "keras.layers.LayerNormalization(axis=-2)",
    ),
    "layer.add-activation": Advice(
        "give every hidden layer an activation",
        lambda values: f'keras.layers.Dense({values.get("units") or "units"}, activation="relu")',
    ),
    "initializer.random": Advice(
        "start from random weights, as the default does",
        'keras.layers.Dense(units, kernel_initializer="glorot_uniform")',
    ),
    "gradients.unscale-before-clipping": Advice(
        "unscale the gradients before they are clipped",
        "scaler.unscale_(optimizer)\ntorch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)\nscaler.step(optimizer)",
    ),
    "learning-rate.raise": Advice(
        "use a learning rate of {learning_rate:number}",
        "keras.optimizers.{optimizer}(learning_rate={learning_rate})",
    ),
    "batch.enlarge": Advice("use batches of 16 rows or more", "model.fit(x, y, batch_size=32)"),
    "norm.keep-new-averages": Advice(
        "return the new averages from the step, and put them into the state that the next one is given",
        "(loss, new), grads = jax.value_and_grad(loss_fn, has_aux=True)(state.params)\n"
        'state = state.apply_gradients(grads=grads, batch_stats=new["batch_stats"])',
    ),
    "norm.use-layer-norm": Advice(
        "use a normalisation that does not depend on the batch", "keras.layers.LayerNormalization()"
    ),
    "norm.lower-momentum": Advice(
        "let the averages follow faster, or train for longer", "keras.layers.BatchNormalization(momentum=0.9)"
    ),
    "updates.more": Advice(
        "update the weights more often: add up gradients of at most {each:count batch/batches}",
        "keras.optimizers.Adam(gradient_accumulation_steps={each})",
    ),
    "epochs.more": Advice("train for longer", "model.fit(x, y, epochs={epochs})"),
    "dropout.before-output": Advice(
        "drop before the last layer, never behind it",
        'keras.layers.Dropout(0.5),\nkeras.layers.Dense(classes, activation="softmax"),',
    ),
    "dropout.lower": Advice(
        "drop less: the rate is the share that is dropped, not the share that is kept",
        "keras.layers.Dropout(0.2)",
    ),
    "optimizer.weaken-decay": Advice(
        "lower the optimizer's weight decay, or the penalty that the loop adds to its loss",
        "optimizer = torch.optim.AdamW(model.parameters(), weight_decay=1e-2)",
    ),
    "penalty.divide-by-rows": Advice(
        "divide a penalty or a log prior by the number of rows, where the loss is their mean, or make it weaker",
        "loss = -(log_likelihood.mean() + log_prior(params) / len(x_train))",
    ),
    "regulariser.weaken": Advice(
        "weaken the penalty", "keras.layers.Dense(units, kernel_regularizer=keras.regularizers.L2(1e-4))"
    ),
}
