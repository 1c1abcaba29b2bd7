"""docs/compatibility.md, rendered from the stored results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

_HEAD = """# Versions of TensorFlow, Keras, JAX and torch

The same small programs run in every environment below, bare and under `holdfast run`. A faulty program has one known
fault; a healthy one must not be blamed, and must end with bitwise the same weights as without Holdfast. Programs of
`tf.estimator` run where it exists (TensorFlow 2.15 and older).

`make proof-compatibility` builds the environments in `build/compatibility` (`HOLDFAST_COMPATIBILITY_DIR` puts them
elsewhere), runs everything and writes this page. Only what was run is counted: some environments ran a part of the
programs.

- **right**: the expected cause comes first, established or supported.
- **weaker**: the expected cause is only possible, comes second, or the answer is an honest "unknown".
- **wrong**: another cause comes first, or nothing is said against the run.

| environment | versions | faulty: right / weaker / wrong | healthy: quiet | weights equal |
|---|---|---|---|---|
"""

_FIRST = """
## First try

The same programs when each met Holdfast for the first time in that environment, before any rule was changed for it. For
TensorFlow before 2.13 and Python before 3.11 that is the first run for which the probe knew where their modules are.

| environment | faulty: right / weaker / wrong | healthy: quiet | weights equal |
|---|---|---|---|
"""

_ONE_BY_ONE = """
## Not right, one by one

| environment | program | expected | answer |
|---|---|---|---|
"""


def page(first: Mapping[str, Mapping[str, Any]], last: Mapping[str, Mapping[str, Any]]) -> str:
    rows = [f"| {name} | {_versions(one['versions'])} | {_counts(one)} |" for name, one in last.items()]
    first_rows = [f"| {name} | {_counts(one)} |" for name, one in first.items()]
    misses = [
        f"| {name} | {program} | {' or '.join(result['expected']) or 'nothing'} | {result['said']} |"
        for name, one in last.items()
        for program, result in one["programs"].items()
        if not result["not_made"]
        and (result["mark"] not in ("right", "quiet") or result["weights_equal"] is False)
    ]
    text = _HEAD + "\n".join(rows) + "\n" + _FIRST + "\n".join(first_rows) + "\n"
    return text + (_ONE_BY_ONE + "\n".join(misses) + "\n" if misses else "")


def _counts(environment: Mapping[str, Any]) -> str:
    made = [one for one in environment["programs"].values() if not one["not_made"]]
    marks = Counter(one["mark"] for one in made)
    healthy = [one for one in made if one["kind"] == "healthy"]
    equal = sum(one["weights_equal"] is True for one in healthy)
    return (
        f"{marks['right']} / {marks['weaker']} / {marks['wrong']} | "
        f"{marks['quiet']} of {len(healthy)} | {equal} of {len(healthy)}"
    )


def _versions(found: Mapping[str, str]) -> str:
    shown = {"python": "Python", "tensorflow": "TensorFlow", "keras": "Keras", "tf_keras": "tf_keras", "jax": "JAX",
             "torch": "torch"}  # fmt: skip
    return ", ".join(f"{word} {found[name]}" for name, word in shown.items() if name in found)
