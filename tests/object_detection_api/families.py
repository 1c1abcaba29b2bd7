"""`python -m tests.object_detection_api.families --models DIR [--page PAGE]`: what becomes of each configuration
that the API publishes, as the table of docs/how-to/from-the-object-detection-api.md; `--page` replaces it there.

Every configuration of the checkout is read; those of TF2 are in the table, one line for each answer.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

from holdfast import atomic_write
from holdfast.weights_import.object_detection_api.import_config import ImportedConfig, read_config

_TF2 = "configs/tf2"
_BEGIN, _END = "<!-- families -->", "<!-- /families -->"


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.object_detection_api.families", description=__doc__
    )
    parser.add_argument("--models", type=Path, required=True, help="a checkout of tensorflow/models")
    parser.add_argument("--page", type=Path)
    asked = parser.parse_args()
    paths = sorted((asked.models / "research/object_detection").rglob("*.config"))
    read = {path: read_config(path) for path in paths}
    text = table({path: found for path, found in read.items() if _TF2 in path.as_posix()}, len(paths))
    if asked.page:
        page = asked.page.read_text()
        begin, end = page.index(_BEGIN) + len(_BEGIN), page.index(_END)
        atomic_write.write_text(asked.page, f"{page[:begin]}\n{text}\n{page[end:]}")
    else:
        print(text)
    return 0


def table(read: dict[Path, ImportedConfig], all_of_them: int) -> str:
    rows: dict[tuple[str, str], list[Path]] = {}
    for path, found in read.items():
        rows.setdefault((family(path.stem), answer(found)), []).append(path)
    converted = sum(found.model is not None for found in read.values())
    lines = [
        f"All {all_of_them} configurations of the repository are read. Of the {len(read)} for TF2, {converted} become "
        "a recipe and a model; the others become a recipe.",
        "",
        "| published models (TF2) | configurations | `holdfast import` |",
        "|---|---|---|",
    ]
    lines += [f"| {name} | {len(paths)} | {said} |" for (name, said), paths in sorted(rows.items())]
    return "\n".join(lines)


def family(stem: str) -> str:
    """A published name without its size and its machine."""
    name = re.sub(r"_(\d+x\d+)|_(coco17?|tpu-\d+|gpu-\d+|kpts|sync_4x4|voc_only|non_voc_only)", "", stem)
    return re.sub(r"-(8|32|128)$", "", re.sub(r"_d\d$", "", name)).replace("_", " ")


def answer(found: ImportedConfig) -> str:
    if found.model is None:
        return f"a recipe; no model: {re.sub(r'efficientnet-b[0-9]', 'efficientnet', found.why_not)}"
    return f"a recipe and a model: {found.model.detector} on {found.model.backbone}"


if __name__ == "__main__":
    sys.exit(main())
