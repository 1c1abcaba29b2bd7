"""Run by the probe's own sitecustomize, after it: makes the method that FAULTY_METHOD names raise at every call."""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any


def fails(*_: Any, **__: Any) -> None:
    raise RuntimeError("made to fail by a test")


module, _, method = os.environ["FAULTY_METHOD"].partition(":")
kind, _, name = method.partition(".")
setattr(getattr(import_module(f"_holdfast.probe.{module}"), kind), name, fails)
