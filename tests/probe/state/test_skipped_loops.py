"""Loops without a round to do, after a checkpoint was read."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from holdfast.journal.events import LoopSkipped, ProbeFailed
from holdfast.probe.runtime.context import ProbeContext
from holdfast.probe.state import skipped_loops
from tests.probe.probed import new_context, recorded

_IN_A_FUNCTION = """
def main(goal):
    state = load()
    first = state["meta"]["{key}"]{more}
    for epoch in range(first, goal):
        train()
main({goal})
"""
_WITH_WHILE = """
class Counter:
    value = 5
def main():
    done = 5
    load()
    while done < {goal}:
        train()
        break
main()
"""


def _run(source: str, folder: Path, numbers: dict[str, int] | None) -> ProbeContext:
    """`load` of the script returns the numbers; without any it fills variables, as a checkpoint of TensorFlow does."""
    context = new_context(folder / "run")
    library = ModuleType("library")
    vars(library)["load"] = lambda: {"meta": numbers}
    if numbers is None:
        vars(library)["load"] = lambda: context.skipped_loops.state_read(skipped_loops.FILLED)
    else:
        skipped_loops.hook_load(context, library)
    return _executed(context, source, folder, {"load": vars(library)["load"], "train": lambda: None})


def _executed(context: ProbeContext, source: str, folder: Path, given: dict[str, Any]) -> ProbeContext:
    file = folder / "train.py"
    file.write_text(source)
    exec(compile(source, str(file), "exec"), given)
    context.skipped_loops.report_at_exit()
    assert recorded(context, ProbeFailed) == []
    return context


@pytest.mark.parametrize(
    ("key", "more", "goal", "found"),
    [
        ("epoch", "", 5, (5, 5)),
        ("epoch", " + 1", 6, (6, 6)),
        ("epoch", "", 6, None),
        ("other", "", 5, None),
    ],
)
def test_a_start_that_comes_from_the_state(
    tmp_path: Path, key: str, more: str, goal: int, found: tuple[int, int] | None
) -> None:
    source = _IN_A_FUNCTION.format(key=key, more=more, goal=goal)
    numbers = {"epoch": 5, "other": 2}
    seen = recorded(_run(source, tmp_path, numbers), LoopSkipped)
    assert [(one.first, one.goal) for one in seen] == ([found] if found else [])
    if found:
        assert (seen[0].counter, seen[0].bound) == ("first", "goal")
        assert seen[0].where.endswith("train.py:5")


@pytest.mark.parametrize(("goal", "found"), [(5, [(5, 5)]), (6, [])])
def test_a_while_whose_counter_was_restored(tmp_path: Path, goal: int, found: list[tuple[int, int]]) -> None:
    seen = recorded(_run(_WITH_WHILE.format(goal=goal), tmp_path, None), LoopSkipped)
    assert [(one.first, one.goal) for one in seen] == found


def test_a_run_that_trained_says_nothing(tmp_path: Path) -> None:
    context = new_context(tmp_path / "run")
    context.heartbeat.step = 3
    context.skipped_loops.state_read({"epoch": 5})
    context.skipped_loops.report_at_exit()
    assert recorded(context, LoopSkipped) == []


# -- a state that a helper reads -------------------------------------------------------------------------

_TUPLE = """
class Run:
    def __init__(self, file):
        self.file = file
    def load(self):
        if self.file.exists():
            state = pickle.loads(self.file.read_bytes())
            print("restored")
            return convert(state["tree"]), state["step"]
        return init(), 0
def main(goal):
    run = Run(file)
    (weights, m), step = run.load()
    while step < goal:
        step += 1
        train()
main(GOAL)
"""
_DICTIONARY = """
def read():
    with file.open("rb") as opened:
        return pickle.load(opened)
def restore():
    state = read()
    return {"weights": state["tree"], "begin": state["step"] + 1}
def main(args):
    resumed = restore() if args["resume"] else {"begin": 0}
    begin = resumed.get("begin", 0)
    for epoch in tqdm(range(begin, args["goal"] + 1)):
        train()
main({"goal": GOAL, "resume": True})
"""
_ATTRIBUTE = """
class Trainer:
    def __init__(self, total):
        self.step = 0
        self.total = total
        self.resume()
    def resume(self):
        state = pickle.loads(file.read_bytes())
        self.step = int(state["step"])
    def fit(self):
        while self.step < self.total and not self.stopped:
            train()
            self.step += 1
trainer = Trainer(GOAL)
trainer.fit()
"""
_ON_A_STATE = """
class State:
    step = 0
def load(state):
    for key, value in {}.items():
        pass
    found = pickle.loads(file.read_bytes())
    state.step = found["step"]
    return True
def train_from(state, total):
    for step in range(state.step, total):
        train()
def main():
    state = State()
    if not load(state):
        print("fresh")
    train_from(state, total=GOAL)
main()
"""
_DATACLASS = """
from dataclasses import dataclass
@dataclass
class State:
    tree: object
    step: int = 0
class Trainer:
    def __init__(self, state, goal):
        self.state, self.goal = state, goal
    def run(self):
        while self.goal > self.state.step:
            train()
            self.state.step += 1
def restored():
    found = pickle.loads(file.read_bytes())
    return State(tree=found["tree"], step=found["step"])
