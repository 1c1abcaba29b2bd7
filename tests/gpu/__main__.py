"""`python -m tests.gpu [--keep DIR] [NAME ...]`: faulty and healthy programs on a real GPU, under the real supervisor.

Needs one NVIDIA GPU. `--keep` leaves the run folders in DIR; `python -m tests.zoo.store` stores them.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from holdfast.journal import reader, vitals
from holdfast.journal.events import Stalled

HERE = Path(__file__).parent
# program: the first cause of the verdict, or None for a healthy one
EXPECTED = {
    "healthy": None,
    "torch_healthy": None,
    "jax_too_large": "device-memory-exhausted",
    "torch_grows": "device-memory-exhausted",
    "held_by_others": "device-memory-held-by-others",
    "not_used": "gpu-not-used",
    "cpu_asked_for": None,
    "takes_4_gib": None,
    "jax_endless_loop": "gpu-never-finishes",
    "triton_spins": "gpu-never-finishes",
    "long_evaluation": None,
}
# These are ended at the first stall. The healthy ones must not have any.
STOPPED_AT_A_STALL = ("jax_endless_loop", "triton_spins", "long_evaluation")
NOTICED_S = 30.0
# These compute on the GPU: that it is not used must not be said of them, not even as possible.
ON_THE_GPU = ("healthy", "torch_healthy", "jax_too_large", "torch_grows", "takes_4_gib", "long_evaluation")
SAMPLED = ("used_bytes", "ours_bytes", "utilisation")
TAKEN_BYTES, BUSY_PERCENT = 4 << 30, 50


def main() -> int:
    wrong = 0
    parser = argparse.ArgumentParser(prog="python -m tests.gpu")
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--keep", type=Path, metavar="DIR")
    asked = parser.parse_args()
    names = asked.names or list(EXPECTED)
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            wrong += not _right(name, (asked.keep or Path(folder)).absolute() / name)
    print(f"{len(names) - wrong} of {len(names)} right")
    return 1 if wrong else 0


def _right(name: str, run: Path) -> bool:
    program = str(HERE / f"{name}.py")
    other = _holder(program) if name == "held_by_others" else None
    try:
        words = [
            sys.executable,
            "-m",
            "holdfast",
            "run",
            "--run-dir",
            str(run),
            *(["--on-stall", "stop"] if name in STOPPED_AT_A_STALL else []),
            "--",
            sys.executable,
            program,
        ]
        ended = subprocess.run(words, capture_output=True, text=True, timeout=240)
    finally:
        if other:
            other.kill()
    answer = subprocess.run(
        [sys.executable, "-m", "holdfast", "explain", str(run), "--json"], capture_output=True, text=True
    )
    findings = json.loads(answer.stdout)["findings"]
    blamed = [one for one in findings if one["strength"] in ("established", "supported")]
    first = blamed[0]["cause"] if blamed else None
    print(f"== {name}: {first} (expected {EXPECTED[name]}), exit {ended.returncode}")
    print("\n".join((ended.stdout + ended.stderr).splitlines()[-40:]))
    if name in ON_THE_GPU and "gpu-not-used" in [one["cause"] for one in findings]:
        print(f"== {name}: gpu-not-used is among the findings, and the program computes on the GPU")
        return False
    stalls = [entry.event for entry in reader.read(run / "journal.jsonl") if isinstance(entry.event, Stalled)]
    for stall in stalls:
        print(f"== stalled: {stall.silent_for_s} s after the last step, {stall.limit_from}, {stall.progress}")
    if name in STOPPED_AT_A_STALL and [one.silent_for_s < NOTICED_S for one in stalls] != [True] * bool(
        EXPECTED[name]
    ):
        return False
    if name == "takes_4_gib" and not _sampled(run):
        return False
    return first == EXPECTED[name]


def _sampled(run: Path) -> bool:
    """Whether memory and utilisation were sampled as the program makes them, and the memory as the run's own."""
    gpus = [gpu for _, sample in vitals.read(run / "vitals.jsonl") for gpu in sample.gpus]
    for gpu in gpus:
        print(f"== sampled: {gpu}")
    most = {what: max((gpu.get(what) or 0 for gpu in gpus), default=0) for what in SAMPLED}
    print(f"== at most: {most}")
    used, ours, busy = most.values()
    return used >= ours >= TAKEN_BYTES and busy >= BUSY_PERCENT


def _holder(program: str) -> subprocess.Popen[str]:
    other = subprocess.Popen([sys.executable, program, "hold"], stdout=subprocess.PIPE, text=True)
    assert other.stdout is not None and other.stdout.readline() == "held\n"
    return other


if __name__ == "__main__":
    sys.exit(main())
