"""Descriptions of GPUs for the compiler. One was read from a real GPU; the others are from datasheets."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from importlib import resources
from typing import Any

from holdfast.errors import OutOfRange, nearest

_NOT_BEFORE_JAX_0_11 = (
    "mem_clock_ghz",
    "reserved_shared_memory_per_block",
    "max_blocks_per_multiprocessor",
    "collective_memory_granularity",
)


@dataclass(frozen=True, slots=True)
class GpuSpec:
    """`source` is "read from a GPU" or "datasheet". Bandwidth in bytes per second, caches and memory in bytes."""

    slug: str
    name: str
    source: str
    memory_bytes: int
    capability: tuple[int, int]
    cores: int  # streaming multiprocessors
    fpus: int  # float32 lanes in each
    shared_per_core: int
    shared_per_block: int
    threads_per_core: int
    l2_bytes: int
    clock_ghz: float
    bandwidth: float

    @property
    def is_from_datasheet(self) -> bool:
        return self.source != "read from a GPU"

    def target_config(self, *, older: bool = False) -> str:
        """The text of the compiler's GpuTargetConfigProto, without the fields that `older` compilers reject."""
        if not self.is_from_datasheet:
            text = (
                resources.files("holdfast.memory").joinpath(f"gpu_descriptions/{self.slug}.pbtxt").read_text()
            )
            if older:
                text = re.sub(rf"(?m)^ *({'|'.join(_NOT_BEFORE_JAX_0_11)}): .*\n", "", text)
            return re.sub(r"device_memory_size: \d+", f"device_memory_size: {self.memory_bytes}", text)
        return _TEMPLATE.format(
            name=self.name, cores=self.cores, fpus=self.fpus, shared=self.shared_per_core,
            optin=self.shared_per_block, threads=self.threads_per_core, l2=self.l2_bytes, clock=self.clock_ghz,
            bandwidth=int(self.bandwidth), memory=self.memory_bytes, major=self.capability[0],
            minor=self.capability[1],
        )  # fmt: skip

    def with_memory(self, memory_bytes: int) -> GpuSpec:
        """The compiler's schedule depends on the limit, so a slice of a GPU is described with its own size."""
        return replace(self, memory_bytes=memory_bytes)


def all_gpus() -> tuple[GpuSpec, ...]:
    content = json.loads(
        resources.files("holdfast.memory").joinpath("gpu_descriptions/gpus.json").read_text()
    )
    return tuple(_gpu_from_json(gpu) for gpu in content["gpus"])


def _gpu_from_json(fields: dict[str, Any]) -> GpuSpec:
    return GpuSpec(**{**fields, "capability": tuple(fields["capability"])})


def gpu_named(slug: str) -> GpuSpec:
    gpus = {gpu.slug: gpu for gpu in all_gpus()}
    wanted = re.sub(r"[^a-z0-9]+", "-", slug.lower()).strip("-")
    if wanted in gpus:
        return gpus[wanted]
    raise OutOfRange(
        f"unknown GPU {slug!r}",
        where="--gpu",
        found="the GPUs are " + ", ".join(gpus),
        change=f"--gpu {nearest(wanted, list(gpus)) or 'h100'}; or --device-memory alone",
    )


#: The oldest compute capability that the compiler of CUDA 13 supports.
_OLDEST_COMPILED = (7, 5)


def gpu_of_size(memory_bytes: int) -> GpuSpec:
    """The described GPU with the nearest memory: what to compile for when only a size is known."""
    compiled = [gpu for gpu in all_gpus() if gpu.capability >= _OLDEST_COMPILED]
    return min(compiled, key=lambda gpu: (abs(gpu.memory_bytes - memory_bytes), gpu.is_from_datasheet))


def gpu_of_driver_name(reported: str) -> GpuSpec | None:
    """The description of a GPU by the name that its driver gives, as in "NVIDIA A100-SXM4-40GB"."""
    words = set(re.findall(r"[a-z]*\d+[a-z]*", reported.lower()))
    fitting = [gpu for gpu in all_gpus() if set(re.findall(r"[a-z]*\d+[a-z]*", gpu.slug)) & words]
    exact = [gpu for gpu in fitting if set(gpu.slug.split("-")) <= words | {"rtx"}]
    return next(iter(exact or fitting), None)


_TEMPLATE = """gpu_device_info {{
  threads_per_block_limit: 1024
  threads_per_warp: 32
  shared_memory_per_block: 49152
  shared_memory_per_core: {shared}
  threads_per_core_limit: {threads}
  core_count: {cores}
  fpus_per_core: {fpus}
  block_dim_limit_x: 2147483647
  block_dim_limit_y: 65535
  block_dim_limit_z: 65535
  memory_bandwidth: {bandwidth}
  l2_cache_size: {l2}
  clock_rate_ghz: {clock}
  device_memory_size: {memory}
  shared_memory_per_block_optin: {optin}
  cuda_compute_capability {{
    major: {major}
    minor: {minor}
  }}
  registers_per_core_limit: 65536
  registers_per_block_limit: 65536
  driver_version: "13.0.0"
  runtime_version: "13.0.0"
  compile_time_toolkit_version: "13.0.0"
  dnn_version: "9.19.0"
  device_vendor: "NVIDIA Corporation"
  name: "{name}"
  thread_dim_limit_x: 1024
  thread_dim_limit_y: 1024
  thread_dim_limit_z: 64
  device_address_bits: 64
  ecc_enabled: true
}}
platform_name: "CUDA"
device_description_str: "{name}"
runtime_version {{
  major: 13
}}
"""
