"""Secrets are recognised by their form or their name. The keys are built here, so that none stands in a file."""

from __future__ import annotations

import random
import string
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.secret_text import (
    REDACTED,
    environment,
    is_secret_name,
    redacted,
    redacted_bytes,
    redacted_command,
    redacted_values,
)
from tests.waiting import PATIENCE_S

_LETTERS = string.ascii_letters + string.digits


def _random(count: int, letters: str = _LETTERS) -> str:
    return "".join(random.Random(f"{count}{letters}").choices(letters, k=count))


UPPER = string.ascii_uppercase + string.digits
#: As ten providers and three formats make them, from parts.
KEYS = {
    "amazon": "AK" + "IA" + _random(16, UPPER),
    "google": "AI" + "za" + _random(35),
    "google-oauth": "ya" + "29." + _random(40),
    "github": "gh" + "p_" + _random(36),
    "github-fine": "github" + "_pat_" + _random(60),
    "gitlab": "gl" + "pat-" + _random(20),
    "hugging-face": "hf" + "_" + _random(34),
    "openai": "s" + "k-" + _random(48),
    "slack": "xo" + "xb-" + _random(12, string.digits) + "-" + _random(24),
    "stripe": "s" + "k_li" + "ve_" + _random(24),
    "sendgrid": "S" + "G." + _random(22) + "." + _random(43),
    "npm": "np" + "m_" + _random(36),
    "pypi": "py" + "pi-" + _random(60),
    "telegram": _random(9, "123456789") + ":" + "AA" + _random(33),
    "jwt": "ey" + "J" + _random(20) + ".ey" + "J" + _random(30) + "." + _random(40),
}


@pytest.mark.parametrize("provider", KEYS)
def test_keys_of_providers_are_known_by_their_form(provider: str) -> None:
    key = KEYS[provider]
    for text in (key, f"401 for {key}: try again", f"x={key}", f'{{"a": "{key}"}}'):
        assert key not in redacted(text)
        assert REDACTED in redacted(text)
        assert key.encode() not in redacted_bytes(text.encode())


def test_what_stands_under_a_name() -> None:
    word = _random(9)
    for text in (f"DB_PASSWORD={word}", f"password: {word}", f'"api_key": "{word}"', f"--token {word}",
                 f"Authorization: Bearer {word}", f"https://me:{word}@host/x", f"https://h/x?X-Amz-Signature={word}&a=1",
                 f"AccountKey={word};", f"KERAS_HUB_PW={word}", f"secret = '{word}'"):  # fmt: skip
        assert word not in redacted(text), text
    block = "-----BEGIN RSA PRIV" + "ATE KEY-----\n" + word + "\n-----END RSA PRIV" + "ATE KEY-----"
    assert redacted(f"a\n{block}\nb") == f"a\n{REDACTED}\nb"


@pytest.mark.parametrize("text", [
    "loss: 0.31 - tokens: 512 - 3 s/step", "max_tokens=4096", "tokenizer=bert-base-uncased", "num_tokens: 1234567",
    "KeyError: 'image'", "keypoints=17", "passes=12 passed", "monitor=val_loss", "https://keras.io/api/layers",
    "/home/me/train.py:41", "tokens per second: 1200.5", "author: somebody", "passed: everything", "sigmoid=activation",
    "design=something", "bypass=something", "compass: northwest",
])  # fmt: skip
def test_words_of_a_training_stay(text: str) -> None:
    assert redacted(text) == text
    assert redacted_bytes(text.encode()) == text.encode()


def test_a_command_keeps_its_program_and_its_names() -> None:
    command = ["python", "train.py", "--api-key=ARGV", "--password", "x", "--lr", "0.1", "PW=1"]
    assert redacted_command(command) == [
        "python", "train.py", f"--api-key={REDACTED}", "--password", REDACTED, "--lr", "0.1", f"PW={REDACTED}",
    ]  # fmt: skip


def test_variables_and_nested_values() -> None:
    given = {
        "TF_MY_PASS": "x",
        "TF_CONFIG": "{}",
        "KERAS_HUB_PW": "y",
        "TF_XLA_FLAGS": "--a=1",
        "HF_TOKEN": "z",
    }
    kept = environment(given)
    assert {name for name, value in kept.items() if value == REDACTED} == set(given) - {"TF_XLA_FLAGS"}
    assert redacted_values({"a": [{"password": "x"}], "command": ["p", "--token", "y"], "n": 3}) == {
        "a": [{"password": REDACTED}], "command": ["p", "--token", REDACTED], "n": 3,
    }  # fmt: skip
    assert is_secret_name("WANDB_API_KEY") and not is_secret_name("max_tokens")


def test_a_run_folder_has_none_of_them_and_the_terminal_all(tmp_path: Path) -> None:
    lines = [f"print({key!r}, flush=True)" for key in KEYS.values()]
    (tmp_path / "t.py").write_text("\n".join([*lines, f"raise ValueError({KEYS['openai']!r})"]) + "\n")
    word = _random(12)
    command = [sys.executable, "t.py", f"--api-key={word}"]
    run = [sys.executable, "-m", "holdfast", "run", "--run-dir", "r", "--", *command]
    done = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE_S)
    assert done.returncode == 1
    assert all(key in done.stdout for key in KEYS.values())
    written = {path.name: path.read_bytes() for path in (tmp_path / "r").rglob("*") if path.is_file()}
    assert {"journal.jsonl", "output.log", "verdict.json", "t.py"} <= set(written)
    found = [(file, name) for file, data in written.items() for name, key in {**KEYS, "argv": word}.items()
             if key.encode() in data]  # fmt: skip
    assert found == []


@pytest.mark.parametrize(
    "unit",
    ["token_", "pass", "--pass-", "a", "a.", "eyJ", "eyJaaa.", "a:/", "a://", "?key", "-----BEGIN ", "bearer  ", "pw "],
)  # fmt: skip
def test_a_long_line_is_looked_through_once(unit: str) -> None:
    """A search from each letter on would take hours: the output of a command stands still meanwhile."""
    text = "pw " + unit * (300_000 // len(unit))
    assert redacted(text) == text
