"""A script as it was fetched becomes a short one: fewer epochs, no pretrained weights, one backend. Pure text."""

from __future__ import annotations

import ast
import re

_BACKEND = re.compile(r"^(os\.environ\[[\"']KERAS_BACKEND[\"']\] *= *)[\"'](\w+)[\"']", re.M)
_EPOCHS = re.compile(r"\b(\w*epochs\w*)( ?= ?)(\d+)\b(?!\.)", re.I)
_WEIGHTS = re.compile(r"""\b(weights ?= ?)["']imagenet["']""")
_BATCHES = re.compile(r"\b(batch_size ?= ?)(\d+)\b", re.I)
_ALL_ROWS = re.compile(r"reshape\([61]0000,")
_KEPT_BACK = re.compile(
    r"(?<=[\[:])-10_?000\b|(?<=num_val_samples = )10000"
)  # rows that a guide keeps for validation
_CUT = re.compile(
    r"(?<=\[)[34]0000(?=:\])|(?<=\[:)[34]0000(?=\])"
)  # where a script cuts off rows for validation
_FIRST_LINE = "import public_stand_ins; "
LARGEST_BATCH = 32  # so that little data makes some steps


class ReductionError(Exception):
    """A substitution of the table has nothing to replace: the script is no longer the one that the table describes."""


def backend_of(source: str, otherwise: str) -> str:
    named = _BACKEND.search(source)
    return named[2] if named else otherwise


def packages(source: str) -> list[str]:
    """What the script imports at its top level."""
    names = set()
    for node in ast.parse(source).body:
        if isinstance(node, ast.Import):
            names |= {one.name.partition(".")[0] for one in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module.partition(".")[0])
    return sorted(names)


def reduced(source: str, *, backend: str, epochs: int, changes: tuple[tuple[str, str], ...]) -> str:
    """The copy keeps its line numbers, so that what is said about a line can be looked up in the original."""
    for pattern, text in changes:
        source, count = re.subn(pattern, text, source, flags=re.M)
        if not count:
            raise ReductionError(pattern)
    source = _BACKEND.sub(rf'\g<1>"{backend}"', source)
    source = _WEIGHTS.sub(r"\1None", source)
    source = _EPOCHS.sub(lambda found: f"{found[1]}{found[2]}{min(int(found[3]), epochs)}", source)
    source = _BATCHES.sub(lambda found: f"{found[1]}{min(int(found[2]), LARGEST_BATCH)}", source)
    source = _KEPT_BACK.sub(lambda found: "-64" if found[0].startswith("-") else "64", source)
    source = _CUT.sub("-32", source)
    return _FIRST_LINE + _ALL_ROWS.sub("reshape(-1,", source)
