"""What an experiment after the run needs: the model's configuration, its loss and optimizer, and some rows of the data.

Written only after a fit that seems to have learned nothing. Code of the user's own is neither run nor stored; nothing
is pickled. The rows are the user's data: they stay in the run folder.
"""

from __future__ import annotations

import contextlib
import io
import json
import math
import sys
from typing import TYPE_CHECKING, Any

from ...atomic_write import write_bytes, write_text
from ...journal.events import ExperimentKept
from ..runtime.nested_values import leaves
from ..state import model_facts
from . import compiled_losses, looked_at, sent_through
from .recorded_rows import Rows, mapped

if TYPE_CHECKING:
    from ..runtime.context import ProbeContext
    from ..state.fit_log import FitState

ROWS = 256
_MOST_PARAMETERS = 5_000_000
_MOST_BYTES = 16 << 20  # of rows
_MOST_CHARACTERS = 4_000_000  # of the configuration
#: Layers whose variables that are not trained are remade by training.
_REMADE = ("BatchNormalization", "SyncBatchNormalization", "SpectralNormalization")


def keep(context: ProbeContext, fit: FitState, rows: Rows | None) -> None:
    """Stores them in the run folder, or records why not."""
    left_out = _refusal(fit.model) or ("" if rows is not None else "the data can be read only once")
    if not left_out:
        try:
            rows = _small(rows)
            content = json.dumps(_described(fit, rows), allow_nan=False)
            left_out = "" if len(content) <= _MOST_CHARACTERS else "its configuration is too long"
        except (
            Exception
        ) as error:  # a configuration that cannot be written costs the experiment, and nothing else
            left_out = f"its configuration cannot be stored ({type(error).__name__}: {error})"[:200]
    if not left_out:
        _write(context.folder, content, rows)
    kept = rows.rows if rows is not None and not left_out else 0
    context.record(ExperimentKept(fit=fit.number, rows=kept, left_out=left_out))


def _refusal(model: Any) -> str:
    keras = sys.modules.get("keras")
    kinds = [type(layer) for layer in [model, *model._flatten_layers(include_self=False)]]
    if keras is None or not hasattr(model, "stateless_call"):
        return "it is kept for models of Keras 3"
    own = looked_at.refusal(model) or sent_through.own_loss(model)
    if own:
        return own
    if any(kind.__name__ == "Lambda" for kind in kinds):
        return "a Lambda layer cannot be stored"
    foreign = [kind.__name__ for kind in kinds if kind.__module__.partition(".")[0] != "keras"]
    if foreign:
        return f"{foreign[0]} is no layer of Keras"
    own = _own_part(model)
    if own:
        return f"{own} is a class or a function of your own"
    if kinds[0].__name__ not in ("Sequential", "Functional", "Model") or not hasattr(model, "layers"):
        return f"{kinds[0].__name__} is no model of layers alone"
    parameters = sum(model_facts.size(one) for one in model.weights)
    if parameters > _MOST_PARAMETERS:
        return f"{parameters:,} parameters are too many for it"
    if len(leaves(getattr(model, "outputs", None))) != 1:
        return "the model has several outputs, or no known one"
    return _lost(model)


def _own_part(model: Any) -> str:
    """An initialiser, a constraint, a schedule …: Keras would ask it for its configuration."""
    parts = [model.optimizer, getattr(model.optimizer, "_learning_rate", None)]
    for layer in model._flatten_layers(include_self=False):
        ends = ("_initializer", "_regularizer", "_constraint")
        parts += [value for name, value in vars(layer).items() if name.endswith(ends)]
    kinds = [one if hasattr(one, "__qualname__") else type(one) for one in parts]
    foreign = [kind for kind in kinds if kind.__module__.partition(".")[0] not in ("keras", "builtins")]
    return str(foreign[0].__qualname__) if foreign else ""


def _lost(model: Any) -> str:
    """Values that are in the weights only: of frozen layers, and of layers that were adapted to data."""
    for layer in model._flatten_layers(include_self=False, recursive=True):
        own = [] if getattr(layer, "layers", None) else layer.non_trainable_variables
        seeds = ("seed_generator_state", "seed_generator")
        own = [one for one in own if not str(getattr(one, "path", "")).rpartition("/")[2].startswith(seeds)]
        if own and (type(layer).__name__ not in _REMADE or not layer.trainable):
            return f"the weights of {layer.name} are not trained, and an experiment would not have them"
    return ""


def _described(fit: FitState, rows: Rows) -> dict[str, Any]:
    model, keras = fit.model, sys.modules["keras"]
    loss = compiled_losses.losses_of(model, ["output"])[0]
    read = compiled_losses.read_loss(loss)
    targets = leaves(rows.targets)[0]
    return {
        "fit": fit.number,
        "backend": keras.backend.backend(),
        "model": {"class_name": "Sequential" if type(model).__name__ == "Sequential" else "Functional",
                  "config": _plain(model.get_config())},
        "loss": loss if isinstance(loss, str) else _plain(keras.losses.serialize(loss)),
        "loss_name": read.name,
        "from_logits": bool(read.from_logits),
        "optimizer": _plain(keras.optimizers.serialize(model.optimizer)),
        "batch_size": int(fit.arguments.get("batch_size") or 32),
        "rows": rows.rows,
        "inputs": _structure(rows.inputs),
        "targets": {"shape": [int(side) for side in targets.shape[1:]],
                    "low": _finite(targets.min()), "high": _finite(targets.max())},
    }  # fmt: skip


def _structure(inputs: Any) -> Any:
    """Names of a dictionary, the length of a list, or None for one array."""
    if isinstance(inputs, dict):
        return [str(name) for name in inputs]
    return len(inputs) if isinstance(inputs, list) else None


def _plain(value: Any) -> Any:
    """As JSON has it. Keras's own configurations hold tuples, dtypes and numbers of numpy."""
    if isinstance(value, dict):
        return {str(name): _plain(one) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    if hasattr(value, "item") and not getattr(value, "shape", ()):
        return value.item()
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    raise TypeError(f"a value of the type {type(value).__name__}")


def _finite(value: Any) -> float | None:
    return float(value) if math.isfinite(float(value)) else None


def _small(rows: Any) -> Rows:
    """As many of the rows as the limit allows."""
    size = sum(array.nbytes for array in [*leaves(rows.inputs), *leaves(rows.targets)])
    most = max(1, min(rows.rows, ROWS, int(rows.rows * _MOST_BYTES / max(1, size))))
    stride = -(-rows.rows // most)
    if stride == 1:
        return rows
    inputs, targets = (mapped(lambda array: array[::stride], part) for part in (rows.inputs, rows.targets))
    return Rows(inputs, targets, len(leaves(inputs)[0]))


def _write(folder: Any, content: str, rows: Any) -> None:
    import numpy as np

    arrays = {f"input_{place}": array for place, array in enumerate(leaves(rows.inputs))}
    packed = io.BytesIO()
    np.savez_compressed(packed, target=leaves(rows.targets)[0], **arrays)
    folder.experiment.mkdir(exist_ok=True)
    with contextlib.suppress(FileNotFoundError):
        folder.experiment_result.unlink()  # of an earlier fit or attempt
    write_bytes(folder.experiment_rows, packed.getvalue(), sync=False, private=True)
    write_text(folder.experiment_model, content, sync=False, private=True)
