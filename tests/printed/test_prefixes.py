from __future__ import annotations

import pytest

from holdfast.printed.prefixes import without_prefix


@pytest.mark.parametrize(
    ("line", "printed"),
    [
        ("2024-12-06T18:44:13.003Z   what():  x", "  what():  x"),
        ("2024-12-06T18:44:13.003221005+00:00 stderr F Killed", "Killed"),
        ("2024-12-06T18:44:13Z [rank2]:   File", "  File"),
        ("trainer-1  | Epoch 1/10", "Epoch 1/10"),
        ("[rank0]: Traceback (most recent call last):", "Traceback (most recent call last):"),
        ("[pod/trainer-7c9f/main] loss 0.5", "loss 0.5"),
        ("(RayTrainWorker pid=812, ip=10.0.0.2) loss 0.5", "loss 0.5"),
        ("stderr: Traceback (most recent call last):", "Traceback (most recent call last):"),
        ("Nov 17 05:10:01 gn14 python3[812]: Killed", "Killed"),
        ("0 | model | ResNet | 11.2 M", "0 | model | ResNet | 11.2 M"),
        ("2024-12-06 18:44:13 INFO loss 0.5", "2024-12-06 18:44:13 INFO loss 0.5"),
    ],
)
def test_what_the_program_printed(line: str, printed: str) -> None:
    assert without_prefix(line) == printed
