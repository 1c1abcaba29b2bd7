"""Contracts: the cold zone stays cold, public names are what `__init__` says, files stay readable."""

from __future__ import annotations

import ast
import json
import shutil
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest

import holdfast
from tests.waiting import PATIENCE_S

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "holdfast"
COLD = (
    "errors",
    "atomic_write",
    "regular_file",
    "secret_text",
    "terminal_text",
    "units",
    "stderr",
    "subprocess_json",
    "host",
    "printed",
    "notebook",
    "typing_names",
    "user_code",
    "settings",
    "journal",
    "supervise",
    "explain",
    "report",
    "notify",
    "board",
    "cli",
    "__main__",
    "__init__",
)
HEAVY = (
    "tensorflow",
    "keras",
    "tf_keras",
    "jax",
    "torch",
    "numpy",
    "PIL",
    "rich",
    "pydantic",
    "pandas",
    "matplotlib",
)


def cold_files() -> list[Path]:
    return sorted(
        path for path in SOURCE.rglob("*.py") if path.relative_to(SOURCE).parts[0].removesuffix(".py") in COLD
    )


def loaded_by(code: str) -> list[str]:
    script = f"import sys, json; {code}; print('\\n' + json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=PATIENCE_S)
    assert done.returncode == 0, done.stderr
    modules: list[str] = json.loads(done.stdout.splitlines()[-1])
    return modules


def heavy(modules: list[str]) -> list[str]:
    return [
        name for name in HEAVY if any(module == name or module.startswith(name + ".") for module in modules)
    ]


@pytest.mark.parametrize(
    "code",
    ["import holdfast", "from holdfast.cli.main import main; main(['--help'])", "import holdfast.journal.reader",
     "import holdfast.settings"],
)  # fmt: skip
def test_nothing_heavy_is_loaded(code: str) -> None:
    assert heavy(loaded_by(code)) == []


def test_no_cold_module_loads_anything_heavy() -> None:
    names = [
        "holdfast."
        + str(path.relative_to(SOURCE).with_suffix("")).replace("/", ".").removesuffix(".__init__")
        for path in cold_files()
        if path.name not in ("__main__.py", "__init__.py")
    ]
    loaded = loaded_by("import importlib; [importlib.import_module(name) for name in " + repr(names) + "]")
    assert len(names) > 20
    assert heavy(loaded) == []


#: What only the TensorFlow backend loads; of the export, which TensorFlow does, nothing is on the way of JAX.
ON_TENSORFLOW = {"step/tensorflow_step.py", "step/tensorflow_mirrored.py"}


def test_only_the_tensorflow_step_imports_tensorflow_when_it_is_loaded() -> None:
    """Elsewhere it is imported in functions of the TensorFlow backend, or in the user's process by the probe."""
    found = {
        str(path.relative_to(SOURCE))
        for path in SOURCE.rglob("*.py")
        for line in path.read_text().splitlines()
        if line.startswith(("import tensorflow", "from tensorflow"))
    }
    assert found == ON_TENSORFLOW


def test_what_jax_needs_is_loaded_without_tensorflow() -> None:
    """The trainer, its step, evaluation and prediction, with TensorFlow out of reach; Keras itself asks for it too."""
    modules = loaded_by(
        "import os; os.environ['KERAS_BACKEND'] = 'jax'; sys.modules['tensorflow'] = None; "
        "import holdfast.train.training_run, holdfast.train.lr_range.lr_find_process, holdfast.step.jax_step, "
        "holdfast.step.jax_distributed, holdfast.detectors.inference, holdfast.memory.estimate.cpu_trial, "
        "holdfast.evaluate.coco_metrics, holdfast.pipeline.speed"
    )
    assert "jax" in modules and not [name for name in modules if name.startswith("tensorflow.")]


def test_help_imports_little() -> None:
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "holdfast", "--help"],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    modules = [line.rpartition("|")[2].strip() for line in done.stderr.splitlines() if "|" in line]
    assert "holdfast.cli.main" in modules
    assert heavy(modules) == []
    assert not {"asyncio", "dataclasses", "psutil", "subprocess"} & set(modules), "help needs none of these"


