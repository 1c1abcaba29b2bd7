"""What is left out of a page that is given to a stranger."""

from __future__ import annotations

from holdfast.report import redact


def test_lines_of_the_script_and_the_environment_stay_at_home() -> None:
    told = {
        "run": "b",
        "since_last_good": [
            "the last good run of this script, a:",
            "script: train.py:2: `token = 'old'` before, `token = 'new'` now",
            "script: train.py:5: nothing before, `login(token)` now",
            "environment: KERAS_HOME: /home/me/a before, /home/me/b now",
            "command: python train.py before, python train.py --key 7 now",
            "training: batch: 8 before, 16 now",
        ],
    }
    assert redact.verdict(told)["since_last_good"] == [
        "the last good run of this script, a:",
        "script: train.py:2 was edited",
        "script: train.py:5 was edited",
        "training: batch: 8 before, 16 now",
    ]
    assert redact.verdict({"run": "b"}) == {"run": "b", "since_last_good": []}
