"""The second of the files that a worker loads ends too early. Arguments: pool | futures, fork | spawn."""

import concurrent.futures
import multiprocessing
import sys

import jax  # noqa: F401
import numpy as np


def load(shard):
    with np.load(shard) as z:
        return z["x"].sum()


if __name__ == "__main__":
    how, method = sys.argv[1:3]
    for k in range(2):
        np.savez(f"part_{k}.npz", x=np.arange(1000))
    with open("part_1.npz", "r+b") as file:
        file.truncate(900)
    context = multiprocessing.get_context(method)
    names = ["part_0.npz", "part_1.npz"]
    if how == "pool":
        with context.Pool(1) as pool:
            print(pool.map(load, names))
    else:
        with concurrent.futures.ProcessPoolExecutor(1, mp_context=context) as pool:
            print(list(pool.map(load, names)))
