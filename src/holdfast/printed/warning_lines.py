"""Warnings of the frameworks that speak about the run itself, by what they say."""

from __future__ import annotations

import re
from enum import StrEnum


class Warned(StrEnum):
    DATA_RAN_OUT = "data-ran-out"
    GRADIENTS_MISSING = "gradients-missing"
    AGAINST_RESULT = "against-result"  # the weights or the result are other than was meant
    MONITOR_MISSING = "monitor-missing"
    NOT_FINITE = "not-finite"
    RETRACING = "retracing"
    NO_GPU = "no-gpu"
    LEARNING_RATE_ORDER = "learning-rate-order"


DATA_RAN_OUT = re.compile(
    r"ran out of data; interrupting training|dataset iterator ran out of data|"
    r"Local rendezvous is aborting.{0,40}OUT_OF_RANGE|"
    r"generator ran out of data|You may need to use the (?:`?repeat\(\)`?|repeat) function",
    re.IGNORECASE,
)
#: Not advice, nor what a cause of its own reports: the weights or the result are other than was meant.
AGAINST_RESULT = re.compile(
    r"axis has size 1|num_classes > 1"  # softmax over one number: always 1
    r"|received `from_logits=\w+`, but"
    r"|Gradients do not exist for variables"
    r"|`trainable` state has changed since the model was compiled|"
    r"trainable weights and collected trainable weights"
    r"|no longer supported and will be ignored"  # a setting of an optimizer
    r"|destroy the mask information"
    r"|retain their freshly-initialized weights|Skipping loading (of )?weights|"
    # A setting of an optimizer is no weight; which ones a checkpoint has depends on the version.
    r"Value in checkpoint could not be found(?!.{0,60}\boptimizer\.(?:\w+\.)*"
    r"(?:decay|learning_rate|momentum|rho|beta_1|beta_2|epsilon)\b)"
    r"|saving a model that has not yet been built"
    r"|labels? .{0,40}(outside|out) of (the )?(valid )?range",
    re.IGNORECASE | re.DOTALL,
)
_KINDS = (
    (
        Warned.GRADIENTS_MISSING,
        re.compile(r"Gradients do not exist for variables|None of the inputs have requires_grad", re.I),
    ),
    (Warned.DATA_RAN_OUT, DATA_RAN_OUT),
    (
        Warned.MONITOR_MISSING,
        re.compile(
            r"(?:conditioned on metric|can save best model only with|"
            r"reduction is conditioned on metric).{0,80}(?:not available|skipping)",
            re.I,
        ),
    ),
    (
        Warned.NOT_FINITE,
        re.compile(
            r"Batch \d+: Invalid loss, terminating training|Model diverged with loss = NaN|"
            r"NaN or Inf found in input tensor|Found NaN in|Skipping update.{0,20}(?:nan|inf)",
            re.I,
        ),
    ),
    (
        Warned.RETRACING,
        re.compile(
            r"calls to <?.{0,200} triggered tf\.function retracing|"
            r"torch\._dynamo hit config\.\w*(?:recompile|cache_size)_limit",
            re.I,
        ),
    ),
    (
        Warned.NO_GPU,
        re.compile(
            r"Cannot dlopen some GPU libraries|Skipping registering GPU devices|"
            r"no CUDA-capable device is detected|CUDA initialization: .{0,80}(?:no NVIDIA driver|"
            r"driver.{0,30}too old)|An NVIDIA GPU may be present.{0,60}not installed",
            re.I,
        ),
    ),
    (
        Warned.LEARNING_RATE_ORDER,
        re.compile(r"Detected call of `lr_scheduler\.step\(\)` before `optimizer\.step\(\)`"),
    ),
    (Warned.AGAINST_RESULT, AGAINST_RESULT),
)


def warning(text: str) -> Warned | None:
    """Which of these warnings the line is."""
    return next((kind for kind, pattern in _KINDS if pattern.search(text)), None)
