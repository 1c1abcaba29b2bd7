"""`python -m tests.fuzz COUNT SEED`: so many mutated files and messages, with limits on memory and time.

One case in a hundred is a dataset (`tests.data.fuzz`). Prints one JSON object: what came of how many, the peak of
memory, the slowest case, and every case that crashed, hung or was not refused in words.
"""

from __future__ import annotations

import json
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path
from typing import Any

from tests.fuzz import targets

ADDRESS_SPACE = 6 << 30
CASE_LIMIT_S = 60
DATASETS_IN = 100


def main(count: int, seed: int) -> dict[str, Any]:
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    outcomes: dict[str, Counter[str]] = {name: Counter() for name in targets.TARGETS}
    bad: list[str] = []
    slowest = ("", 0.0)
    began = time.monotonic()
    names = [name for name, (share, _) in targets.TARGETS.items() for _ in range(share)]
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        targets.seeds(work)
        for number in range(count):
            rng = random.Random(f"{seed}/{number}")
            name = rng.choice(names)
            started = time.process_time()
            signal.alarm(CASE_LIMIT_S)
            try:
                outcomes[name][targets.TARGETS[name][1](rng, work)] += 1
            except BaseException as error:
                if isinstance(error, KeyboardInterrupt):
                    raise
                outcomes[name][f"crash {type(error).__name__}"] += 1
                bad.append(f"case {seed}/{number} {name}: {traceback.format_exc()[-1200:]}")
            signal.alarm(0)
            spent = time.process_time() - started
            slowest = max(slowest, (f"{seed}/{number} {name}", spent), key=lambda one: one[1])
    return {
        "cases": count,
        "seed": seed,
        "outcomes": {name: dict(found.most_common()) for name, found in outcomes.items()},
        "peak_mib": _peak_mib(),
        "slowest": [slowest[0], round(slowest[1], 2)],
        "took_s": round(time.monotonic() - began),
        "bad": bad[:20],
        "bad_count": len(bad),
    }


def _peak_mib() -> int:
    """Of this process alone: ru_maxrss also has the peak of whoever started it."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) // 1024
    raise AssertionError("the kernel does not say")


def _too_slow(*_: object) -> None:
    raise TimeoutError(f"one case took more than {CASE_LIMIT_S} s")


def _datasets(count: int, seed: int) -> dict[str, Any]:
    command = [sys.executable, "-m", "tests.data.fuzz", str(count), str(seed)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    found: dict[str, Any] = (
        json.loads(done.stdout) if done.returncode == 0 else {"bad": [done.stderr[-2000:]]}
    )
    return found


if __name__ == "__main__":
    signal.signal(signal.SIGALRM, _too_slow)
    total, seed = int(sys.argv[1]), int(sys.argv[2])
    datasets = total // DATASETS_IN
    print(
        json.dumps(
            {"datasets": _datasets(datasets, seed) if datasets else {}, **main(total - datasets, seed)}
        )
    )
