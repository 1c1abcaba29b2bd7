"""Secrets are taken out before anything is sent. They are built here from parts: none is written in this file."""

from __future__ import annotations

import random
import string

import pytest

from holdfast.notify.secret_values import HIDDEN, hide


def letters(count: int) -> str:
    return "".join(random.Random(count).choices(string.ascii_letters + string.digits, k=count))


@pytest.mark.parametrize(
    "prefix",
    ["hf" + "_", "gh" + "p_", "sk" + "-", "xox" + "b-", "AK" + "IA", "AI" + "za", "np" + "m_", "glp" + "at-"],
)
def test_tokens_with_the_mark_of_their_service(prefix: str) -> None:
    token = prefix + letters(24)
    assert hide(f"401 for token {token}!", {}) == f"401 for token {HIDDEN}!"


def test_passwords_in_addresses_and_settings() -> None:
    word = letters(12)
    assert hide(f"cannot reach s3://me:{word}@host/x", {}) == f"cannot reach s3://{HIDDEN}@host/x"
    assert hide(f"GET /x?token={word}&page=2", {}) == f"GET /x?token={HIDDEN}&page=2"
    assert hide(f"password: {word}", {}) == f"password: {HIDDEN}"
    assert hide(f'{{"api_key": "{word}"}}', {}) == f'{{"api_key": "{HIDDEN}"}}'
    assert hide(f"AWS_SECRET_ACCESS_KEY={word}", {}) == f"AWS_SECRET_ACCESS_KEY={HIDDEN}"
    assert hide(f"Authorization: Bearer {word}", {}) == f"Authorization: Bearer {HIDDEN}"


def test_a_json_web_token() -> None:
    token = ".".join(["ey" + "J" + letters(20), letters(20), letters(20)])
    assert hide(f"sent {token}", {}) == f"sent {HIDDEN}"


def test_values_of_the_environment() -> None:
    word = letters(9)
    environment = {"MY_DB_PASSWORD": word, "HOME": "/home/x", "SSH_AUTH_SOCK": "/tmp/agent", "TOKEN": "abc"}
    text = f"login with {word} failed in /home/x, /tmp/agent, abc"
    assert hide(text, environment) == f"login with {HIDDEN} failed in /home/x, /tmp/agent, abc"


def test_an_ordinary_verdict_is_left_alone() -> None:
    text = "verdict[killed-for-memory]: the kernel ended it at step 40; the tokenizer's cache was 3 GiB, basic usage"
    assert hide(text, {}) == text
