"""Hooks wait for their modules, are installed once, and a part whose hook fails is off."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from holdfast.journal.events import ProbeFailed
from holdfast.probe import parts
from holdfast.probe.import_hooks import FRAMEWORKS, HookTable, ImportFinder
from holdfast.probe.runtime.context import ProbeContext
from holdfast.probe.runtime.hook import Hook

from .probed import new_context, recorded


class Observer:
    """Installs what the table has, as `bootstrap` does."""

    def __init__(self, table: HookTable, context: ProbeContext) -> None:
        self._table, self._context = table, context
        self.frameworks: list[str] = []

    def framework_begins(self, name: str) -> None:
        self.frameworks.append(f"{name} begins")

    def framework_ends(self, name: str) -> None:
        self.frameworks.append(f"{name} ends")

    def imported(self, name: str, module: ModuleType) -> None:
        self._table.install(self._context, name, module)


@pytest.fixture
def module_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    (tmp_path / "pretend_framework.py").write_text("value = 1\n")
    (tmp_path / "torch.py").write_text("import pretend_framework\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    for name in ("pretend_framework", "torch"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    yield "pretend_framework"
    for name in ("pretend_framework", "torch"):
        sys.modules.pop(name, None)


def test_a_hook_is_installed_after_the_import_and_once(tmp_path: Path, module_name: str) -> None:
    context, table, installed = new_context(tmp_path / "run"), HookTable(), []

    def install(_: ProbeContext, module: Any) -> None:
        installed.append(module.value)

    table.add(context, [Hook("part", module_name, install)])
    sys.meta_path.insert(0, ImportFinder(table, Observer(table, context)))
    assert installed == []
    module = importlib.import_module(module_name)
    assert installed == [1]
    importlib.reload(module)
    assert installed == [1]


def test_what_is_imported_already_is_hooked_at_once(tmp_path: Path, module_name: str) -> None:
    importlib.import_module(module_name)
    installed: list[int] = []
    HookTable().add(
        new_context(tmp_path / "run"),
        [Hook("part", module_name, lambda _, module: installed.append(module.value))],
    )
    assert installed == [1]


def test_a_hook_that_fails_turns_its_part_off_and_the_import_succeeds(
    tmp_path: Path, module_name: str
) -> None:
    context, table = new_context(tmp_path / "run"), HookTable()

    def install(_: ProbeContext, module: Any) -> None:
        raise AttributeError("another version")

    table.add(context, [Hook("part", module_name, install)])
    sys.meta_path.insert(0, ImportFinder(table, Observer(table, context)))
    assert importlib.import_module(module_name).value == 1
    [failed] = recorded(context, ProbeFailed)
    assert (failed.part, context.is_on("part"), context.is_on("other")) == ("part", False, True)


def test_a_framework_is_announced_before_and_after_its_import(tmp_path: Path, module_name: str) -> None:
    context, table = new_context(tmp_path / "run"), HookTable()
    observer = Observer(table, context)
    sys.meta_path.insert(0, ImportFinder(table, observer))
    importlib.import_module("torch")
    assert observer.frameworks == ["torch begins", "torch ends"]


#: Packages of their own that belong to a framework.
_COMPANIONS = {"tensorflow": ("tensorflow_estimator",), "jax": ("optax",)}


@pytest.mark.parametrize("name", sorted(FRAMEWORKS))
def test_every_framework_has_hooks_with_a_part_of_their_own(name: str) -> None:
    hooks = parts.framework_hooks(name)
    assert hooks[0].module == name
    for hook in hooks:
        assert hook.install.__module__.endswith("." + hook.part)
        assert hook.module.partition(".")[0] in (name, *_COMPANIONS.get(name, ()))
