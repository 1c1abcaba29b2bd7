"""A part of a network run with less traffic through memory, and the same result to rounding.

A batch normalisation that uses stored statistics is a scale and a shift by channel. Multiplied into the kernel of
the convolution before it, it costs nothing by pixel, the unnormalised features are never written, and the gradients
of its scale and shift come out of those of the kernel and the bias. So a layer is one convolution, one addition and
one ReLU, which compilers join.
"""

# mypy: allow-subclassing-any

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import keras
from keras import layers, ops

from holdfast.detectors.fusion.fold_batch_norm import folded_bias, folded_convolution
from holdfast.detectors.fusion.layer_graph import GraphOp, Name, on_jax, only_users
from holdfast.detectors.fusion.max_pool import max_pool
from holdfast.detectors.fusion.relu_from_output import biased, relu, relu6
from holdfast.detectors.fusion.remat import full_precision
from holdfast.detectors.fusion.reorder import relu_after_pool, with_paired_vgg_stem, with_space_to_depth_stem
from holdfast.detectors.fusion.skip_unread_pixels import (
    reads_every_second_pixel,
    subsampled,
    without_subsampling,
)
from holdfast.detectors.fusion.stem_layouts import convolve

Tensor = Any


class FusedBlock(keras.Model):
    """A functional model from `start` to `end`, whose layers are called once each."""

    def __init__(self, start: Any, end: Any, name: str) -> None:
        super().__init__(start, end, name=name)
        self.autocast = False  # weights are folded in float32, whatever the precision of the features
        self.input_spec = None  # what goes in may be thin
        own = [layer for layer in self.layers if not isinstance(layer, layers.InputLayer)]
        steps = _defer_biases(_graph_ops(own)) if on_jax() else _graph_ops(own)
        self._plan = _Plan(
            with_paired_vgg_stem(with_space_to_depth_stem(relu_after_pool(steps))), id(start), id(end)
        )

    @property
    def looks_at_every_second(self) -> bool:
        """Whether of what goes in nothing but every second pixel of every second row is looked at."""
        return reads_every_second_pixel(self._plan.steps, self._plan.start)

    @property
    def can_be_thin(self) -> bool:
        """Whether no more than that need be computed where no more is looked at."""
        return subsampled(self._plan.steps, self._plan.end) is not None

    def call(
        self,
        inputs: Tensor,
        training: bool | None = None,
        mask: Tensor = None,
        from_thin: bool = False,
        to_thin: bool = False,
    ) -> Tensor:
        """Always with stored statistics: `training` changes nothing. `from_thin`: what goes in is every second pixel
        of every second row already; `to_thin`: so is what is to come out."""
        thin = subsampled(self._plan.steps, self._plan.end) if to_thin else None
        steps: Sequence[GraphOp] = self._plan.steps if thin is None else thin
        steps = without_subsampling(steps, self._plan.start) if from_thin else steps
        values: dict[Name, Tensor] = {self._plan.start: inputs}
        for step in steps:
            values[step.result] = step.run(*(values[one] for one in step.sources))
        return values[self._plan.end]


class _Plan:
    """Which layers run in which order."""

    def __init__(self, steps: Sequence[GraphOp], start: int, end: int) -> None:
        self.steps, self.start, self.end = tuple(steps), start, end


def _graph_ops(own: Sequence[Any]) -> list[GraphOp]:
    uses = Counter(id(tensor) for layer in own for tensor in _inputs(layer))
    norms = {id(layer.input): layer for layer in own if isinstance(layer, layers.BatchNormalization)}
    steps: list[GraphOp] = []
    done: set[int] = set()
    for layer in own:
        if id(layer) in done:
            continue
        sources = tuple(id(tensor) for tensor in _inputs(layer))
        result = id(layer.output)
        if type(layer) not in (layers.Conv2D, layers.DepthwiseConv2D) or not _is_plain(layer.activation):
            steps.append(GraphOp(_runner(layer), sources, result, _kind(layer), layer))
            continue
        norm, active = norms.get(result), layer.activation is relu
        if norm is not None and uses[result] == 1 and not active:
            result = id(norm.output)
            done.add(id(norm))
        else:
            norm = None
        made = {step.result for step in steps}
        steps += [
            new for new in _convolution_ops(layer, norm, sources, result, active) if new.result not in made
        ]
    return steps


