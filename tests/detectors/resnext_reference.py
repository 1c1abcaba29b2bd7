"""A bottleneck of ResNeXt written out with numpy in float64: each group a convolution of its own."""

from __future__ import annotations

import numpy as np

GROUPS = 32


def normalised(x, weights, name):
    gamma, beta, mean, variance = (
        weights[f"{name}_bn/{part}"] for part in ("gamma", "beta", "moving_mean", "moving_variance")
    )
    return (x - mean) / np.sqrt(variance + 1e-5) * gamma + beta


def by_groups(x, kernel, stride):
    """Three by three, one zero around; group g sees its share of the channels and gives its share of the outputs."""
    wide = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
    rows, columns = (-(-side // stride) for side in x.shape[1:3])
    seen, given = kernel.shape[2], kernel.shape[3] // GROUPS
    out = np.zeros((x.shape[0], rows, columns, kernel.shape[3]))
    for group in range(GROUPS):
        mine = slice(group * given, (group + 1) * given)
        for i in range(3):
            for j in range(3):
                cells = wide[
                    :, i : i + stride * (rows - 1) + 1 : stride, j : j + stride * (columns - 1) + 1 : stride
                ]
                part = cells[..., group * seen : (group + 1) * seen]
                out[..., mine] += part @ kernel[i, j, :, mine]
    return out


def bottleneck(x, weights, name, stride):
    """The first block of a stage: a shortcut with a convolution, the stride in the three by three."""
    shortcut = normalised(
        x[:, ::stride, ::stride] @ weights[f"{name}_0_conv/kernel"][0, 0], weights, f"{name}_0"
    )
    y = np.maximum(normalised(x @ weights[f"{name}_1_conv/kernel"][0, 0], weights, f"{name}_1"), 0)
    y = np.maximum(
        normalised(by_groups(y, weights[f"{name}_2_conv/kernel"], stride), weights, f"{name}_2"), 0
    )
    return np.maximum(
        shortcut + normalised(y @ weights[f"{name}_3_conv/kernel"][0, 0], weights, f"{name}_3"), 0
    )
