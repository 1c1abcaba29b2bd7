"""Holdfast's training step beside torchvision's, on one GPU, in one run.

    python benchmarks/h200.py --ours ssd retinanet faster-rcnn resnext --torchvision ssd retinanet faster-rcnn

Needs a GPU, JAX and PyTorch; no TensorFlow. Every contender is a process of its own. They compile side by side, then
each is measured alone: a child says that it is ready and waits for a line. `--cache` keeps compiled steps, so that a
second run shows what a second start costs. Results are one JSON object a line in OUT/results.jsonl, and a table.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
TORCHVISION = {  # where it was fastest first, then the batches that are ours
    "ssd": [
        (128, "bf16 channels_last compile"),
        (256, "bf16 channels_last compile"),
        (128, "bf16 channels_last"),
    ],
    "retinanet": [
        (64, "bf16 channels_last compile"),
        (128, "bf16 channels_last compile"),
        (64, "bf16 channels_last"),
    ],
    "faster-rcnn": [
        (64, "bf16 channels_last compile"),
        (16, "bf16 channels_last compile"),
        (16, "bf16 channels_last"),
    ],
}


def child(script: str, asked: dict[str, Any], out: Path, environment: dict[str, str]) -> Any:
    label = f"{Path(script).stem}-{asked['label']}"
    errors = (out / f"{label}.err").open("w")
    return subprocess.Popen(
        [sys.executable, str(HERE / script), json.dumps(asked)], env=environment | asked["environment"], text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors,
    )  # fmt: skip


def line_of(process: Any, key: str) -> dict[str, Any] | None:
    """The next line that holds `key`, or None when the child has ended."""
    for line in process.stdout:
        if line.startswith("{") and key in (found := json.loads(line)):
            return found
    return None


def wave(script: str, wanted: list[dict[str, Any]], out: Path, environment: dict[str, str]) -> list[Any]:
    """All compile at once, then one after the other is measured."""
    began, children, results = time.perf_counter(), [], []
    for asked in wanted:
        children.append((asked, child(script, asked, out, environment)))
    for asked, process in children:
        ready = line_of(process, "ready")
        print(f"{time.perf_counter() - began:6.1f} s ready {asked['label']}: {ready}", flush=True)
    for asked, process in children:
        try:
            process.stdin.write("go\n")
            process.stdin.flush()
        except OSError:
            pass
        found = line_of(process, "result")
        process.wait()
        results.append(
            {"script": script, "label": asked["label"]}
            | (found["result"] if found else {"name": asked["name"], "failed": True})
        )
        print(json.dumps(results[-1]), flush=True)
        with (out / "results.jsonl").open("a") as file:
            file.write(json.dumps(results[-1]) + "\n")
    return results


def peaks() -> dict[str, float]:
    """The matrix rate and the copy rate of this GPU, through JAX, on random numbers; a process of its own."""
    code = (
        "import jax, jax.numpy as jnp, time, json\n"
        "a, b = (jax.random.normal(jax.random.key(i), (8192, 8192), jnp.bfloat16) for i in (0, 1))\n"
        "c = jax.random.normal(jax.random.key(2), (2**30,), jnp.float32)\n"
        "def rate(f, *x):\n"
        "    f = jax.jit(f); f(*x).block_until_ready(); t = time.perf_counter()\n"
        "    for _ in range(20): r = f(*x)\n"
        "    r.block_until_ready(); return (time.perf_counter() - t) / 20\n"
        "print(json.dumps({'bf16_tflops': 2 * 8192**3 / rate(jnp.matmul, a, b) / 1e12,"
        " 'copy_tb_s': 2 * 4 * 2**30 / rate(lambda x: x + 1, c) / 1e12}))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    return json.loads(done.stdout.splitlines()[-1]) if done.returncode == 0 else {"failed": 1.0}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--ours", nargs="*", default=[])
    parser.add_argument("--torchvision", nargs="*", default=[])
    parser.add_argument(
        "--changes", default="{}",
        help='JSON, by name: {"ssd": {"batch": 256}, "ssd:flags": {"environment": {"XLA_FLAGS": "…"}}}',
    )  # fmt: skip
    parser.add_argument("--variants", type=int, default=2, help="of torchvision, from the fastest")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--out", type=Path, default=Path("h200-results"))
    parser.add_argument("--cache", type=Path, default=Path("h200-cache"))
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    environment = os.environ | {
        "KERAS_BACKEND": "jax", "XLA_PYTHON_CLIENT_PREALLOCATE": "false", "TF_CPP_MIN_LOG_LEVEL": "2",
        "JAX_COMPILATION_CACHE_DIR": str(args.cache.resolve()), "PYTHONUNBUFFERED": "1",
    }  # fmt: skip
    environment.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
    changes = json.loads(args.changes)
    ours = [
        {"name": name.split(":")[0], "label": name, "folder": str(args.out), "steps": args.steps,
         "changes": {key: value for key, value in changes.get(name, {}).items() if key != "environment"},
         "environment": changes.get(name, {}).get("environment", {}), "profile": args.profile}
        for name in args.ours
    ]  # fmt: skip
    results = wave("h200_ours.py", ours, args.out, environment) if ours else []
    for variant in range(args.variants):
        flags = ("bf16", "channels_last", "compile")
        wanted = [
            {"name": name, "label": f"{name}-{batch}-{how.replace(' ', '-')}", "environment": {}, "batch": batch,
             "how": {flag: flag in how for flag in flags}}
            for name in args.torchvision
            for batch, how in TORCHVISION[name][variant : variant + 1]
        ]  # fmt: skip
        results += wave("h200_torchvision.py", wanted, args.out, environment) if wanted else []
    print(json.dumps(measured := peaks()))
    print(table(results, measured))


def table(results: list[Any], measured: dict[str, float]) -> str:
    best: dict[str, float] = {}
    for one in results:
        if "torchvision" in one["script"] and "failed" not in one:
            best[one["name"]] = max(best.get(one["name"], 0.0), one["images_per_s"])
    lines = []
    for one in results:
        if "failed" in one:
            lines.append(f"{one['script']:22} {one['name']:12} failed")
            continue
        rate, text = one["images_per_s"], f"{one['script']:22} {one['label']:12} batch {one['batch']:4}"
        first, last = one["loss"]
        text += f" {rate:8.1f} images/s  peak {one['peak_gib']:6.2f} GiB  loss {first:.3f} to {last:.3f}"
        if "ours" in one["script"]:
            share = 3 * one["forward_gflop_per_image"] * rate / 1e3 / measured.get("bf16_tflops", 790.0)
            text += f"  {100 * share:.0f} % of the matrix rate, compile {one['compile_s']:.0f} s"
            text += f"  {rate / best[one['name']]:.2f} x torchvision" if one["name"] in best else ""
        else:
            text += f"  {one['how']}"
        lines.append(text)
    return "\n".join(lines)


if __name__ == "__main__":
    main()
