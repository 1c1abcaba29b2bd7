"""A part of a network run with less traffic through memory, and the same result to rounding.

A batch normalisation that uses stored statistics is a scale and a shift by channel. Multiplied into the kernel of
the convolution before it, it costs nothing by pixel, the unnormalised features are never written, and the gradients
of its scale and shift come out of those of the kernel and the bias. So a layer is one convolution, one addition and
one ReLU, which compilers join.
"""

# mypy: allow-subclassing-any

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple

import keras
from keras import layers, ops

from holdfast.detectors.activation import biased, relu, relu6
from holdfast.detectors.first_layer import can_be_in_fours, convolved, in_fours
from holdfast.detectors.pooling import max_pool, max_pool_of_fours
from holdfast.detectors.remat import in_full

Tensor = Any


class Block(keras.Model):
    """A functional model from `start` to `end`, whose layers are called once each."""

    def __init__(self, start: Any, end: Any, name: str) -> None:
        super().__init__(start, end, name=name)
        self.autocast = False  # weights are folded in float32, whatever the precision of the features
        own = [layer for layer in self.layers if not isinstance(layer, layers.InputLayer)]
        steps = _biases_late(_steps(own)) if _on_jax() else _steps(own)
        self._plan = _Plan(_in_fours(_relu_after_pool(steps)), id(start), id(end))

    def call(self, inputs: Tensor, training: bool | None = None, mask: Tensor = None) -> Tensor:
        """Always with stored statistics: `training` changes nothing."""
        values: dict[Name, Tensor] = {self._plan.start: inputs}
        for step in self._plan.steps:
            values[step.result] = step.run(*(values[one] for one in step.sources))
        return values[self._plan.end]


Name = Hashable  # of a tensor: the `id` of one of the functional graph, or what was made of one


class _Step(NamedTuple):
    run: Callable[..., Tensor]
    sources: tuple[Name, ...]
    result: Name
    kind: str = ""
    of: Any = None  # what a bias is, or the layer


class _Plan:
    """Which layers run in which order."""

    def __init__(self, steps: Sequence[_Step], start: int, end: int) -> None:
        self.steps, self.start, self.end = tuple(steps), start, end


def _steps(own: Sequence[Any]) -> list[_Step]:
    uses = Counter(id(tensor) for layer in own for tensor in _inputs(layer))
    norms = {id(layer.input): layer for layer in own if isinstance(layer, layers.BatchNormalization)}
    steps: list[_Step] = []
    done: set[int] = set()
    for layer in own:
        if id(layer) in done:
            continue
        sources = tuple(id(tensor) for tensor in _inputs(layer))
        result = id(layer.output)
        if type(layer) not in (layers.Conv2D, layers.DepthwiseConv2D) or not _is_plain(layer.activation):
            steps.append(_Step(_runner(layer), sources, result, _kind(layer), layer))
            continue
        norm, active = norms.get(result), layer.activation is relu
        if norm is not None and uses[result] == 1 and not active:
            result = id(norm.output)
            done.add(id(norm))
        else:
            norm = None
        made = {step.result for step in steps}
        steps += [new for new in _convolved(layer, norm, sources, result, active) if new.result not in made]
    return steps


def _convolved(conv: Any, norm: Any, sources: tuple[Name, ...], result: Name, active: bool) -> list[_Step]:
    """Convolution, bias and ReLU, a step each."""
    steps = []
    if _on_jax() and conv.kernel_size == (1, 1) and tuple(conv.strides) != (1, 1):
        # The pixels that are looked at are taken once for all convolutions that do, and their gradient spread once.
        down, along = conv.strides
        thin = ("thin", *sources, down, along)
        steps.append(_Step(lambda x: x[:, ::down, ::along], sources, thin))
        sources = (thin,)
    steps.append(_Step(_convolution(conv, norm), sources, ("without bias", result), "conv", (conv, norm)))
    if conv.use_bias or (norm is not None):
        steps.append(_bias_step(_bias(conv, norm), steps[-1].result, ("before relu", result)))
    if active:
        steps.append(_Step(relu, (steps[-1].result,), result, "relu"))
    return [*steps[:-1], steps[-1]._replace(result=result)]


def _bias_step(bias: Callable[[], Tensor], source: Name, result: Name) -> _Step:
    return _Step(lambda x: biased(x, bias()), (source,), result, "bias", bias)


def _biases_late(steps: list[_Step]) -> list[_Step]:
    """A bias goes behind the addition it feeds, where two become one, and into the ReLU behind that: its gradient
    is a sum over the ReLU's, and made in the same pass."""
    while True:
        uses = Counter(source for step in steps for source in step.sources)
        user = {source: step for step in steps for source in step.sources if uses[source] == 1}
        meets = (
            (one, user[one.result])
            for one in steps
            if one.kind == "bias" and one.result in user and user[one.result].kind in ("add", "bias", "relu")
        )
        found = next(meets, None)
        if found is None:
            return steps
        bias, then = found
        new = _behind(bias, then)
        steps = [part for step in steps if step is not bias for part in (new if step is then else [step])]


def _behind(bias: _Step, then: _Step) -> list[_Step]:
    sources = tuple(bias.sources[0] if source == bias.result else source for source in then.sources)
    if then.kind == "relu":
        return [then._replace(run=lambda x: biased(x, bias.of(), active=True), sources=sources)]
    if then.kind == "bias":
        return [_bias_step(lambda: bias.of() + then.of(), sources[0], then.result)]
    raw = ("without bias", then.result)
    return [then._replace(sources=sources, result=raw), _bias_step(bias.of, raw, then.result)]


