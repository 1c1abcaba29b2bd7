# ruff: noqa: E501  (lines are quoted as they are printed)
"""Named numbers of printed lines, nan and inf among them."""

from __future__ import annotations

import math

import pytest

from holdfast.printed.line_reader import LineReader
from holdfast.printed.metrics import loss_of, metrics

LINES = [
    ("10/32 [====>....] - ETA: 3s - loss: 0.6931 - accuracy: 0.5 - val_loss: 0.7", {"loss": 0.6931, "accuracy": 0.5, "val_loss": 0.7}),
    ("step 250: train loss 1.9634, val loss 2.0112", {"train loss": 1.9634, "val loss": 2.0112}),
    ("Step 10: loss = 1e25", {"loss": 1e25}),
    ("{'loss': 0.5123, 'learning_rate': 5e-05, 'epoch': 0.5}", {"loss": 0.5123, "learning_rate": 5e-05}),
    ("{'loss': '0.5123', 'grad_norm': '1.2', 'epoch': '0.52'}", {"loss": 0.5123, "grad_norm": 1.2}),
    ("step 7 loss tf.Tensor(0.25, shape=(), dtype=float32)", {"loss": 0.25}),
    ("loss=np.float32(0.25)", {"loss": 0.25}),
    ("Loss 6.9832e+00 (7.0012e+00)\tAcc@1   0.00 (  0.18)", {"Loss": 6.9832, "Acc@1": 0.0}),
    ("[10]\ttrain-rmse:0.51234\teval-rmse:0.61234", {"train-rmse": 0.51234, "eval-rmse": 0.61234}),
    ("eta: 1:02:03  lr: 0.000100  loss: 2.3012 (2.5123)  loss_classifier: 1.1 (1.2)  time: 0.5012  max mem: 2012",
     {"lr": 0.0001, "loss": 2.3012, "loss_classifier": 1.1}),
    ("lm loss: 1.012345E+01 | loss scale: 65536.0 | grad norm: 2.123 |", {"lm loss": 10.12345, "grad norm": 2.123}),
    ("INFO:tensorflow:Loss for final step: 0.0512.", {"Loss": 0.0512}),
]  # fmt: skip

BROKEN = [
    "step: 100 loss: nan", "loss: tensor(nan, device='cuda:0', grad_fn=<NllLossBackward0>)", "Loss is nan, stopping training",
    " 'Loss/total_loss': nan,", "10/32 [==>...] - ETA: 3s - loss: nan - accuracy: 0.1", "iter 3: loss NaN, time 3ms",
    "{'loss': nan, 'learning_rate': 5e-05, 'epoch': 0.5}", "loss = -1.#IND", "NaN loss during training.",
    "Epoch 3: train_loss=inf", '{"loss": NaN, "step": 3}', "total_loss: -inf",
]  # fmt: skip

NO_METRIC = [
    "loss weight: 1.0", "loss_scale=65536", "Using loss: mse", "lr: 0.1", "learning_rate=0.01", "epochs: 10",
    "if loss is nan, reduce the learning rate", "exit code: 1", "seed: 42", "dropout=0.5, weight_decay=1e-4",
    "box_loss_weight: 0.05", "stop when the loss is nan", "port: 8080", "10.0.0.1:8080", "acc: /data/x.csv", "Accuracy",
]  # fmt: skip


@pytest.mark.parametrize(("line", "expected"), LINES)
def test_named_numbers(line: str, expected: dict[str, float]) -> None:
    assert LineReader().read(line).metrics == expected


@pytest.mark.parametrize("line", BROKEN)
def test_a_loss_that_is_not_finite(line: str) -> None:
    loss = loss_of(LineReader().read(line).metrics)
    assert loss is not None and not math.isfinite(loss)


@pytest.mark.parametrize("line", NO_METRIC)
def test_no_result(line: str) -> None:
    assert metrics(line) == {}


def test_the_loss_of_a_line_is_the_training_total() -> None:
    assert loss_of({"val_loss": 0.7, "loss": 0.5, "accuracy": 0.9}) == 0.5
    assert loss_of({"loss_cls": 0.6, "loss_box": 0.2, "total_loss": 0.8}) == 0.8
    assert loss_of({"Loss/a": math.nan, "Loss/total_loss": 0.5}) != 0.5, (
        "a part that is not a number breaks the total"
    )
    assert loss_of({"accuracy": 0.9}) is None


def test_a_dict_over_several_lines_belongs_to_the_step_above_it() -> None:
    reader = LineReader()
    lines = [
        "INFO:tensorflow:Step 400 per-step time 0.263s",
        "I0117 10:00:00.123456 140012345678 model_lib_v2.py:708] {'Loss/classification_loss': 0.5,",
        " 'Loss/localization_loss': 0.4012,",
        " 'Loss/total_loss': nan,",
        " 'learning_rate': 0.0266665}",
    ]
    readings = [reader.read(line) for line in lines]
    assert [bool(reading.metrics) for reading in readings] == [False, False, False, False, True]
    assert readings[-1].progress is not None and readings[-1].progress.step == 400
    assert math.isnan(readings[-1].metrics["Loss/total_loss"])
    assert readings[-1].metrics["learning_rate"] == 0.0266665
    assert reader.read("step 500 loss 0.5").metrics == {"loss": 0.5}


def test_a_dict_that_never_closes_is_given_up() -> None:
    reader = LineReader()
    reader.read("{'a': 1,")
    assert reader.read("step 500 loss 0.5").metrics == {"loss": 0.5}
