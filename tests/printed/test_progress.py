# ruff: noqa: E501  (lines are quoted as they are printed)
"""Lines as the frameworks print them, and what they say of the position; and lines that only look like progress."""

from __future__ import annotations

import pytest

from holdfast.printed.line_reader import LineReader
from holdfast.printed.pieces import pieces
from holdfast.printed.progress import Part, Progress, progress

# (line, step, of, epoch, of_epochs)
LINES = [
    ("Epoch 1/10", None, None, 1, 10),
    (" 10/32 [========>.....................] - ETA: 3s - loss: 0.6931 - accuracy: 0.5000", 10, 32, None, None),
    ("32/32 [==============================] - 1s 20ms/step - loss: 0.69 - val_loss: 0.70", 32, 32, None, None),
    ("32/32 - 1s - loss: 0.6931 - accuracy: 0.5000 - 1s/epoch - 20ms/step", 32, 32, None, None),
    ("32/32 - 1s - 20ms/step - accuracy: 0.5000 - loss: 0.6931", 32, 32, None, None),
    ("      1/Unknown - 1s 1s/step - loss: 0.6931", 1, None, None, None),
    ("\x1b[1m10/32\x1b[0m \x1b[32m━━━━━━\x1b[0m\x1b[37m━━━━━━━━\x1b[0m \x1b[1m3s\x1b[0m 20ms/step - loss: 0.69", 10, 32, None, None),
    ("     10/Unknown \x1b[1m1s\x1b[0m 20ms/step - loss: 0.69", 10, None, None, None),
    ("Epoch 00001: val_loss improved from inf to 0.50000, saving model to best.h5", None, None, 1, None),
    ("Epoch 5: early stopping", None, None, 5, None),
    ("60000/60000 [==============================] - 5s 83us/sample - loss: 0.2", 60000, 60000, None, None),
    ("step 100 loss 0.5", 100, None, None, None),
    ("Step 1,000/10,000, Loss: 2.3021", 1000, 10000, None, None),
    ("[100/500] loss=0.312", 100, 500, None, None),
    ("Epoch 3, loss 0.2", None, None, 3, None),
    ("iter 100: loss 2.3012, time 21.00ms, mfu 10.11%", 100, None, None, None),
    ("step 250: train loss 1.9634, val loss 2.0112", 250, None, None, None),
    ("Epoch [3/10], Step [100/600], Loss: 0.2345", 100, 600, 3, 10),
    ("Epoch: [0][ 10/391]\tTime  0.216 ( 0.512)\tData  0.000 ( 0.210)\tLoss 6.9832e+00 (7.0012e+00)", 10, 391, 0, None),
    ("Train Epoch: 1 [640/60000 (1%)]\tLoss: 2.300123", 640, 60000, 1, None),
    ("[1,  2000] loss: 2.215", 2000, None, 1, None),
    ("| epoch 001:    100 / 1000 loss=10.212, nll_loss=9.8, ppl=1024.2, wps=12000, lr=1e-05", 100, 1000, 1, None),
    ("{'loss': 0.5123, 'learning_rate': 5e-05, 'epoch': 0.5}", None, None, 0.5, None),
    ("{'loss': '0.5123', 'grad_norm': '1.2', 'learning_rate': '4.9e-05', 'epoch': '0.52'}", None, None, 0.52, None),
    ('{"step": 100, "loss": 0.5123, "lr": 0.001}', 100, None, None, None),
    (" 10%|█         | 10/100 [00:01<00:09, 10.00it/s, loss=0.5]", 10, 100, None, None),
    ("10it [00:01,  9.90it/s]", 10, None, None, None),
    ("Epochs:  10%|█         | 1/10 [00:10<01:30, 10.0s/it]", None, None, 1, 10),
    ("Epoch 0:  50%|█████     | 50/100 [00:01<00:01, 30.00it/s, loss=2.3, v_num=0]", 50, 100, 0, None),
    ("Epoch 0/9  ━━━━━━━━━━━━━━━━━ 50/100 0:00:01 • 0:00:01 30.00it/s v_num: 0.000 train_loss: 2.31", 50, 100, 0, 9),
    ("        1/3      2.21G      1.214      3.124      1.301         22        640: 100%|███| 4/4 [00:02<00:00,  1.80it/s]", 4, 4, 1, 3),
    ("Train: 0 [   0/1251 (  0%)]  Loss: 6.95 (6.95)  Time: 2.345s,  109.17/s  LR: 1.000e-06", 0, 1251, 0, None),
    ("Epoch: [0]  [  10/7329]  eta: 1:02:03  lr: 0.000100  loss: 2.3012 (2.5123)  max mem: 2012", 10, 7329, 0, None),
    ("[11/17 10:00:00 d2.utils.events]:  eta: 0:10:00  iter: 19  total_loss: 1.912  max_mem: 2012M", 19, None, None, None),
    ("2023-01-17 10:00:00,123 - mmdet - INFO - Epoch [1][50/7330]\tlr: 9.890e-04, time: 0.512, loss: 1.912", 50, 7330, 1, None),
    ("01/17 10:00:00 - mmengine - INFO - Epoch(train)  [1][  50/7330]  lr: 1.9819e-03  loss: 1.9123", 50, 7330, 1, None),
    ("01/17 10:00:00 - mmengine - INFO - Iter(train) [   50/80000]  lr: 1.0000e-02  loss: 2.9123", 50, 80000, None, None),
    ("INFO:tensorflow:Step 100 per-step time 0.263s", 100, None, None, None),
    ("I1117 10:00:00.123456 140012345678 model_lib_v2.py:705] Step 100 per-step time 0.263s", 100, None, None, None),
    ("INFO:tensorflow:loss = 0.5123, step = 100 (2.312 sec)", 100, None, None, None),
    ("INFO:tensorflow:global step 100: loss = 0.5123 (0.301 sec/step)", 100, None, None, None),
    ("I1117 10:00:00.123456 140012345678 train.py:200] train epoch: 1, loss: 0.5123, accuracy: 90.01", None, None, 1, None),
    ("I1117 10:00:00.123456 140012345678 logging_writer.py:48] [100] accuracy=0.512, loss=0.412", 100, None, None, None),
    ("[10]\ttrain-rmse:0.51234\teval-rmse:0.61234", 10, None, None, None),
    ("[10]\ttraining's l2: 0.112\tvalid_1's l2: 0.212", 10, None, None, None),
    ("100:\tlearn: 0.5123000\ttest: 0.4123000\tbest: 0.4123000 (100)\ttotal: 1.23s\tremaining: 9.12s", 100, None, None, None),
    (" iteration       10/  500000 | consumed samples:          80 | lm loss: 1.012345E+01 |", 10, 500000, None, None),
    ("I0117 10:00:00.123456  1234 solver.cpp:228] Iteration 100, loss = 2.30259", 100, None, None, None),
    ("100: 2.312345, 2.512345 avg loss, 0.001000 rate, 3.212345 seconds, 6400 images", 100, None, None, None),
    ("[ Info: Epoch 1, loss = 0.5123", None, None, 1, None),
    ("Epoch[1] Iteration[10/100] Loss: 0.5123", 10, 100, 1, None),
    ("ep 3 | it 100/500 | loss 0.3123", 100, 500, 3, None),
    ("batch 10 of 100", 10, 100, None, None),
    ("[epoch 3 step 200] loss 0.3123", 200, None, 3, None),
    ("Epoch 3/10 - step 10/100 - loss 0.3123", 10, 100, 3, 10),
    ("2024-01-17 10:00:00 INFO train: epoch=3 step=120 loss=0.3123 lr=1.0e-04", 120, None, 3, None),
    ("Training loss at step 100: 0.5123", 100, None, None, None),
    ("Loss after epoch 3: 0.2123", None, None, 3, None),
    ("round 12 train loss 0.3", 12, None, None, None),
    ("Episode 120\tLast reward: 23.00\tAverage reward: 21.20", 120, None, None, None),
    ("Starting epoch 3", None, None, 3, None),
]  # fmt: skip