def test_public_names_are_what_init_says() -> None:
    assert dir(holdfast) == sorted(holdfast.__all__)
    for name in holdfast.__all__:
        assert getattr(holdfast, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'trian'"):
        holdfast.trian  # noqa: B018


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda path: str(path.relative_to(SOURCE)))
def test_files_stay_readable(path: Path) -> None:
    text = path.read_text()
    lines = len(text.splitlines())
    assert lines <= 500, f"{lines} lines: would two names explain it better than one?"
    folders = 3 if path.is_relative_to(SOURCE / "explain" / "causes") else 2
    assert len(path.relative_to(SOURCE).parts) <= folders + 1, f"at most {folders} folders below holdfast/"
    assert path.stem not in ("utils", "common", "core", "base", "manager", "helpers")
    assert ast.get_docstring(ast.parse(text)), "a module says what it is for in its first line"


@pytest.mark.skipif(
    shutil.which("lint-imports", path=str(Path(sys.executable).parent)) is None, reason="needs import-linter"
)
def test_what_may_import_what() -> None:
    program = Path(sys.executable).parent / "lint-imports"
    done = subprocess.run([program, "--no-cache"], cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_folder_has_at_most_20_modules() -> None:
    folders = Counter(path.parent for path in SOURCE.rglob("*.py") if path.name != "__init__.py")
    assert {str(folder.relative_to(SOURCE)): n for folder, n in folders.items() if n > 20} == {}


def test_a_module_name_occurs_once() -> None:
    names = Counter(path.stem for path in SOURCE.rglob("*.py"))
    # Each group of causes has its thresholds.
    twice = {name for name, count in names.items() if count > 1} - {"__init__", "__main__", "thresholds"}
    assert twice == set(), "rename one of the two"


def test_a_public_class_name_occurs_once() -> None:
    names = Counter(
        node.name
        for path in SOURCE.rglob("*.py")
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    twice = {name for name, count in names.items() if count > 1}
    assert twice == set(), "rename one of the two"


@pytest.fixture(scope="module")
def imports() -> Mapping[str, set[str]]:
    """What each module imports, in functions too; what is imported for types only does not count."""
    grimp = pytest.importorskip("grimp")
    graph = grimp.build_graph("holdfast", exclude_type_checking_imports=True, cache_dir=None)
    return {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}


def test_modules_do_not_import_each_other_in_a_cycle(imports: Mapping[str, set[str]]) -> None:
    assert import_cycles(imports) == []


def test_rooms_do_not_import_each_other_in_a_cycle(imports: Mapping[str, set[str]]) -> None:
    between: dict[str, set[str]] = defaultdict(set)
    for module, imported in imports.items():
        between[room_of(module)] |= {room_of(other) for other in imported} - {room_of(module)}
    assert import_cycles(between) == []


def room_of(module: str) -> str:
    return module.split(".")[1] if "." in module else ""


def import_cycles(imports: Mapping[str, set[str]]) -> list[list[str]]:
    """The strongly connected parts with more than one module (two passes of depth-first search, after Kosaraju)."""
    importers: dict[str, set[str]] = defaultdict(set)
    for module, imported in imports.items():
        for other in imported:
            importers[other].add(module)
    finished: list[str] = []
    seen: set[str] = set()
    for module in sorted(imports):
        _visit(module, imports, seen, finished)
    seen, parts = set(), []
    for module in reversed(finished):
        part: list[str] = []
        _visit(module, importers, seen, part)
        parts.append(part)
    return [sorted(part) for part in parts if len(part) > 1]


def _visit(start: str, edges: Mapping[str, Iterable[str]], seen: set[str], finished: list[str]) -> None:
    """Appends what is reached from `start` and not yet seen, each after all that it leads to."""
    if start in seen:
        return
    seen.add(start)
    stack = [(start, iter(sorted(edges.get(start, ()))))]
    while stack:
        node, following = stack[-1]
        fresh = next((other for other in following if other not in seen), None)
        if fresh is None:
            finished.append(node)
            stack.pop()
        else:
            seen.add(fresh)
            stack.append((fresh, iter(sorted(edges.get(fresh, ())))))
