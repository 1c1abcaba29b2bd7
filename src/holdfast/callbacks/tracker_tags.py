"""The verdict and the run's folder as tags of MLflow and of Weights & Biases, where the script uses them already.

Neither is imported here: what the script has not loaded, or has no active run in, is left alone. A tracker that does
not answer never ends a training.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from holdfast.stderr import print_line

_MOST_CHARACTERS = 500


def tags_of(verdict: Mapping[str, Any], folder: Path) -> dict[str, str]:
    findings = verdict.get("findings") or []
    tags = {
        "holdfast.outcome": str(verdict.get("outcome", "")),
        "holdfast.cause": str(findings[0]["cause"]) if findings else "",
        "holdfast.verdict": str(findings[0]["title"] if findings else verdict.get("summary", "")),
        "holdfast.run_dir": str(folder),
    }
    return {name: value[:_MOST_CHARACTERS] for name, value in tags.items()}


def tag_active_runs(tags: Mapping[str, str], modules: Mapping[str, Any] = sys.modules) -> None:
    for name, tag in (("mlflow", _tag_mlflow), ("wandb", _tag_wandb)):
        module = modules.get(name)
        if module is None:
            continue
        try:
            tag(module, tags)
        except Exception as error:  # a server that is gone, a run that was closed meanwhile
            print_line(f"holdfast: no tags for {name}: {type(error).__name__}: {error}")


def _tag_mlflow(mlflow: Any, tags: Mapping[str, str]) -> None:
    if mlflow.active_run() is not None:
        mlflow.set_tags(dict(tags))


def _tag_wandb(wandb: Any, tags: Mapping[str, str]) -> None:
    """As values of the run's summary, which the table of runs shows; the cause is a tag to filter by as well."""
    run = wandb.run
    if run is None:
        return
    run.summary.update(dict(tags))
    if tags["holdfast.cause"]:
        run.tags = tuple(dict.fromkeys((*(run.tags or ()), tags["holdfast.cause"])))