NO_PROGRESS = [
    "steps: 1000", "epochs=10", "lr: 0.1", "batch size: 32", "max_steps: 1000", "Step size: 0.1",
    "batch=16, imgsz=640, epochs=100, lr0=0.01", "Namespace(batch_size=32, epoch=10, lr=0.1)",
    "Step 2/5 : RUN pip install tensorflow", "Step 1: Download the data", "Resuming from epoch 5",
    "Loaded checkpoint at step 5000", "Best epoch: 12", "Restoring model weights from the end of the best epoch: 3.",
    "2024/01/17 10:00:00 starting", "10/12/2023", "tensorflow 2.15.0", "connecting to 10.0.0.1:8080",
    "/home/me/data/step 3/x.py", "Image size 640x640", "[10/100] Building CXX object foo.o", "3/5 tests passed",
    "Evaluating every 10 epochs", "saving a checkpoint every 100 steps", "Total params: 1,199,882", "fold 1/5",
    "Found 3000 files belonging to 2 classes.", "1024/2048 MB used", "cat      0.91       0.90    0.90      100",
    "GPU 0: 12000/16000 MiB", 'File "train.py", line 30, in step', "HTTP 200 in 3 s", "port 8080 open",
    " conv1 (Conv2D)              (None, 26, 26, 32)        320", "Epoch", "", "2.3", "100%",
]  # fmt: skip


