"""The parts of the proof that need no public program: names, marks, tables."""

from __future__ import annotations

import ast
from typing import Any

import pytest

from .judge import mark
from .old_names import modern, today
from .programs import HALVES, Program, programs
from .table import table

FAULTY = Program(
    "1", "a/b", "p.py", causes=("output-loss-mismatch", "too-few-updates"), also=("metric-mismatch",)
)
CORRECTED = Program("1", "a/b", "p.py", causes=("output-loss-mismatch",), corrected=True)


def verdict(*findings: tuple[str, str], warned: bool = False) -> dict[str, Any]:
    return {
        "findings": [{"cause": cause, "strength": strength} for cause, strength in findings],
        "warned": [{"fact": "softmax"}] if warned else [],
    }


@pytest.mark.parametrize(
    ("said", "word"),
    [
        (verdict(("loss-not-falling", "supported"), ("too-few-updates", "established")), "named"),
        (verdict(warned=True), "warned"),
        (verdict(("framework-warning", "supported")), "warned"),
        (verdict(("loss-not-falling", "supported")), "symptom"),
        (verdict(("output-loss-mismatch", "possible")), "symptom"),
        (verdict(("dead-units", "possible")), "missed"),
        (verdict(), "missed"),
        (verdict(("metric-mismatch", "supported")), "missed"),
        (verdict(("dead-units", "supported"), warned=True), "wrong"),
        (None, "missed"),
    ],
)
def test_a_faulty_program_is_marked(said: dict[str, Any] | None, word: str) -> None:
    assert mark(FAULTY, said).word == word


@pytest.mark.parametrize(
    ("said", "word"),
    [
        (verdict(), "quiet"),
        (verdict(("dead-units", "possible"), warned=True), "quiet"),
        (verdict(("early-stopping", "established")), "quiet"),
        (verdict(("output-loss-mismatch", "supported")), "false alarm"),
    ],
)
def test_a_corrected_program_is_marked(said: dict[str, Any], word: str) -> None:
    assert mark(CORRECTED, said).word == word


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("from keras.layers.core import Dense", "from keras.layers import Dense"),
        ("from keras.utils import np_utils", "from keras import utils as np_utils"),
        ("from keras.optimizers import adam", "from keras.optimizers import Adam as adam"),
        ("Dense(output_dim=3, init='uniform')", "Dense(units=3, kernel_initializer='uniform')"),
        ("Convolution2D(32, 3, 5, border_mode='same')", "Convolution2D(32, (3, 5), padding='same')"),
        ("SGD(lr=0.1, decay=1e-06)", "SGD(learning_rate=0.1)"),
        ("model.fit(x, y, nb_epoch=9)", "model.fit(x, y, epochs=min(9, 4))"),
        ("model.fit(x, y, 32, 9)", "model.fit(x, y, 32, min(9, 4))"),
        ("VGG16(weights='imagenet')", "VGG16(weights=None)"),
        ("model.predict_classes(x)", "model.predict(x)"),
        ("print 'done'", "print('done')"),
        ("model.add(LSTM(4, batch_input_shape=(2, 3, 1)))",
         "model.add(__import__('keras').Input(batch_shape=(2, 3, 1)))\nmodel.add(LSTM(4))"),
    ],
)  # fmt: skip
def test_old_names_become_those_of_today(old: str, new: str) -> None:
    assert modern(old + "\n", epochs=4).strip() == new


def test_what_is_not_an_old_name_stays() -> None:
    source = "from sklearn.svm import SVC\nx = Dense(3, activation='softmax', input_dim=2)\nmodel.fit(x, y)\n"
    assert modern(source, epochs=4) == ast.unparse(ast.parse(source)) + "\n"
    assert today("keras.initializers.initializers_v1") == "keras.initializers"


@pytest.mark.parametrize("half", HALVES)
def test_every_program_of_a_half_has_its_own_name(half: str) -> None:
    keys = [one.key for one in programs(half)]
    assert len(keys) == len(set(keys)) > 50
    if half == "development":
        assert all(int(one.name) % 2 == 1 for one in programs(half))


def test_the_table_counts_by_class() -> None:
    faulty = {
        "mark": "named",
        "healthy": False,
        "class": "dead-units",
        "program": "1",
        "said": "",
        "causes": ["dead-units"],
    }
    text = table(
        [faulty, faulty, {**faulty, "mark": "quiet", "healthy": True}, {**faulty, "mark": "does not run"}]
    )
    assert text.splitlines()[1].split() == ["dead-units", "2", "0", "0", "0", "0", "2"]
    assert "1 quiet" in text and "does not run: 1" in text


def test_the_table_tells_what_only_the_framework_found() -> None:
    raised = {
        "mark": "named", "healthy": False, "class": "dead-units", "program": "1", "said": "",
        "causes": ["dead-units", "script-error"], "verdict": verdict(("script-error", "established")),
    }  # fmt: skip
    seen = {**raised, "verdict": verdict(("script-error", "established"), ("dead-units", "supported"))}
    assert "of those named, 1 only" in table([raised, seen, {**raised, "class": "script-error"}])


def test_a_program_ends_where_its_authors_ended_it_but_not_as_a_failure() -> None:
    assert modern("import sys\nx = 1\nsys.exit(1)\nprint(x)\n") == "import sys\nx = 1\n"
