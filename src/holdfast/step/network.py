"""What a step trains: a Keras model's variables by name, and its loss of a batch as a pure function of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import keras

from holdfast.detectors.build import Detector
from holdfast.pipeline.device_transforms import recoloured, resized
from holdfast.step.optimizer import Layout

Tensor = Any
Batch = Mapping[str, Tensor]
#: From a batch to the parts of the loss, each one number per image: (b,). Their sum is minimised.
Losses = Callable[[Batch], Mapping[str, Tensor]]


@dataclass(frozen=True)
class Network:
    """`losses` calls the model; variables whose path has one of `frozen_prefixes` can be frozen."""

    model: keras.Model
    losses: Losses
    frozen_prefixes: tuple[str, ...] = ()

    @property
    def trainable(self) -> list[Any]:
        return list(self.model.trainable_variables)

    @property
    def fixed(self) -> list[Any]:
        """Statistics and the random state of layers, which the optimizer does not touch."""
        return list(self.model.non_trainable_variables)

    def layout(self) -> Layout:
        trainable = self.trainable
        return Layout(
            tuple(tuple(int(side) for side in variable.shape) for variable in trainable),
            tuple(any(prefix in variable.path for prefix in self.frozen_prefixes) for variable in trainable),
        )


def detector_network(model: Detector, *, changes_colour: bool, seed: int) -> Network:
    """A detector, trained on images as the pipeline sends them: resized here if needed, and colour-augmented."""
    offset = seed % 2**16

    def losses(batch: Batch) -> Mapping[str, Tensor]:
        images = images_of(batch, model.spec.input)
        images = recoloured(images, batch["colour"]) if changes_colour else images
        number = keras.ops.cast(batch["image"], "int32") if "image" in batch else 0
        return model.losses_of(
            {
                "images": images, "boxes": batch["boxes"], "labels": batch["labels"], "real": batch["real"],
                "crowd": batch["crowd"], "seeds": batch["step"] * 7919 + number + offset,
            }
        )  # fmt: skip

    return Network(model, losses, frozen_prefixes=(f"{model.backbone.name}/",))


def images_of(batch: Batch, size: tuple[int, int]) -> Tensor:
    """The images of a batch, whether the pipeline resized them or left that to the step."""
    return batch["images"] if "images" in batch else resized(batch["pixels"], batch["view"], *size)


def names_of(variables: Sequence[Any]) -> list[str]:
    """The path of each; a repeated path gets a number, so that none is lost.

    Keras numbers seed generators through the whole process; here they are numbered through the model, so
    that the same model has the same names in another process.
    """
    names: list[str] = []
    times: dict[str, int] = {}
    for variable in variables:
        path = re.sub(r"seed_generator_\d+", "seed_generator", variable.path)
        names.append(f"{path}~{times[path]}" if path in times else path)
        times[path] = times.get(path, 0) + 1
    return names


def loss_sums(
    network: Network, trainable: Sequence[Tensor], fixed: Sequence[Tensor], batch: Batch
) -> tuple[dict[str, Tensor], list[Tensor]]:
    """Each part of the loss summed over the batch's images, and the fixed variables afterwards."""
    pairs = [*zip(network.trainable, trainable, strict=True), *zip(network.fixed, fixed, strict=True)]
    with keras.StatelessScope(state_mapping=pairs) as scope:
        parts = {
            name: keras.ops.sum(keras.ops.cast(value, "float32"))
            for name, value in network.losses(batch).items()
        }
    after = [scope.get_current_value(variable) for variable in network.fixed]
    return parts, [old if new is None else new for new, old in zip(after, fixed, strict=True)]