@pytest.mark.parametrize(
    ("line", "step", "of", "epoch", "of_epochs"), LINES, ids=[line[0][:50] for line in LINES]
)
def test_a_line_of_progress(
    line: str, step: int | None, of: int | None, epoch: float | None, of_epochs: int | None
) -> None:
    found = progress(pieces(line.encode())[0])
    assert found is not None
    assert (found.step, found.of, found.epoch, found.of_epochs, found.sure) == (
        step,
        of,
        epoch,
        of_epochs,
        True,
    )


@pytest.mark.parametrize("line", NO_PROGRESS)
def test_no_progress(line: str) -> None:
    assert [LineReader().read(piece).progress for piece in pieces(line.encode())] in ([], [None])


@pytest.mark.parametrize(
    ("line", "part"),
    [
        ("Sanity Checking DataLoader 0:  50%|█████     | 1/2 [00:00<00:00, 10.1it/s]", Part.VALIDATION),
        ("Validation DataLoader 0:  20%|██        | 2/10 [00:00<00:00, 40.0it/s]", Part.VALIDATION),
        ("Test: [   0/48]  Time: 1.234 (1.234)  Loss:  0.6012 (0.6012)  Acc@1: 87.5000", Part.VALIDATION),
        ("01/17 10:00:00 - mmengine - INFO - Epoch(val)  [1][  50/625]    eta: 0:00:12  time: 0.0512", Part.VALIDATION),
        ("Downloading data:  10%|█         | 10.0M/100M [00:01<00:09, 10.0MB/s]", Part.OTHER),
        ("Map:  10%|█         | 1000/10000 [00:01<00:09, 1000 examples/s]", Part.OTHER),
        ("Loading checkpoint shards:  50%|█████     | 1/2 [00:01<00:01,  1.0s/it]", Part.OTHER),
        ("Epoch 1/10", Part.TRAINING),
    ],
)  # fmt: skip
def test_which_part_of_the_run(line: str, part: Part) -> None:
    found = progress(line)
    assert found is not None and found.part is part


def test_a_number_that_could_be_a_setting_counts_once_it_advances() -> None:
    reader = LineReader()
    assert [reader.read(line).progress for line in ("epoch: 100", "lr: 0.1")] == [None, None]
    reader = LineReader()
    seen = [reader.read(f"epoch: {epoch}").progress for epoch in (1, 2, 3)]
    assert seen == [None, Progress(epoch=2), Progress(epoch=3)]


def test_keras_prints_the_epoch_above_its_bar() -> None:
    reader = LineReader()
    reader.read("Epoch 2/3")
    found = reader.read("  7/10 [=============>....] - ETA: 0s - loss: 0.5").progress
    assert found == Progress(7, 10, 2, 3)


def test_columns_under_a_heading() -> None:
    reader = LineReader()
    reader.read("epoch     train_loss  valid_loss  accuracy  time")
    row = reader.read("0         0.512345    nan         0.812345  00:01")
    assert row.progress is not None and row.progress.epoch == 0
    assert list(row.metrics) == ["train_loss", "valid_loss", "accuracy"]
    reader.read("      Epoch    GPU_mem   box_loss   cls_loss   dfl_loss  Instances       Size")
    bar = reader.read(
        "        1/3      2.21G      1.214      3.124      1.301         22        640:  25%|██▌  | 1/4 [00:02<00:06]"
    )
    assert bar.progress == Progress(1, 4, 1, 3)
    assert bar.metrics == {"box_loss": 1.214, "cls_loss": 3.124, "dfl_loss": 1.301}


@pytest.mark.parametrize(
    "unit", ["x", "0", "1/2 ", "|1", "_loss", "@a", "1%|", "1it [", "step1", "a.", "loss: ", "\t1\t"]
)
def test_a_line_without_sense_or_end_is_read_all_the_same(unit: str) -> None:
    """Patterns that try every split of such a line would take hours."""
    for piece in pieces((unit * 60_000).encode()):
        LineReader().read(piece)
