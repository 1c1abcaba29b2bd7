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
from typing import Any, NamedTuple

import keras
from keras import layers, ops

from holdfast.detectors.activation import relu, relu6
from holdfast.detectors.first_layer import convolved
from holdfast.detectors.pooling import max_pool

Tensor = Any


class Block(keras.Model):
    """A functional model from `start` to `end`, whose layers are called once each."""

    def __init__(self, start: Any, end: Any, name: str) -> None:
        super().__init__(start, end, name=name)
        self.autocast = False  # weights are folded in float32, whatever the precision of the features
        own = [layer for layer in self.layers if not isinstance(layer, layers.InputLayer)]
        self._plan = _Plan(_relu_after_pool(_steps(own)), id(start), id(end))

    def call(self, inputs: Tensor, training: bool | None = None, mask: Tensor = None) -> Tensor:
        """Always with stored statistics: `training` changes nothing."""
        values = {self._plan.start: inputs}
        for step in self._plan.steps:
            values[step.result] = step.run(*(values[one] for one in step.sources))
        return values[self._plan.end]


class _Step(NamedTuple):
    run: Callable[..., Tensor]
    sources: tuple[int, ...]
    result: int
    kind: str = ""


class _Plan:
    """Which layers run in which order; tensors of the functional graph are named by their `id`."""

    def __init__(self, steps: Sequence[_Step], start: int, end: int) -> None:
        self.steps, self.start, self.end = tuple(steps), start, end


def _steps(own: Sequence[Any]) -> list[_Step]:
    uses = Counter(id(tensor) for layer in own for tensor in _inputs(layer))
    norms = {id(layer.input): layer for layer in own if isinstance(layer, layers.BatchNormalization)}
    steps, done = [], set()
    for layer in own:
        if id(layer) in done:
            continue
        sources = tuple(id(tensor) for tensor in _inputs(layer))
        result = id(layer.output)
        if type(layer) not in (layers.Conv2D, layers.DepthwiseConv2D) or not _is_plain(layer.activation):
            steps.append(_Step(_runner(layer), sources, result, _kind(layer)))
            continue
        norm, active = norms.get(result), layer.activation is relu
        if norm is not None and uses[result] == 1 and not active:
            steps.append(_Step(_convolution(layer, norm), sources, id(norm.output)))
            done.add(id(norm))
        elif active:
            steps += [_Step(_convolution(layer), sources, -result), _Step(relu, (-result,), result, "relu")]
        else:
            steps.append(_Step(_convolution(layer), sources, result))
    return steps


def _relu_after_pool(steps: list[_Step]) -> list[_Step]:
    """The largest of the positive parts is the positive part of the largest: pooled first, a quarter is left to
    cut off, and what was before need not be kept. Zeros padded between the two are cut off as well."""
    uses = Counter(source for step in steps for source in step.sources)
    user = {source: step for step in steps for source in step.sources}
    changed: dict[int, list[_Step]] = {}
    for step in steps:
        if step.kind != "relu":
            continue
        way = [step]
        while uses[way[-1].result] == 1 and user[way[-1].result].kind in ("pad", "pool"):
            way.append(user[way[-1].result])
            if way[-1].kind == "pool":
                break
        if way[-1].kind != "pool":
            continue
        pool, source = way[-1], step.sources
        for between in way[1:-1]:
            changed[between.result] = [between._replace(sources=source)]
            source = (between.result,)
        pooled = pool._replace(sources=source, result=-pool.result)
        changed[step.result] = []
        changed[pool.result] = [pooled, step._replace(sources=(pooled.result,), result=pool.result)]
    return [new for step in steps for new in changed.get(step.result, [step])]


def _inputs(layer: Any) -> list[Any]:
    return layer.input if isinstance(layer.input, list) else [layer.input]


def _is_plain(activation: Any) -> bool:
    return activation is keras.activations.linear or activation is relu


def _kind(layer: Any) -> str:
    if _runner(layer) is relu:
        return "relu"
    if isinstance(layer, layers.ZeroPadding2D):
        return "pad"
    return "pool" if isinstance(layer, layers.MaxPooling2D) else ""


def _runner(layer: Any) -> Callable[..., Tensor]:
    if isinstance(layer, layers.Activation) and layer.activation is keras.activations.relu:
        return relu
    if isinstance(layer, layers.ReLU) and not (layer.negative_slope or layer.threshold):
        if layer.max_value is None:
            return relu
        if layer.max_value == 6.0:
            return relu6
    if isinstance(layer, layers.MaxPooling2D):
        (window, other), (stride, other_stride) = layer.pool_size, layer.strides
        if window == other and stride == other_stride:
            return lambda x: max_pool(x, window, stride, layer.padding)
    if isinstance(layer, layers.BatchNormalization):
        return lambda x: layer(x, training=False)
    if len(_inputs(layer)) > 1:
        return lambda *x: layer(list(x))
    return lambda x: layer(x)


def _convolution(conv: Any, norm: Any = None) -> Callable[[Tensor], Tensor]:
    depthwise = isinstance(conv, layers.DepthwiseConv2D)

    def run(x: Tensor) -> Tensor:
        kernel, bias = ops.convert_to_tensor(conv.kernel), conv.bias
        if norm is not None:
            scale, shift = scale_and_shift(norm)
            kernel = kernel * (ops.reshape(scale, (1, 1, -1, conv.depth_multiplier)) if depthwise else scale)
            bias = shift if bias is None else shift + bias * scale
        dtype = conv.compute_dtype
        x, kernel = ops.cast(x, dtype), ops.cast(kernel, dtype)
        how = {"strides": conv.strides, "padding": conv.padding, "dilation_rate": conv.dilation_rate}
        if depthwise:
            x = ops.depthwise_conv(x, kernel, data_format="channels_last", **how)
        else:
            x = convolved(x, kernel, **how)
        return x if bias is None else x + ops.cast(bias, dtype)

    return run


def scale_and_shift(norm: Any) -> tuple[Tensor, Tensor]:
    """What stored statistics, scale and centre come to: y = x * scale + shift."""
    scale = ops.rsqrt(ops.convert_to_tensor(norm.moving_variance) + norm.epsilon)
    if norm.scale:
        scale = scale * norm.gamma
    shift = -norm.moving_mean * scale
    return scale, shift + norm.beta if norm.center else shift
