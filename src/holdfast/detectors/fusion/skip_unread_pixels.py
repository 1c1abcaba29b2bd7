"""A block of which only every second pixel of every second row is looked at: no more than those are computed.

ResNet's stages begin with a 1 x 1 convolution of stride two. Where nothing else looks at the stage before, three of
four pixels of its last block are for nothing, forwards and backwards. What a pixel of it needs is its own pixel of the
additions and 1 x 1 convolutions before, and of the 3 x 3 convolution before those, which gets a stride of two.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from keras import layers

from holdfast.detectors.fusion.fold_batch_norm import folded_convolution
from holdfast.detectors.fusion.layer_graph import GraphOp, Name

Tensor = Any

STRIDE = (2, 2)
_ELEMENTWISE = ("relu", "biased relu", "bias", "add")


def reads_every_second_pixel(steps: Sequence[GraphOp], start: Name) -> bool:
    users = [step for step in steps if start in step.sources]
    return bool(users) and all(step.kind == "thin" and step.of == STRIDE for step in users)


def without_subsampling(steps: Sequence[GraphOp], start: Name) -> list[GraphOp]:
    """Where `start` is thin already."""
    taken = {step.result for step in steps if step.kind == "thin" and step.sources == (start,)}
    return [
        step._replace(sources=tuple(start if source in taken else source for source in step.sources))
        for step in steps
        if step.result not in taken
    ]


def subsampled(steps: Sequence[GraphOp], end: Name) -> list[GraphOp] | None:
    """The same with an `end` that is thin; None where its last step cannot be made so."""
    thin: set[Name] = set()
    passing: set[Name] = set()  # those of them that are made of thin ones
    for step in reversed(steps):
        users = [one.result for one in steps if step.result in one.sources]
        wanted = all(user in passing for user in users) if users else step.result == end
        if wanted:
            if step.kind in _ELEMENTWISE or _is_pointwise(step):
                passing.add(step.result)
                thin.add(step.result)
            elif _is_three_by_three(step):
                thin.add(step.result)
    if end not in thin:
        return None
    made: list[GraphOp] = []
    for step in steps:
        if step.result in passing:
            made += [
                _subsample_op(source)
                for source in step.sources
                if source not in thin and _subsample_op(source).result not in {one.result for one in made}
            ]
            sources = (source if source in thin else _subsample_op(source).result for source in step.sources)
            made.append(step._replace(sources=tuple(sources)))
        elif step.result in thin:
            conv, norm = step.of
            made.append(step._replace(run=folded_convolution(conv, norm, how=_strided_convolution)))
        else:
            made.append(step)
    return made


def _subsample_op(source: Name) -> GraphOp:
    return GraphOp(lambda x: x[:, ::2, ::2], (source,), ("thin", source, *STRIDE), "thin", STRIDE)


def _is_pointwise(step: GraphOp) -> bool:
    return step.kind == "conv" and step.of[0].kernel_size == (1, 1) and tuple(step.of[0].strides) == (1, 1)


def _is_three_by_three(step: GraphOp) -> bool:
    if step.kind != "conv" or type(step.of[0]) is not layers.Conv2D:
        return False
    conv = step.of[0]
    how = (tuple(conv.kernel_size), tuple(conv.strides), tuple(conv.dilation_rate), conv.padding)
    return how == ((3, 3), (1, 1), (1, 1), "same")


def _strided_convolution(x: Tensor, kernel: Tensor) -> Tensor:
    from jax import lax

    return lax.conv_general_dilated(
        x, kernel, STRIDE, ((1, 1), (1, 1)), dimension_numbers=("NHWC", "HWIO", "NHWC"),
        feature_group_count=x.shape[-1] // kernel.shape[2],
    )  # fmt: skip
