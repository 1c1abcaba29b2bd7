"""How far weights moved, on variables that are computed in the head."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from holdfast.train import weight_movement


def variable(path, values):
    return SimpleNamespace(path=path, value=np.asarray(values, np.float32))


def test_change_and_size_of_each_variable():
    kernel = variable("ssd/conv1/kernel", [[3.0, -3.0], [3.0, -3.0]])
    bias = variable("ssd/conv1/bias", [0.0, 0.0])
    before = weight_movement.samples([kernel, bias])
    kernel.value = kernel.value + np.float32(0.5)
    event = weight_movement.moved(before, [kernel, bias], step=40)
    assert (event.fit, event.since, event.step) == (1, "start", 40)
    first, second = event.variables
    assert (first["name"], first["layer"], first["size"]) == ("kernel", "ssd/conv1", 4)
    assert (first["rms_before"], first["change"], first["constant"]) == (3.0, 0.5, False)
    assert (second["change"], second["constant_before"]) == (0.0, True)


def test_a_sample_is_a_copy_and_bounded():
    large = variable("a/kernel", np.arange(100_000))
    (sampled,) = weight_movement.samples([large])
    assert (sampled.size, len(sampled.values)) == (100_000, 2048)
    large.value[:] = 7
    assert sampled.values[1] == 48.0  # every 48th


def test_a_variable_that_broke_is_left_out():
    kernel = variable("a/kernel", [1.0, 2.0])
    before = weight_movement.samples([kernel])
    kernel.value = np.array([np.nan, 1.0], np.float32)
    assert weight_movement.moved(before, [kernel], step=3).variables == []
