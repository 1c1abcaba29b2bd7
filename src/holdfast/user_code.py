"""Whose code is it? Which files are the user's own, and which word of a command is the user's script.

One answer for the probe, which asks in the user's process, and for the supervisor and `explain`, which ask by the
path alone, perhaps on another machine. So the rule knows paths only; what the running process knows besides (where
its frameworks and its standard library lie) the probe adds to it.
"""

from __future__ import annotations

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
    )


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
