"""Sentences of causes in the numbers: losses, gradients, precision."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from holdfast.report.wording import shared_wording
from holdfast.report.wording.advice import Advice
from holdfast.report.wording.template import Text, filled
from holdfast.units import number

_RATE = "[; the learning rate is {learning_rate:number}]"
_CHECKS = {
    "tensorflow": "tf.debugging.enable_check_numerics()",
    "jax": 'jax.config.update("jax_debug_nans", True)',
    "torch": "torch.autograd.set_detect_anomaly(True)",
}


def _numbers(values: Mapping[str, Any]) -> str:
    return ", ".join(number(value) for value in values["losses"])


def _clipping(values: Mapping[str, Any]) -> str:
    clipping = ", ".join(f"{name} = {value}" for name, value in values["clipping"].items())
    return f"optimizer {values['optimizer']}, {clipping or 'no gradient clipping'}"


def _weights(values: Mapping[str, Any]) -> str:
    found = "found after" if values["later"] else "since"
    return filled(
        f"{{name:or a weight}} holds values that are not finite, {found} step {{step:count}}", values
    )


def _weights_title(values: Mapping[str, Any]) -> str:
    found = "found after" if values["later"] else "since"
    words = f"the weights are not finite ({{name:or a weight}}), {found} step {{step:count}}"
    return filled(words, values) + ": nothing is learned any more"


def _check(values: Mapping[str, Any]) -> str:
    return _CHECKS.get(values["backend"], _CHECKS["tensorflow"])


TITLES: dict[str, Text] = {
    "half-precision-overflow": "a value left the range of {precision}",
    "half-precision-overflow.operation": "a value left the range of float16 in an operation below the loss at {where} "
    "({operations:list 4})",
    "half-precision-overflow.steps-left-out": "GradScaler has left out the last {in_a_row:count step}: a value left "
    "the range of float16",
    "learning-rate-too-high": "the loss grew from step to step until it broke at step {step:count}" + _RATE,
    "learning-rate-too-high.broken": "the loss is {value} at step {step:count}" + _RATE,
    "learning-rate-too-high.huge": "the loss is {loss:number} at step {step:count}" + _RATE,
    "learning-rate-too-high.finite": "the loss grew {times:number} times" + _RATE,
    "loss-not-finite": "the {what} is {value} since step {step:count}",
    "loss-not-finite.weights": _weights_title,
    "loss-not-finite.epoch": "the loss is {value} since epoch {epoch}",
    "loss-not-finite.checked": "a value is not a number[: first in {operation}]",
    "loss-not-finite.printed": "the loss that it prints is not a number",
    "loss-singular": "the loss has no finite gradient at some value: the weights broke before the loss did",
    "loss-not-falling": "the loss does not fall: {first:number} to {last:number} in {epochs} epochs",
    "loss-not-falling.at-constant": "the loss stays at {last:number}, that of an answer that ignores the inputs",
    "loss-not-falling.same-answers": "after {steps:count step} it gives the same answers for every image, and finds "
    "nothing",
    "loss-not-falling.never-applied": "the gradients taken at {where} are never applied: no weight changed",
    "loss-not-falling.returned-as-given": "the step at {where} returns its weights as they were: nothing is learned",
    "loss-not-falling.without-gradient": "the optimizer at {where} has no gradient to apply: no weight changes",
    "loss-not-falling.gradients-kept": "the gradients are never cleared: each step at {where} applies the sum of all "
    "before it",
    "loss-not-falling.no-weight-changed": "no weight changed in {steps:count step}"
    "[: the gradients are never applied{no_step:if}]",
    "loss-not-falling.same-again": "the loss does not fall: a batch has the same loss at step "
    "{last_step:count} as at "
    "step {first_step:count}",
}

FACTS: dict[str, Text] = {
    "labels.alike-in-similar-rows": "the labels depend on the inputs: the most similar other row has the same label "
    "for {agreement:percent} of {rows:count row}; chance gives {chance:percent}",
    "value.became-non-finite": "the {what}[ {name}] became {value} at step {step:count}"
    "[; it was {last_finite:number} before]",
    "precision.float16": "the model computes in {precision}, whose largest value is 65,504 and whose "
    "smallest is 6e-8",
    "scaler.left-out": "GradScaler was asked for {steps:count step} at {where}, and left out the last "
    "{in_a_row:count step}[; its scale is {scale:number}]",
    "half.operation-left-range": "the first values that are not finite came out of float16 operations "
    "({operations:list 4}) whose inputs are finite, at most {largest:number}; the largest number of float16 is 65,504",
    "scaler.loss-not-finite": "the loss itself is not finite, before it is scaled",
    "scaler.half": "operations below the loss compute in float16, whose largest value is 65,504",
    "loss.scale": "the loss scale was {scale}",
    "loss.grew-beyond-float16": "the loss had grown far beyond the range of float16 before, as a too high "
    "learning rate "
    "makes it",
    "loss.broken-when-first-known": "the loss is {value} at step {step:count}, where it is first known",
    "loss.huge": "the loss is {loss:number} at step {step:count}, where it is first known",
    "loss.grew-until-it-broke": lambda values: filled(
        f"the loss grew before it broke at step {{step:count}}: {_numbers(values)}, then {{value}}", values
    ),
    "loss.before": lambda values: f"the losses before: {_numbers(values)}",
    "loss.between": "the loss was {first:number} at step {first_step:count} and {last:number} at step "
    "{last_step:count}",
    "loss.broken-at-first-step": "it was the first step: what a fresh model predicts has no finite loss, "
    "such as log(0) "
    "or 0/0",
    "loss.hides-nan": "the loss still showed {loss:number}: a ReLU turns NaN into 0, and hides it",
    "loss.flat": "the loss was {first:number} in epoch 1 and is {last:number} after {epochs} epochs, "
    "{steps:count step}",
    "loss.same-again": "the loss was {loss}, to the last digit, at {times} steps between "
    "{first_step:count} and "
    "{last_step:count}; others lie between them",
    "epoch.loss-not-finite": "epoch {epoch} ended with a loss of {value}",
    "output.line": "{text:clip 120}",
    "learning-rate.was": "the learning rate was {learning_rate:number}",
    "optimizer.clipping": _clipping,
    "optimizer.took-no-step": "the {optimizer} made at {optimizer_where} took no step in the whole run",
    "optimizer.steps-without-gradient": "{steps:count step} of {optimizer} at {where}: at none that was looked at had "
    "one of its parameters a gradient",
    "step.returns-weights": "the step at {where} returns the very weights that it was given",
    "optimizer.gradients-cleared-before": "the backward pass at {taken_where} had left gradients there; they were "
    "cleared before the step",
    "optimizer.of-other-weights": "the backward pass at {taken_where} reaches none of the parameters that the "
    "optimizer was given at {optimizer_where}",
    "gradients.never-cleared": "the gradients of a step were still there at the backward pass after it, in all of the "
    "{steps:count step} that were looked at",
    "optimizer.still-counts": "the optimizer still counts {iterations:count step}",
    "input.not-finite": "the inputs were not finite",
    "input.finite": "the inputs were finite",
    "weights.finite-before": "the weights were finite before that step",
    "weights.not-finite": _weights,
    "weights.broke-before-loss": "at step {step:count} {name} was no longer finite while the loss was "
    "still {loss:number}",
    "weights.broke-one-step-earlier": "the loss became {value} at step {step:count}; the weights had "
    "broken one step "
    "earlier, with a loss of {loss:number}",
    "weights.unchanged": "after {steps:count step} the weights that were compared are what they were",
    "weights.as-at-first-gradient": "the weights that were compared are at the end what they were at the "
    "first gradient",
    "weights.restored": "it began with the weights of {path:or an earlier run}: it may be as good as it gets",
    "weights.not-compared": "the weights themselves were not compared",
    "gradient.none-there": "so the loss had a value there, and its gradient had none",
    "gradients.taken": "gradients of the weights were taken {times:count} times at {where}",
    "model.trainable": "{trainable:count} parameters are trainable[; the learning rate began at "
    "{learning_rate:number}]",
    "probe.saw-nothing": "nothing was seen from inside the process",
    "loss-not-finite.not-found": "not found: growth before it, inputs that are not finite, bad boxes, "
    "float16",
    "loss-not-finite.weights-not-found": "not found: inputs that are not finite, bad boxes, float16",
    "loss-not-finite.step-not-seen": "the step at which it broke, and its batch, were not seen",
    "loss-not-falling.not-found": "not found: frozen weights, a learning rate near 0, a loss part of "
    "exactly 0.0, inputs "
    "out of scale",
}

REMEDIES: dict[str, Advice] = {
    "precision.use-bfloat16": Advice(
        "use bfloat16: it has the range of float32",
        'keras.mixed_precision.set_global_policy("mixed_bfloat16")',
    ),
    "precision.keep-float32": Advice(
        "keep losses, norms and softmax in float32, and epsilons above 1e-4",
        'keras.layers.Activation("softmax", dtype="float32")',
    ),
    "precision.use-bfloat16-in-torch": Advice(
        "use bfloat16: it has the range of float32, and needs no scaler",
        "with torch.autocast(device, dtype=torch.bfloat16):",
    ),
    "precision.keep-float32-in-torch": Advice(
        "compute sums, norms and matrix products of unscaled values in float32",
        "with torch.autocast(device, enabled=False):\n    gram = features.float() @ features.float().mT",
    ),
    "learning-rate.lower": Advice(
        "use a learning rate of {learning_rate:or a tenth}, with a warm-up over the first steps",
        "keras.optimizers.schedules.CosineDecay(1e-5, steps, warmup_target=1e-3, warmup_steps=500)",
    ),
    "gradients.clip": Advice("clip gradients", "keras.optimizers.SGD(1e-2, clipnorm=10.0)"),
    "updates.apply": Advice(
        "return the new weights, and pass them on", "params = optax.apply_updates(params, updates)"
    ),
    "gradients.apply": Advice(
        "apply them after each gradient",
        "optimizer.apply_gradients(zip(gradients, model.trainable_variables))   # torch: optimizer.step()",
    ),
    "gradients.clear": Advice(
        "clear the gradients before each backward pass",
        "optimizer.zero_grad(); loss.backward(); optimizer.step()",
    ),
    "gradients.clear-before-backward": Advice(
        "clear the gradients before the backward pass, not after it",
        "optimizer.zero_grad(); loss.backward(); optimizer.step()",
    ),
    "optimizer.give-its-parameters": Advice(
        "make the optimizer from the model that is trained, after that model is made; look for a detach() between them",
        "optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)",
    ),
    "gradients.apply-in-train-step": Advice(
        "apply the gradients in your own `train_step`",
        "self.optimizer.apply(gradients, self.trainable_variables)",
    ),
    "nan.find-operation": Advice("stop at the first operation that is not finite, which names it", _check),
    "nan.try-rate-zero": Advice(
        "train a few steps with learning rate 0: if it breaks at the same sample, the data is the cause"
    ),
    "loss.add-epsilon": Advice(
        "keep away from the point: an epsilon inside sqrt, log, division and norm",
        "tf.sqrt(x + 1e-8)   # not tf.sqrt(x)",
    ),
    "model.overfit-one-batch": Advice(
        "overfit a single batch first; if that fails, the bug is in the model or the loss, not in the data",
        "model.fit(ds.take(1).repeat(), steps_per_epoch=200)",
    ),
    "model.look-for-dead-units": Advice(
        "look for dead units: a bias far below zero before a ReLU, a learning rate ten times too high or too low"
    ),
}

RULED_OUT: dict[str, Text] = {
    "learning-rate-too-high.one-batch": lambda values: (
        f"the loss broke at one batch: {shared_wording.outlier(values)}"
    ),
    "learning-rate-too-high.did-not-grow": "the loss was {last:number} at the step before it broke: it "
    "jumped, and did "
    "not grow",
    "learning-rate-too-high.jumped": "the loss jumped from {before:number} to {last:number} in one step, "
    "and broke",
    "learning-rate-too-high.weights-vanish": "all weights shrank to {shrunk:number} of their size or less: too large a "
    "rate leads to other weights, and not to none",
}
