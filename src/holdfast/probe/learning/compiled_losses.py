"""Losses and metrics of a compiled model by the names under which all versions of Keras know them."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from ..runtime.nested_values import leaves

_SHORT = {
    "mse": "mean_squared_error", "mae": "mean_absolute_error", "mape": "mean_absolute_percentage_error",
    "msle": "mean_squared_logarithmic_error", "bce": "binary_crossentropy", "kld": "kl_divergence",
    "kullback_leibler_divergence": "kl_divergence", "logcosh": "log_cosh", "huber_loss": "huber",
    "binary_cross_entropy": "binary_crossentropy", "kl_divergence": "kl_divergence",
    "cosine_proximity": "cosine_similarity",
}  # fmt: skip
_KNOWN = frozenset(
    {"mean_squared_error", "mean_absolute_error", "mean_absolute_percentage_error",
     "mean_squared_logarithmic_error", "binary_crossentropy", "categorical_crossentropy",
     "sparse_categorical_crossentropy", "binary_focal_crossentropy", "categorical_focal_crossentropy",
     "kl_divergence", "poisson", "hinge", "squared_hinge", "categorical_hinge", "log_cosh", "huber",
     "cosine_similarity", "dice", "tversky", "circle", "ctc"}
)  # fmt: skip
CROSS_ENTROPIES = frozenset(
    {"binary_crossentropy", "categorical_crossentropy", "sparse_categorical_crossentropy",
     "binary_focal_crossentropy", "categorical_focal_crossentropy"}
)  # fmt: skip
_LIBRARIES = ("keras", "tf_keras", "tensorflow")


class ReadLoss(NamedTuple):
    name: str
    own: bool  # a function or a class of the user's own
    from_logits: bool | None


def canonical(name: str) -> str:
    """ "MSE", "MeanSquaredError" and "mean_squared_error" are one loss; "" for an unknown name."""
    lower = name.lower()
    snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
    for one in (lower, snake, snake.replace("kldivergence", "kl_divergence")):
        one = _SHORT.get(one, one)
        if one in _KNOWN:
            return one
    return ""


def read_loss(loss: Any) -> ReadLoss:
    if isinstance(loss, str):
        name = canonical(loss)
        return ReadLoss(name or loss, not name, False if name in CROSS_ENTROPIES else None)
    if isinstance(loss, dict) and "class_name" in loss:
        return ReadLoss(str(loss["class_name"]), True, None)
    function = getattr(loss, "fn", None)
    wrapped = function if callable(function) else loss
    keywords = getattr(loss, "_fn_kwargs", None) or getattr(loss, "keywords", None) or {}
    named = getattr(wrapped, "func", wrapped)  # of a partial
    own_name = getattr(named, "__name__", None) or type(named).__name__
    kind = named if hasattr(named, "__name__") else type(named)
    library = str(getattr(kind, "__module__", "")).partition(".")[0] in _LIBRARIES
    name = canonical(own_name) if library else ""
    if not name:
        return ReadLoss(own_name, True, None)
    given = keywords.get("from_logits", getattr(loss, "from_logits", False))
    return ReadLoss(name, False, bool(given) if name in CROSS_ENTROPIES else None)


def losses_of(model: Any, outputs: list[str]) -> list[Any]:
    """The compiled loss of each output; None where there is none."""
    given = getattr(model, "loss", None)
    container = getattr(model, "_compile_loss", None) or getattr(model, "compiled_loss", None)
    if given is None:
        given = getattr(container, "_user_loss", None) or getattr(container, "_user_losses", None)
    if isinstance(given, dict) and "class_name" not in given:
        return [given.get(name) for name in outputs]
    if isinstance(given, (list, tuple)):
        each = list(given)
        return [each[place] if place < len(each) else None for place in range(len(outputs))]
    return [given for _ in outputs]


def metrics_of(model: Any, outputs: int) -> list[str]:
    """As the framework resolved them: "accuracy" is binary, categorical or sparse by what it was compared with."""
    if outputs != 1:
        return []
    container = getattr(model, "_compile_metrics", None)
    if container is not None:
        resolved = getattr(container, "_flat_metrics", None) or []
        found = [metric for one in resolved for metric in (getattr(one, "metrics", None) or [])]
    else:
        container = getattr(model, "compiled_metrics", None)
        found = leaves(getattr(container, "_metrics", None)) if getattr(container, "_built", False) else []
    return [_metric_name(metric) for metric in found if metric is not None][:20]


def _metric_name(metric: Any) -> str:
    function = getattr(metric, "_fn", None)
    name = getattr(function, "__name__", None) or type(metric).__name__
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
