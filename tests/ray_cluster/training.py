"""A training on two Ray nodes whose second node is lost: `holdfast launch RECIPE --on ray`, with the tiny detector."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

from tests.train import shapes

SETTINGS = """
backend = "jax"
steps = 80
batch = 8
[hardware]
processes = 2
"""


def recipe_in(folder: Path) -> Path:
    data = shapes.write(folder / "shapes", 24)
    recipe = folder / "recipe.toml"
    recipe.write_text(shapes.RECIPE.format(data=json.dumps(str(data)), detector="ssd") + SETTINGS)
    return recipe


class Training:
    def __init__(self, folder: Path, name: str, address: str, *more: str) -> None:
        self.run, self.log = folder / name, folder / f"{name}.log"
        environment = os.environ | {
            "RAY_ADDRESS": address, "JAX_PLATFORMS": "cpu", "JAX_COMPILATION_CACHE_DIR": str(folder / "compiled"),
        }  # fmt: skip
        words = ["launch", str(folder / "recipe.toml"), "--on", "ray", "--run-dir", str(self.run), *more]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tests.slurm.tiny_holdfast", *words],
                env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            )  # fmt: skip

    def wait_for_step(self, step: int) -> None:
        until = time.monotonic() + 300
        while time.monotonic() < until and self.process.poll() is None:
            try:
                found = json.loads((self.run / "group.json").read_text())
                if max((one["step"] for one in found["processes"]), default=0) >= step:
                    return
            except (OSError, ValueError):
                pass
            time.sleep(0.5)
        raise TimeoutError(self.log.read_text()[-2000:])

    def ended(self) -> tuple[int, str]:
        """The exit code, and the digest of the weights that rank 0 printed."""
        code = self.process.wait(600)
        found = re.findall(r"^finished \d+ (\w+)", (self.run / "output.log").read_text(), re.MULTILINE)
        return code, found[-1] if found else ""

    def said(self, words: str) -> str:
        return next((line for line in self.log.read_text().splitlines() if re.search(words, line)), "")
