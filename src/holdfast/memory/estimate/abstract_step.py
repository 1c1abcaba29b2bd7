"""The real training step of a configuration, with arguments that have shapes and no values. JAX only."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import keras
import numpy as np

from holdfast.detectors.build import Detector, build
from holdfast.memory.estimate.step_inputs import optimizer_config_of, spec_of
from holdfast.memory.step_config import StepConfig
from holdfast.step.jax_step import JaxStep
from holdfast.step.network import detector_network


@dataclass(frozen=True)
class AbstractStep:
    """A built detector: steps of any batch are made from it."""

    config: StepConfig
    detector: Detector

    def build_step(self, batch: int, micro_batch: int) -> JaxStep:
        network = detector_network(self.detector, changes_colour=self.config.changes_colour, seed=0)
        return JaxStep(network, optimizer_config_of(self.config), batch=batch, micro_batch=micro_batch)

    def traced_validation(self, batch: int, sharding: Any = None) -> Any:
        """Detection as in a validation (`detectors.inference`), traced and not run."""
        variables = list(self.detector.variables)

        def detect(values: list[Any], images: Any) -> Any:
            with keras.StatelessScope(state_mapping=list(zip(variables, values, strict=True))):
                return self.detector.detect(images)

        images = np.zeros((batch, self.config.input, self.config.input, 3), np.uint8)
        return jax.jit(detect).trace(
            *abstract(([variable.value for variable in variables], images), sharding)
        )


def build_abstract_step(config: StepConfig) -> AbstractStep:
    with _zeros_for_weights():
        return AbstractStep(config, build(spec_of(config)))


@contextlib.contextmanager
def _zeros_for_weights() -> Iterator[None]:
    """Weights of zeros: JAX compiles every initialiser for every shape, 15 s for values that are not used."""
    variable = keras.Variable
    original = getattr(variable, "_initialize_with_initializer", None)
    if original is None:  # another version of Keras: slower, not wrong
        yield
        return
    variable._initialize_with_initializer = lambda self, initializer: self._initialize(
        jnp.asarray(np.zeros(self._shape, jnp.dtype(self._dtype)))
    )
    try:
        yield
    finally:
        variable._initialize_with_initializer = original


def abstract(tree: Any, sharding: Any = None) -> Any:
    """The same tree of shapes and types, placed where `sharding` says."""
    return jax.tree.map(
        lambda leaf: jax.ShapeDtypeStruct(np.shape(leaf), jnp.asarray(leaf).dtype, sharding=sharding), tree
    )


def size_of(tree: Any) -> int:
    return sum(
        int(np.prod(np.shape(leaf))) * jnp.asarray(leaf).dtype.itemsize for leaf in jax.tree.leaves(tree)
    )
