"""Trains a recorded model once for each setup that it is asked about, and prints how far each came.

Run as a file by the Python that trained the model, which may be older than Holdfast's and need not have it installed:
written for 3.9, and nothing of Holdfast is imported. The question, on standard input, names the folder of the
experiment and the setups; each has the configuration of the model, the loss and the optimizer. One measure is the same
for all of them, whatever their loss is: the share of answers that are right, or of the variance that they explain.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

_SEED = 1


def main() -> int:
    question = json.load(sys.stdin)
    try:
        import keras
    except ImportError as error:
        print(json.dumps({"missing": str(error)}))
        return 0
    inputs, targets = _rows(Path(question["folder"]), question["inputs"])
    tried: list[dict[str, Any]] = []
    for number, setup in enumerate(question["setups"]):
        print(f"training {number + 1} of {len(question['setups'])}", flush=True)
        try:
            tried.append(_train(keras, setup, inputs, targets, question))
        except Exception as error:
            tried.append({"error": f"{type(error).__name__}: {error}"[:300]})
    print(json.dumps({"tried": tried, **of_constant(targets, question["task"])}))
    return 0


def _rows(folder: Path, structure: Any) -> tuple[Any, Any]:
    import numpy as np

    with np.load(folder / "batch.npz", allow_pickle=False) as packed:
        arrays = {name: packed[name] for name in packed.files}
    inputs = [arrays[f"input_{place}"] for place in range(len(arrays) - 1)]
    if isinstance(structure, list):
        return {name: inputs[place] for place, name in enumerate(structure)}, arrays["target"]
    return (inputs if structure is not None else inputs[0]), arrays["target"]


def _train(keras: Any, setup: dict[str, Any], inputs: Any, targets: Any, question: Any) -> dict[str, Any]:
    keras.utils.set_random_seed(_SEED)
    kind = keras.Sequential if setup["model"]["class_name"] == "Sequential" else keras.Model
    model = kind.from_config(setup["model"]["config"])
    loss = setup["loss"]
    model.compile(
        optimizer=keras.optimizers.deserialize(setup["optimizer"]),
        loss=loss if isinstance(loss, str) else keras.losses.deserialize(loss),
    )
    given = _each(standardised, inputs) if setup.get("scale_inputs") else inputs
    given_targets, mean, std = scaled(targets, bool(setup.get("scale_targets")))
    batch = max(1, min(int(setup["batch_size"]), int(question["rows"])))
    begun = time.monotonic()
    losses = _fitted(keras, model, given, given_targets, batch, question)
    predicted = model.predict(given, batch_size=batch, verbose=0)
    if isinstance(predicted, (list, tuple)):
        predicted = predicted[0]
    return {
        "seconds": round(time.monotonic() - begun, 2),
        **losses,
        **measured(predicted * std + mean, targets, question["task"], setup["from_logits"]),
    }


def _fitted(keras: Any, model: Any, inputs: Any, targets: Any, batch: int, question: Any) -> dict[str, Any]:
    """The loss before and after, and the number of steps."""
    most_steps, ends = question["steps"], time.monotonic() + question["seconds"]

    class Limits(keras.callbacks.Callback):  # type: ignore[misc]
        steps = 0

        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            self.steps += 1
            if self.steps >= most_steps or time.monotonic() > ends:
                self.model.stop_training = True

    limits = Limits()
    first = _number(model.evaluate(inputs, targets, batch_size=batch, verbose=0))
    model.fit(inputs, targets, batch_size=batch, epochs=most_steps, verbose=0, callbacks=[limits])
    last = _number(model.evaluate(inputs, targets, batch_size=batch, verbose=0))
    return {"first_loss": first, "last_loss": last, "steps": limits.steps}


def _number(value: Any) -> float | None:
    """JSON has no NaN."""
    number = float(value[0] if isinstance(value, (list, tuple)) else value)
    return number if number - number == 0 else None


def _each(function: Any, value: Any) -> Any:
    if isinstance(value, dict):
        return {name: function(one) for name, one in value.items()}
    return [function(one) for one in value] if isinstance(value, list) else function(value)


# -- how good answers are. Tasks: classes (ids, or rows with one 1), labels (each yes or no), numbers ------------


def measured(predicted: Any, targets: Any, task: str, from_logits: bool) -> dict[str, Any]:
    """`accuracy`, or `unexplained`: the mean squared error as a share of the variance of the targets."""
    import numpy as np

    if not np.isfinite(predicted).all():
        return {"broken": True}
    if task == "numbers":
        return {"unexplained": _unexplained(np, predicted, targets)}
    if task == "labels":
        said = (predicted > (0 if from_logits else 0.5)).reshape(len(targets), -1)
        return {"accuracy": float((said == (targets.reshape(len(targets), -1) > 0.5)).mean())}
    return {"accuracy": float((_classes(np, predicted, targets, from_logits) == ids(targets)).mean())}


def of_constant(targets: Any, task: str) -> dict[str, Any]:
    """What the best answer reaches that is the same for every row: the share of the largest class."""
    import numpy as np

    if task == "numbers":
        return {}
    if task == "labels":
        shares = (targets.reshape(len(targets), -1) > 0.5).mean(axis=0)
        return {"majority": float(np.maximum(shares, 1 - shares).mean())}
    _, counts = np.unique(ids(targets), return_counts=True)
    return {"majority": float(counts.max() / counts.sum())}


def ids(targets: Any) -> Any:
    """Of rows with one 1, the place of the 1."""
    last = targets.shape[-1] if targets.ndim > 1 else 1
    one_hot = (
        last > 1 and bool((targets.sum(axis=-1) == 1).all()) and bool(((targets == 0) | (targets == 1)).all())
    )
    return (targets.argmax(axis=-1) if one_hot else targets).reshape(-1)


def _classes(np: Any, predicted: Any, targets: Any, from_logits: bool) -> Any:
    units = predicted.shape[-1] if predicted.ndim > 1 else 1
    if units > 1 and predicted.size // units == ids(targets).size:
        return predicted.argmax(axis=-1).reshape(-1)
    return (predicted > 0 if from_logits else np.rint(predicted)).reshape(-1)


def _unexplained(np: Any, predicted: Any, targets: Any) -> float:
    rows = targets.reshape(len(targets), -1).astype("float64")
    error = ((predicted.reshape(len(targets), -1) - rows) ** 2).mean()
    return float(error / max(((rows - rows.mean(axis=0)) ** 2).mean(), 1e-12))


def scaled(targets: Any, wanted: bool) -> tuple[Any, float, float]:
    """With mean 0 and deviation 1, and how to come back."""
    if not wanted:
        return targets, 0.0, 1.0
    mean, std = float(targets.mean()), float(targets.std()) or 1.0
    return ((targets - mean) / std).astype("float32"), mean, std


def standardised(array: Any) -> Any:
    """Each column of a table by itself; of a series or an image all values together."""
    import numpy as np

    values = array.astype("float32")
    axis = 0 if values.ndim == 2 else None
    std = np.asarray(values.std(axis=axis))
    return (values - values.mean(axis=axis)) / np.where(std > 0, std, 1.0)


if __name__ == "__main__":
    sys.exit(main())
