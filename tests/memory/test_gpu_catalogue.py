"""Descriptions of GPUs."""

from __future__ import annotations

import importlib.util
import subprocess
import sys

import pytest

from holdfast.errors import OutOfRange
from holdfast.memory import gpu_catalogue
from tests.waiting import PATIENCE_S


def test_one_was_read_from_a_gpu_and_the_others_say_that_they_were_not():
    assert [gpu.slug for gpu in gpu_catalogue.all_gpus() if not gpu.is_from_datasheet] == ["h200"]
    assert {gpu.source for gpu in gpu_catalogue.all_gpus()} == {"read from a GPU", "datasheet"}


def test_the_description_carries_the_memory_that_it_is_planned_for():
    text = gpu_catalogue.gpu_named("h200").with_memory(123456789).target_config()
    assert "device_memory_size: 123456789" in text
    assert 'name: "NVIDIA H200"' in text
    guessed = gpu_catalogue.gpu_named("a100-40").target_config()
    assert "device_memory_size: 42949672960" in guessed
    assert "core_count: 108" in guessed
    assert "major: 8" in guessed


def test_a_name_that_is_not_described_gets_the_nearest():
    with pytest.raises(OutOfRange) as raised:
        gpu_catalogue.gpu_named("h300")
    assert "--gpu h" in raised.value.change[0]
    assert "t4" in raised.value.found[0]


@pytest.mark.parametrize(
    ("reported", "slug"),
    [
        ("NVIDIA H200", "h200"),
        ("NVIDIA A100-SXM4-80GB", "a100-80"),
        ("NVIDIA GeForce RTX 4090", "rtx-4090"),
        ("Tesla T4", "t4"),
        ("Matrox Mystique", None),
    ],
)
def test_a_gpu_is_known_by_what_its_driver_calls_it(reported, slug):
    found = gpu_catalogue.gpu_of_driver_name(reported)
    assert (found.slug if found else None) == slug


def test_a_size_alone_takes_the_nearest():
    assert gpu_catalogue.gpu_of_size(139 * 2**30).slug == "h200"
    assert gpu_catalogue.gpu_of_size(40 * 2**30).slug == "a100-40"
    assert gpu_catalogue.gpu_of_size(16 * 2**30).memory_bytes == 16 * 2**30
    assert gpu_catalogue.gpu_of_size(16 * 2**30).capability >= (7, 5), "CUDA 13 compiles for nothing older"


UNDERSTAND = """
import os
os.environ.update(JAX_PLATFORMS="cpu", JAX_SKIP_CUDA_CONSTRAINTS_CHECK="1", CUDA_VISIBLE_DEVICES="-1")
from holdfast.memory import gpu_catalogue
from holdfast.memory.estimate.aot_compile import compile_target
print(*[compile_target(gpu).device_set.pop().device_kind for gpu in gpu_catalogue.all_gpus()], sep="\\n")
"""


@pytest.mark.hot
@pytest.mark.skipif(
    importlib.util.find_spec("jax_cuda13_plugin") is None, reason="the extra `plan` is not installed"
)
def test_the_compiler_that_is_installed_understands_every_description():
    done = subprocess.run(
        [sys.executable, "-c", UNDERSTAND], capture_output=True, text=True, check=False, timeout=PATIENCE_S
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.splitlines() == [gpu.name for gpu in gpu_catalogue.all_gpus()]