def _convolution_ops(
    conv: Any, norm: Any, sources: tuple[Name, ...], result: Name, active: bool
) -> list[GraphOp]:
    """Convolution, bias and ReLU, a step each."""
    steps = []
    if on_jax() and conv.kernel_size == (1, 1) and tuple(conv.strides) != (1, 1):
        # The pixels that are looked at are taken once for all convolutions that do, and their gradient spread once.
        down, along = conv.strides
        thin = ("thin", *sources, down, along)
        steps.append(GraphOp(lambda x: x[:, ::down, ::along], sources, thin, "thin", (down, along)))
        sources = (thin,)
    steps.append(
        GraphOp(folded_convolution(conv, norm), sources, ("without bias", result), "conv", (conv, norm))
    )
    if conv.use_bias or (norm is not None):
        steps.append(_bias_op(folded_bias(conv, norm), steps[-1].result, ("before relu", result)))
    if active:
        steps.append(GraphOp(relu, (steps[-1].result,), result, "relu"))
    return [*steps[:-1], steps[-1]._replace(result=result)]


def _bias_op(bias: Callable[[], Tensor], source: Name, result: Name) -> GraphOp:
    return GraphOp(lambda x: biased(x, bias()), (source,), result, "bias", bias)


def _defer_biases(steps: list[GraphOp]) -> list[GraphOp]:
    """A bias goes behind the addition it feeds, where two become one, and into the ReLU behind that: its gradient
    is a sum over the ReLU's, and made in the same pass."""
    while True:
        user = only_users(steps)
        meets = (
            (one, user[one.result])
            for one in steps
            if one.kind == "bias" and one.result in user and user[one.result].kind in ("add", "bias", "relu")
        )
        found = next(meets, None)
        if found is None:
            return steps
        bias, then = found
        new = _move_bias_behind(bias, then)
        steps = [part for step in steps if step is not bias for part in (new if step is then else [step])]


def _move_bias_behind(bias: GraphOp, then: GraphOp) -> list[GraphOp]:
    sources = tuple(bias.sources[0] if source == bias.result else source for source in then.sources)
    if then.kind == "relu":
        run = partial(_biased_relu, bias.of)
        return [then._replace(run=run, sources=sources, kind="biased relu", of=bias.of)]
    if then.kind == "bias":
        return [_bias_op(lambda: bias.of() + then.of(), sources[0], then.result)]
    raw = ("without bias", then.result)
    return [then._replace(sources=sources, result=raw), _bias_op(bias.of, raw, then.result)]


def _biased_relu(bias: Callable[[], Tensor], x: Tensor) -> Tensor:
    return biased(x, bias(), active=True)


def _inputs(layer: Any) -> list[Any]:
    return layer.input if isinstance(layer.input, list) else [layer.input]


def _is_plain(activation: Any) -> bool:
    return activation is keras.activations.linear or activation is relu


def _kind(layer: Any) -> str:
    if _runner(layer) is relu:
        return "relu"
    if isinstance(layer, layers.Add) and len(_inputs(layer)) == 2:
        return "add"
    if isinstance(layer, layers.ZeroPadding2D):
        return "pad"
    return "pool" if isinstance(layer, layers.MaxPooling2D) and _is_square(layer) else ""


def _is_square(pool: Any) -> bool:
    return len({*pool.pool_size}) == len({*pool.strides}) == 1


def _runner(layer: Any) -> Callable[..., Tensor]:
    if isinstance(layer, layers.Activation) and layer.activation is keras.activations.relu:
        return relu
    if isinstance(layer, layers.ReLU) and not (layer.negative_slope or layer.threshold):
        if layer.max_value is None:
            return relu
        if layer.max_value == 6.0:
            return relu6
    if isinstance(layer, layers.MaxPooling2D) and _is_square(layer):
        return lambda x: max_pool(x, layer.pool_size[0], layer.strides[0], layer.padding)
    if isinstance(layer, layers.BatchNormalization):
        return lambda x: layer(x, training=False)
    if len(_inputs(layer)) > 1:
        return lambda *x: layer(list(x))
    return lambda x: layer(x)


def convolution(conv: Any, x: Tensor, *, active: bool = False) -> Tensor:
    """A built convolution of Keras with its bias, and the ReLU if `active`, in the precision of `x`."""
    with full_precision():
        kernel, bias = ops.convert_to_tensor(conv.kernel), ops.convert_to_tensor(conv.bias)
    how = {"strides": conv.strides, "padding": conv.padding, "dilation_rate": conv.dilation_rate}
    return biased(convolve(x, ops.cast(kernel, x.dtype), **how), bias, active=active)