def main():
    trainer = Trainer(restored(), GOAL)
    trainer.run()
main()
"""
_ENDS_ITSELF = """
def main():
    start = pickle.loads(file.read_bytes())["step"]
    if start >= GOAL:
        print("done already")
        return
    for step in range(start, GOAL):
        train()
main()
"""
_SOURCES = [_TUPLE, _DICTIONARY, _ATTRIBUTE, _ON_A_STATE, _DATACLASS, _ENDS_ITSELF]


def _pickled(source: str, folder: Path, goal: int, step: Any = 800) -> list[LoopSkipped]:
    stored = folder / "state.pkl"
    stored.write_bytes(pickle.dumps({"tree": ([1.0], [2.0]), "step": step}))
    context, module = new_context(folder / "run"), ModuleType("pickle")
    module.load, module.loads = pickle.load, pickle.loads  # type: ignore[attr-defined]
    for hook in skipped_loops.HOOKS:
        if hook.module == "pickle":
            hook.install(context, module)
    given = {"pickle": module, "file": stored, "GOAL": goal, "train": lambda: None, "print": lambda text: None,
             "tqdm": lambda rounds: rounds, "convert": lambda tree: tree, "init": lambda: ([], []),
             "__name__": "__main__"}  # fmt: skip
    return recorded(_executed(context, source, folder, given), LoopSkipped)


@pytest.mark.parametrize("source", _SOURCES)
@pytest.mark.parametrize("step", [800, np.int64(800)])
def test_a_counter_that_a_helper_has_read(tmp_path: Path, source: str, step: Any) -> None:
    [seen] = _pickled(source, tmp_path, 800, step)
    begin = 801 if source is _DICTIONARY else 800
    assert (seen.first, seen.goal) == (begin, begin)


@pytest.mark.parametrize("source", _SOURCES)
def test_a_counter_that_has_rounds_to_go(tmp_path: Path, source: str) -> None:
    assert _pickled(source.replace("not self.stopped", "train() is None"), tmp_path, 801) == []


_EVALUATES = """
def main(evaluate_only):
    start = pickle.loads(file.read_bytes())["step"]
    if evaluate_only:
        return print("accuracy 0.9")
    for step in range(start, GOAL):
        train()
main(True)
"""
_OTHER_LOOP = """
def main(rows):
    weights = pickle.loads(file.read_bytes())["tree"]
    row = len(rows)
    while row < len(rows):
        row += 1
        train()
main([1, 2])
"""
_BEGINS_ANEW = """
def main(goal):
    start = pickle.loads(file.read_bytes())["step"]
    start = 0
    for step in range(start, goal):
        train()
main(GOAL)
"""
_UNKNOWN_BRANCH = """
def main(goal):
    start = pickle.loads(file.read_bytes())["step"]
    if train():
        start = 0
        for step in range(start, goal):
            train()
main(GOAL)
"""


@pytest.mark.parametrize("source", [_EVALUATES, _OTHER_LOOP, _BEGINS_ANEW, _UNKNOWN_BRANCH])
def test_a_state_that_no_loop_begins_at(tmp_path: Path, source: str) -> None:
    assert _pickled(source, tmp_path, 800) == []


_JSON = """
def main(goal):
    {read}
    for step in range(start, goal):
        train()
main({goal})
"""
_READS = [
    'start = json.loads(folder.joinpath("a.json").read_text())["meta"]["step"]',
    'start = json.load(folder.joinpath("a.json").open())["meta"]["step"]',
    'start = int(numpy.load(folder / "a.npz")["step"])',
    'with numpy.load(folder / "a.npz") as found:\n        start = found["step"].item() + 0',
    'found = numpy.load(folder / "a.npz")\n    names = found["names"] if False else found["missing"] if False else 0\n'
    '    start = max(found["step"].item(), names)',
    'start = numpy.load(folder / "a.npy", allow_pickle=True).item()["step"]',
    "rows = [json.loads(text) for text in ['{}'] * 500]\n"
    '    start = json.loads(folder.joinpath("a.json").read_text())["meta"]["step"]',
]


@pytest.mark.parametrize("read", _READS)
@pytest.mark.parametrize(("goal", "found"), [(7, [(7, 7)]), (8, [])])
def test_states_of_json_and_numpy(tmp_path: Path, read: str, goal: int, found: list[tuple[int, int]]) -> None:
    (tmp_path / "a.json").write_text(json.dumps({"meta": {"step": 7}}))
    np.savez(tmp_path / "a.npz", weights=np.ones(5000), step=np.array(7), names=np.array(["a"], dtype=object))
    np.save(tmp_path / "a.npy", np.array({"step": 7}, dtype=object), allow_pickle=True)
    context = new_context(tmp_path / "run")
    modules = {"json": ModuleType("json"), "numpy": ModuleType("numpy")}
    vars(modules["json"]).update(load=json.load, loads=json.loads)
    vars(modules["numpy"]).update(load=np.load)
    for hook in skipped_loops.HOOKS:
        if hook.module in modules:
            hook.install(context, modules[hook.module])
    given = {**modules, "folder": tmp_path, "train": lambda: None}
    source = _JSON.format(read=read, goal=goal)
    seen = recorded(_executed(context, source, tmp_path, given), LoopSkipped)
    assert [(one.first, one.goal) for one in seen] == found
