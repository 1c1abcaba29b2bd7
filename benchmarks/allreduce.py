"""What joining the gradients costs: an all-reduce of so many weights between processes on this machine.

`python benchmarks/allreduce.py [--processes 2 4] [--millions 1 8 32]`. On CPUs it goes over gloo and loopback TCP; the
numbers of docs/scale.md for GPUs are computed from their links instead.
"""

from __future__ import annotations

import argparse
import os
import socket
import subprocess
import sys
import time

TIMES = 5


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--processes", type=int, nargs="+", default=[2, 4])
    parser.add_argument("--millions", type=float, nargs="+", default=[1, 8, 32])
    args = parser.parse_args()
    if "RANK" in os.environ:
        work(int(os.environ["RANK"]), int(os.environ["COUNT"]), os.environ["COORDINATOR"], args.millions)
        return
    for count in args.processes:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            address = f"127.0.0.1:{probe.getsockname()[1]}"
        words = [sys.executable, __file__, "--millions", *map(str, args.millions)]
        started = [
            subprocess.Popen(
                words, stderr=subprocess.DEVNULL,
                env=os.environ | {"RANK": str(rank), "COUNT": str(count), "COORDINATOR": address},
            )
            for rank in range(count)
        ]  # fmt: skip
        if any(one.wait() for one in started):
            raise SystemExit(1)


def work(rank: int, count: int, address: str, millions: list[float]) -> None:
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    import jax

    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    jax.distributed.initialize(address, count, rank)
    import numpy as np
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    mesh = Mesh(np.array(jax.devices()), ("parts",))
    total = jax.jit(
        jax.shard_map(lambda x: jax.lax.psum(x[0], "parts"), mesh=mesh, in_specs=PartitionSpec("parts"),
                      out_specs=PartitionSpec(), check_vma=False)
    )  # fmt: skip
    for size in millions:
        weights = np.ones((1, int(size * 1e6)), np.float32)
        parted = jax.make_array_from_process_local_data(NamedSharding(mesh, PartitionSpec("parts")), weights)
        jax.block_until_ready(total(parted))
        taken = []
        for _ in range(TIMES):
            began = time.monotonic()
            jax.block_until_ready(total(parted))
            taken.append(time.monotonic() - began)
        if rank == 0:
            told(count, size, taken, 2 * (count - 1) / count * weights.nbytes)


def told(count: int, millions: float, taken: list[float], sent: float) -> None:
    """`sent` bytes leave each process in a ring."""
    best, usual = min(taken), sorted(taken)[TIMES // 2]
    speed = f"{sent / best / 1e9:.2f} GB/s each"
    times = f"{best * 1000:.0f} ms (median {usual * 1000:.0f})"
    print(f"{count} processes, {millions:g} million weights: {times}, {speed}", flush=True)


if __name__ == "__main__":
    main()
