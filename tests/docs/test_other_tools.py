"""The snippets of docs/how-to/other-tools.md: what can run here runs, the rest has its structure checked."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from holdfast.cli import main as cli
from tests.docs.blocks import ROOT, Block, read
from tests.waiting import PATIENCE_S, until

PAGE = read(ROOT / "docs" / "how-to" / "other-tools.md")


def block(word: str) -> Block:
    (found,) = [one for one in PAGE if word in one.text]
    return found


def yaml(word: str) -> Any:
    return pytest.importorskip("yaml").safe_load(block(word).text)


def options_of(command: str) -> set[str]:
    """Those of a command's own parser."""
    import argparse
    from importlib import import_module

    parser = argparse.ArgumentParser()
    module = next(one.module for one in cli.COMMANDS if one.name == command)
    import_module(module).add_arguments(parser)
    return {name for action in parser._actions for name in action.option_strings}


def watched(words: list[str]) -> list[str]:
    """The words of `holdfast run` before `--`, which must be a command's own options."""
    assert words[:2] == ["holdfast", "run"] and "--" in words
    own = words[2 : words.index("--")]
    assert {word for word in own if word.startswith("--")} <= options_of("run")
    return words[words.index("--") + 1 :]


def test_a_script_of_slurm_passes_the_signal_on_and_records_it(tmp_path: Path) -> None:
    """With bash as SLURM starts it: `--signal=B:TERM` sends SIGTERM to the script alone."""
    code = "import time\nprint('begins', flush=True)\n[time.sleep(0.1) for _ in range(6000)]\n"
    (tmp_path / "train.py").write_text(code)
    (tmp_path / "job.sh").write_text(block("#SBATCH").text.replace(" --notify ntfy://my-trainings", ""))
    (tmp_path / "holdfast").write_text(f'#!/bin/sh\nexec {sys.executable} -m holdfast "$@"\n')
    (tmp_path / "python").write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    for name in ("holdfast", "python"):
        (tmp_path / name).chmod(0o755)
    environment = {**os.environ, "SLURM_JOB_ID": "7", "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    job = subprocess.Popen(["bash", "job.sh"], cwd=tmp_path, env=environment, stderr=subprocess.DEVNULL)
    log = tmp_path / "runs" / "slurm-7-0" / "output.log"
    until(lambda: log.exists() and b"begins" in log.read_bytes(), "the training")
    job.send_signal(signal.SIGTERM)
    assert job.wait(PATIENCE_S) != 0
    verdict = json.loads((log.parent / "verdict.json").read_text())
    assert verdict["outcome"] == "killed"
    assert "SIGTERM" in verdict["summary"]


def test_the_job_of_kubernetes() -> None:
    job = yaml("kind: Job")
    pod = job["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert watched(container["command"]) == ["python", "train.py"]
    assert {mount["name"] for mount in container["volumeMounts"]} == {one["name"] for one in pod["volumes"]}
    assert container["securityContext"]["capabilities"]["add"] == ["SYS_PTRACE"]


def test_the_job_of_vertex_ai() -> None:
    (pool,) = json.loads(block("workerPoolSpecs").text)["workerPoolSpecs"]
    words = pool["containerSpec"]["command"] + pool["containerSpec"]["args"]
    assert watched(words) == ["python", "train.py"]
    types = pytest.importorskip("google.cloud.aiplatform_v1.types")
    spec = types.CustomJobSpec(
        worker_pool_specs=[
            {
                "machine_spec": {"machine_type": pool["machineSpec"]["machineType"]},
                "replica_count": pool["replicaCount"],
                "container_spec": {"image_uri": "IMAGE", "command": words[:1], "args": words[1:]},
            }
        ]
    )
    assert next(iter(spec.worker_pool_specs[0].container_spec.args)) == "run"


def test_the_workflow_and_the_hook_run_commands_that_exist() -> None:
    steps = yaml("upload-artifact")["jobs"]["check"]["steps"]
    (run,) = [step["run"] for step in steps if step.get("run", "").startswith("holdfast")]
    assert run.split()[:2] == ["holdfast", "check"] and "--json" in options_of("check")
    (repo,) = yaml("rev: v0")["repos"]
    hooks = pytest.importorskip("yaml").safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    assert {hook["id"] for hook in repo["hooks"]} <= {hook["id"] for hook in hooks}


def test_the_commands_in_docker_and_colab() -> None:
    words = block("docker run").text.replace("\\\n", " ").split()
    assert watched(words[words.index("holdfast") :]) == ["python", "train.py"]
    (line,) = [line for line in block("drive.mount").text.splitlines() if line.startswith("!holdfast")]
    assert watched(line.removeprefix("!").split()) == ["python", "train.py"]