def _relu_after_pool(steps: list[_Step]) -> list[_Step]:
    """The largest of the positive parts is the positive part of the largest: pooled first, a quarter is left to
    cut off, and what was before need not be kept. A bias is the same for all of a window, so it goes along; zeros
    padded between the two are cut off as well, and on JAX never looked at."""
    uses = Counter(source for step in steps for source in step.sources)
    user = {source: step for step in steps for source in step.sources if uses[source] == 1}
    changed: dict[Name, list[_Step]] = {}
    for step in (step for step in steps if step.kind == "relu"):
        pool, pad = user.get(step.result), None
        if pool is not None and pool.kind == "pad":
            pad, pool = pool, user.get(pool.result)
        if pool is None or pool.kind != "pool" or (pad is not None and pool.of.padding != "valid"):
            continue
        around = ((0, 0), (0, 0)) if pad is None else tuple(map(tuple, pad.of.padding))
        run = pool.run if pad is None else _padded_pool(pool.of, around)
        pooled = pool._replace(
            run=run, sources=step.sources, result=("before relu", pool.result), of=(pool.of, around)
        )
        changed |= {
            step.result: [],
            pool.result: [pooled, step._replace(sources=(pooled.result,), result=pool.result)],
        }
        changed |= {} if pad is None else {pad.result: []}
    return [new for step in steps for new in changed.get(step.result, [step])]


def _in_fours(steps: list[_Step]) -> list[_Step]:
    """The first convolution and pooling of a ResNet, with two by two pixels in a cell between them."""
    uses = Counter(source for step in steps for source in step.sources)
    made = {step.result: step for step in steps}
    changed: dict[Name, _Step] = {}
    for step in steps:
        before = made.get(step.sources[0]) if step.kind == "pool" and isinstance(step.of, tuple) else None
        if not _on_jax() or before is None or before.kind != "conv" or uses[before.result] > 1:
            continue
        (pool, around), (conv, norm) = step.of, before.of
        if (pool.pool_size[0], pool.strides[0], around) == (3, 2, ((1, 1), (1, 1))) and can_be_in_fours(conv):
            changed[before.result] = before._replace(run=_convolution(conv, norm, how=in_fours))
            changed[step.result] = step._replace(run=max_pool_of_fours)
    return [changed.get(step.result, step) for step in steps]


def _padded_pool(layer: Any, around: Any) -> Callable[[Tensor], Tensor]:
    window, stride = layer.pool_size[0], layer.strides[0]
    if _on_jax():
        return lambda x: max_pool(x, window, stride, around)
    return lambda x: max_pool(ops.pad(x, ((0, 0), *around, (0, 0))), window, stride, "valid")


def _on_jax() -> bool:
    return bool(keras.backend.backend() == "jax")


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


def _convolution(conv: Any, norm: Any = None, how: Any = None) -> Callable[[Tensor], Tensor]:
    """Without the bias. `how` makes it of pictures and kernel, in place of the plain way."""
    depthwise = isinstance(conv, layers.DepthwiseConv2D)
    strides = (1, 1) if _on_jax() and conv.kernel_size == (1, 1) else conv.strides  # taken before

    def run(x: Tensor) -> Tensor:
        kernel = ops.convert_to_tensor(conv.kernel)
        if norm is not None:
            scale, _ = scale_and_shift(norm)
            kernel = kernel * (ops.reshape(scale, (1, 1, -1, conv.depth_multiplier)) if depthwise else scale)
        x, kernel = ops.cast(x, conv.compute_dtype), ops.cast(kernel, conv.compute_dtype)
        if how is not None:
            return how(x, kernel)
        rest = {"strides": strides, "padding": conv.padding, "dilation_rate": conv.dilation_rate}
        if depthwise:
            return ops.depthwise_conv(x, kernel, data_format="channels_last", **rest)
        return convolved(x, kernel, **rest)

    return run


def _bias(conv: Any, norm: Any) -> Callable[[], Tensor]:
    def value() -> Tensor:
        if norm is None:
            return ops.convert_to_tensor(conv.bias)
        scale, shift = scale_and_shift(norm)
        return shift if conv.bias is None else shift + conv.bias * scale

    return value


def convolution(conv: Any, x: Tensor, *, active: bool = False) -> Tensor:
    """A built convolution of Keras with its bias, and the ReLU if `active`, in the precision of `x`."""
    with in_full():
        kernel, bias = ops.convert_to_tensor(conv.kernel), ops.convert_to_tensor(conv.bias)
    how = {"strides": conv.strides, "padding": conv.padding, "dilation_rate": conv.dilation_rate}
    return biased(convolved(x, ops.cast(kernel, x.dtype), **how), bias, active=active)


def scale_and_shift(norm: Any) -> tuple[Tensor, Tensor]:
    """What stored statistics, scale and centre come to: y = x * scale + shift."""
    scale = ops.rsqrt(ops.convert_to_tensor(norm.moving_variance) + norm.epsilon)
    if norm.scale:
        scale = scale * norm.gamma
    shift = -norm.moving_mean * scale
    return scale, shift + norm.beta if norm.center else shift
