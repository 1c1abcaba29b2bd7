"""Whose code is it? Which files are the user's own, and which word of a command is the user's script.

One answer for the probe, which asks in the user's process, and for the supervisor and `explain`, which ask by the
path, perhaps on another machine. So the rule knows paths, and what lies beside them where they are there; what the
running process knows besides (where its frameworks and its standard library lie) the probe adds to it.
"""

from __future__ import annotations

import functools
import itertools
import os
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

OWN_FOLDER = os.path.dirname(os.path.abspath(__file__)) + os.sep

#: Code typed by the user that has no file. Every other name in angle brackets is generated, such as "<frozen runpy>",
#: "<attrs generated init>", or the "<string>" from which `multiprocessing` starts a worker.
_TYPED = re.compile(r"<(?:stdin|console|ipython-input|doctest)")
#: Cython names the source it was made from, "h5py/_proxy.pyx", and debuggers name C++.
_COMPILED = re.compile(r"\.(?:pyx|pxd|pxi|c|cc|cpp|cu|h|so(?:\.\d+)*)$")
_INSTALLED = re.compile(r"(?:^|/)(?:site-packages|dist-packages)/|/lib(?:64)?/python\d|/python\d+\.zip/")
#: Frameworks by their own folders: the probe names installed files from the package on, and a checkout that is
#: installed for editing is in no site-packages.
_FRAMEWORKS = re.compile(
    r"(?:^|/)(?:"
    r"(?:tf_)?keras/src/(?:backend|callbacks|engine|layers|legacy|losses|metrics|models|ops|optimizers|saving|trainers|utils)/"
    r"|tensorflow/python/|jax/_src/|torch/(?:_\w+|autograd|cuda|distributed|nn|optim|utils)/)"
)
_PROBE = re.compile(r"(?:^|/)holdfast/probe/")
_GENERATED = "__autograph_generated"
_MOST_ENTRIES = 5000  # of a folder: packages of one's own may lie beside a million images


def is_user_file(path: str) -> bool:
    """The user's own code: no framework's, no library's, not generated, and not ours."""
    if path.startswith("<"):
        return bool(_TYPED.match(path))
    if "/" not in path and not path.endswith(".py"):
        return False  # "", "?": a script without an ending is known by its whole path only
    return not (
        _INSTALLED.search(path)
        or _COMPILED.search(path)
        or _FRAMEWORKS.search(path)
        or _PROBE.search(path)
        or _GENERATED in path
        or path.startswith(OWN_FOLDER)
        or _is_beside_records(path)
    )


@functools.lru_cache(maxsize=1024)
def _is_beside_records(path: str) -> bool:
    """In a package of a folder that `pip install --target` has filled: the records of what it installed lie beside it.
    On another machine, where the path is not there, this is not known."""
    folder = package = os.path.dirname(path)
    while folder not in ("", "/") and os.path.isfile(os.path.join(folder, "__init__.py")):
        folder = os.path.dirname(folder)
    return folder != package and os.path.isabs(path) and _has_records(folder)


@functools.lru_cache(maxsize=256)
def _has_records(folder: str) -> bool:
    try:
        with os.scandir(folder) as entries:
            return any(
                entry.name.endswith(".dist-info") for entry in itertools.islice(entries, _MOST_ENTRIES)
            )
    except OSError:
        return False


class ScriptWord(NamedTuple):
    word: str  # "train.py", or "pkg.train" after -m
    is_module: bool


def script_words(command: Sequence[str], endings: tuple[str, ...] = (".py",)) -> Iterator[ScriptWord]:
    """What in a command may be the script, in its order: `train.py` of `python -u train.py`, `pkg.train` after -m."""
    for word, following in zip(command, [*command[1:], ""]):
        if word.endswith(endings):
            yield ScriptWord(word, is_module=False)
        elif word == "-m" and following:
            yield ScriptWord(following, is_module=True)
