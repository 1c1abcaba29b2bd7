"""The code of a remedy fits the program: torch, JAX and our own trainer are never shown Keras code."""

from __future__ import annotations

import re

import pytest

from holdfast.explain import Remedy
from holdfast.report import wording
from holdfast.report.wording.other_frameworks import CODE, KERAS_CODE
from holdfast.report.wording.template import filled
from holdfast.settings import resolve

KERAS_WORDS = re.compile(r"\bkeras\.|\btf\.|model\.(fit|compile)\(|^ds = ")
VALUES = {"each": 4, "epochs": 40, "learning_rate": 0.01, "optimizer": "SGD", "records": 12, "size": 8}


@pytest.mark.parametrize("kind", sorted(wording.REMEDIES))
def test_what_is_code_of_keras_is_known_as_such(kind: str) -> None:
    code = wording.REMEDIES[kind].code
    if isinstance(code, str) and KERAS_WORDS.search(code):
        assert kind in KERAS_CODE


def test_there_is_no_code_for_a_remedy_that_does_not_exist() -> None:
    assert {kind for table in CODE.values() for kind in table} - set(wording.REMEDIES) == set()
    assert KERAS_CODE - set(wording.REMEDIES) == set()


@pytest.mark.parametrize("program", CODE)
def test_every_line_prints_its_values(program: str) -> None:
    for kind, text in CODE[program].items():
        code = filled(text, VALUES)
        assert code, kind
        assert not isinstance(text, str) or "{" not in code, kind


def test_one_remedy_in_four_programs() -> None:
    def code(program: str) -> str:
        return wording.advice(Remedy("learning-rate.raise", VALUES, program=program))[1]

    assert code("keras") == "keras.optimizers.SGD(learning_rate=0.01)"
    assert code("torch") == "optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)"
    assert code("jax") == "optimizer = optax.adamw(0.01)"
    assert code("recipe") == "holdfast train RECIPE --set train.learning_rate=0.01"


def test_code_of_keras_without_a_counterpart_is_left_out() -> None:
    assert wording.advice(Remedy("eager.switch-off", program="torch"))[1] == ""
    assert "tf.config" in wording.advice(Remedy("eager.switch-off"))[1]


def test_code_that_fits_everywhere_stays() -> None:
    everywhere = wording.REMEDIES["inputs.standardise"].code
    assert wording.advice(Remedy("inputs.standardise", program="torch"))[1] == everywhere


def test_the_settings_of_a_recipe_exist() -> None:
    for code in CODE["recipe"].values():
        for setting in re.findall(r"--set (\S+)", filled(code, VALUES)):
            resolve({"data": {"train": "there"}}, [setting])
