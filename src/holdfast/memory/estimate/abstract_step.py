"""The real training step of a setup, with arguments that have shapes and no contents. JAX only."""

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

    setup: StepConfig
    detector: Detector

    def step(self, batch: int, micro_batch: int) -> JaxStep:
        setup = self.setup
        net = detector_network(self.detector, changes_colour=setup.changes_colour, seed=0)
        return JaxStep(net, optimizer_config_of(setup), batch=batch, micro_batch=micro_batch)

    def traced_validation(self, batch: int, sharding: Any = None) -> Any:
        """Detection as a validation makes it (`detectors.inference`), traced and not run."""
        variables = list(self.detector.variables)

        def detect(values: list[Any], images: Any) -> Any:
            with keras.StatelessScope(state_mapping=list(zip(variables, values, strict=True))):
                return self.detector.detect(images)

        images = np.zeros((batch, self.setup.input, self.setup.input, 3), np.uint8)
        return jax.jit(detect).trace(*abstract(([one.value for one in variables], images), sharding))


def build_abstract_step(setup: StepConfig) -> AbstractStep:
    with _zeros_for_weights():
        return AbstractStep(setup, build(spec_of(setup)))


@contextlib.contextmanager
def _zeros_for_weights() -> Iterator[None]:
    """Weights of zeros: JAX compiles every initialiser for every shape, 15 s for values that nobody looks at."""
    variable = keras.Variable
    usual = getattr(variable, "_initialize_with_initializer", None)
    if usual is None:  # another Keras: slower, not wrong
        yield
        return
    variable._initialize_with_initializer = lambda self, initializer: self._initialize(
        jnp.asarray(np.zeros(self._shape, jnp.dtype(self._dtype)))
    )
    try:
        yield
    finally:
        variable._initialize_with_initializer = usual


def abstract(tree: Any, sharding: Any = None) -> Any:
    """The same tree of shapes and types, placed where `sharding` says."""
    return jax.tree.map(
        lambda leaf: jax.ShapeDtypeStruct(np.shape(leaf), jnp.asarray(leaf).dtype, sharding=sharding), tree
    )


def size_of(tree: Any) -> int:
    return sum(
        int(np.prod(np.shape(leaf))) * jnp.asarray(leaf).dtype.itemsize for leaf in jax.tree.leaves(tree)
    )
