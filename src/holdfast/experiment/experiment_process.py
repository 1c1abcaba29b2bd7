"""Trains a recorded model once for each setup that it is asked about, and prints how far each came.

Run as `python -m holdfast.experiment.experiment_process` by the Python that trained the model, which may be older than
Holdfast's: written for 3.9. The question, on standard input, names the run's folder of the experiment and the setups;
each has the configuration of the model, the loss and the optimizer. Only one measure is the same for all of them: how
often the answer is right, or how much of the variance it explains.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

from holdfast.experiment import answers_measured

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
    print(json.dumps({"tried": tried, **answers_measured.of_constant(targets, question["task"])}))
    return 0


def _rows(folder: Path, structure: Any) -> tuple[Any, Any]:
    import numpy as np

    with np.load(folder / "batch.npz", allow_pickle=False) as packed:
        arrays = {name: packed[name] for name in packed.files}
    inputs = [arrays[f"input_{place}"] for place in range(len(arrays) - 1)]
    if isinstance(structure, list):
        return dict(zip(structure, inputs)), arrays["target"]
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
    given = _each(answers_measured.standardised, inputs) if setup.get("scale_inputs") else inputs
    scaled, mean, std = answers_measured.scaled(targets, bool(setup.get("scale_targets")))
    batch = max(1, min(int(setup["batch_size"]), int(question["rows"])))
    begun = time.monotonic()
    losses = _fitted(keras, model, given, scaled, batch, question)
    predicted = model.predict(given, batch_size=batch, verbose=0)
    if isinstance(predicted, (list, tuple)):
        predicted = predicted[0]
    return {
        "seconds": round(time.monotonic() - begun, 2),
        **losses,
        **answers_measured.measured(predicted * std + mean, targets, question["task"], setup["from_logits"]),
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


if __name__ == "__main__":
    sys.exit(main())
