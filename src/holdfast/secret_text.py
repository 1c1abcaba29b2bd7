"""What looks like a secret is replaced when it is recorded: in commands, the environment, events, output and source.

A run folder is sent to colleagues and attached to issues. docs/security.md lists what is recognised. What nobody can
recognise, a password printed as a plain word, stays.

Runs in the user's process too, from Python 3.7 on.
"""

from __future__ import annotations

import re
from typing import Any

REDACTED = "[redacted]"

#: Names of settings, variables, options and parameters whose value is a secret. Counts of tokens are not.
_NAME = (
    r"(?:passw(?:or)?d|passphrase|passwd|pwd|secret|api[_-]?key|apikey|access[_-]?key|account[_-]?key|private[_-]?key|"
    r"auth[_-]?key|credentials?|connection[_-]?string|webhook|"
    r"(?<![a-z])(?:pass|pw|auth|sig|signature|dsn)(?![a-z])|token(?!s|iz|[_-]?(?:id|len|count|size|type|per)))"
)
_SECRET_NAME = re.compile(_NAME, re.IGNORECASE)
_HARMLESS_NAME = re.compile(r"(?:max|num|n|min|pad|eos|bos|unk|mask|special|new)[_-]?tokens?$", re.IGNORECASE)

#: Forms that providers give their keys, tokens and signed addresses.
_FORMS = (
    r"\b(?:AKIA|ASIA|AROA|AIDA)[0-9A-Z]{16}\b",  # Amazon
    r"\bAIza[0-9A-Za-z_-]{35}",  # Google
    r"\bya29\.[0-9A-Za-z_-]{20,}",
    r"\bgh[pousr]_[0-9A-Za-z]{30,}",  # GitHub
    r"\bgithub_pat_[0-9A-Za-z_]{22,}",
    r"\bglpat-[0-9A-Za-z_-]{20,}",  # GitLab
    r"\bhf_[0-9A-Za-z]{30,}",  # Hugging Face
    r"\bsk-[0-9A-Za-z_-]{20,}",  # OpenAI, Anthropic
    r"\bxox[abeoprs]-[0-9A-Za-z-]{10,}",  # Slack
    r"\b(?:sk|rk|pk)_(?:live|test)_[0-9A-Za-z]{16,}",  # Stripe
    r"\bSG\.[0-9A-Za-z_-]{16,}\.[0-9A-Za-z_-]{16,}",  # SendGrid
    r"\bnpm_[0-9A-Za-z]{30,}",
    r"\bpypi-[0-9A-Za-z_-]{16,}",
    r"\beyJ[0-9A-Za-z_-]{8,800}\.[0-9A-Za-z_-]{8,}\.[0-9A-Za-z_-]+",  # JSON Web Tokens
    r"\b[0-9]{8,10}:[0-9A-Za-z_-]{35}\b",  # Telegram
)
_RULES: tuple[tuple[Any, str], ...] = (
    (re.compile(r"-{5}BEGIN [A-Z ]*PRIV" r"ATE KEY-{5}.*?(?:-{5}END [A-Z ]*-{5}|\Z)", re.DOTALL), REDACTED),
    (re.compile("|".join(_FORMS)), REDACTED),
    (re.compile(r"\b([a-z][a-z0-9+.-]{0,30}://)[^\s/@'\"]+@", re.IGNORECASE), r"\1" + REDACTED + "@"),
    (
        re.compile(r"(hooks\.slack\.com/services/|discord(?:app)?\.com/api/webhooks/)[^\s'\"]+"),
        r"\1" + REDACTED,
    ),
    (re.compile(rf"([?&](?=[\w.-]*(?:{_NAME}|key))[\w.-]+=)[^\s&'\"]+", re.IGNORECASE), r"\1" + REDACTED),
    (re.compile(r"\b(bearer|basic) +[0-9A-Za-z._~+/=-]{8,}", re.IGNORECASE), r"\1 " + REDACTED),
)
#: `name = value`, `"name": "value"`, `--name value`. A word is taken as a whole and looked through once: with a search
#: from each of its letters a line of "token_token_..." would take minutes.
_WORD = rf"(?=[\w.-]*{_NAME})[\w.-]+"
_ASSIGNED = re.compile(
    rf"(?<![\w.-])(?P<name>{_WORD})(?P<between>[\"']?\s*[=:]\s*[\"']?)(?P<value>[^\s\"'&,;)}}\]]+)",
    re.IGNORECASE,
)
_OPTION = re.compile(
    rf"(?<![\w.-])(?P<name>--?{_WORD})(?P<between>[= ]\s*[\"']?)(?P<value>[^\s\"']+)", re.IGNORECASE
)
_SHORTEST = 6  # characters of a value after a name in running text; after an option any length is taken
_NUMBER = re.compile(r"[+-]?[0-9.,_]+(?:e[+-]?[0-9]+)?%?$", re.IGNORECASE)
_WORDS = frozenset(("none", "null", "true", "false", "missing", "invalid", "expired", "required", REDACTED))
#: One of these is in every text that a rule changes; a search for them costs next to nothing.
_HINTS = (
    "pass", "pwd", "pw", "secret", "key", "credential", "connection", "webhook", "auth", "sig", "dsn", "token", "://",
    "bearer", "basic", "akia", "asia", "aroa", "aida", "aiza", "ya29",
    "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat", "glpat", "hf_", "sk-", "xox", "_live_",
    "_test_", "sg.", "npm_", "pypi-", "eyj", "discord", "hooks.slack",
)  # fmt: skip
_BYTE_HINTS = tuple(hint.encode() for hint in _HINTS)
_TELEGRAM = re.compile(r"[0-9]{8}:")


def is_secret_name(name: str) -> bool:
    return _SECRET_NAME.search(name) is not None and _HARMLESS_NAME.search(name) is None


def redacted(text: str) -> str:
    lower = text.lower()
    if not any(hint in lower for hint in _HINTS) and _TELEGRAM.search(text) is None:
        return text
    for pattern, instead in _RULES:
        text = pattern.sub(instead, text)
    text = _OPTION.sub(_without_value, text)
    return _ASSIGNED.sub(_without_long_value, text)


def redacted_bytes(data: bytes) -> bytes:
    """Text of a log or a source file, in any encoding whose letters are ASCII's."""
    lower = data.lower()
    if not any(hint in lower for hint in _BYTE_HINTS) and b":AA" not in data:
        return data
    return redacted(data.decode("latin-1")).encode("latin-1")


def redacted_command(words: list[Any]) -> list[Any]:
    """`--password x`, `--password=x` and `NAME=x` lose their value, whatever it is; other words as any text."""
    kept: list[Any] = []
    hides_next = False
    for word in words:
        if not isinstance(word, str):
            kept.append(word)
            continue
        name, equals, _ = word.partition("=")
        is_name = len(name) < 100 and not any(char.isspace() for char in name) and is_secret_name(name)
        if hides_next and not word.startswith("-"):
            kept.append(REDACTED)
        elif equals and is_name:
            kept.append(name + "=" + REDACTED)
        else:
            kept.append(redacted(word))
        hides_next = word.startswith("-") and not equals and is_name
    return kept


def redacted_values(value: Any) -> Any:
    """The same for every string in a JSON value; under a secret's name the whole text goes."""
    if isinstance(value, str):
        return redacted(value)
    if isinstance(value, dict):
        return {name: _of_name(name, one) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [redacted_values(one) for one in value]
    return value


def _of_name(name: Any, value: Any) -> Any:
    if isinstance(name, str) and isinstance(value, str) and value and is_secret_name(name):
        return REDACTED
    if name == "command" and isinstance(value, (list, tuple)):
        return redacted_command(list(value))
    return redacted_values(value)


def environment(variables: dict[str, str]) -> dict[str, str]:
    """Variables as they are recorded. TF_CONFIG names all hosts of a group; that it is set is what matters."""
    kept = {}
    for name, value in variables.items():
        hidden = name == "TF_CONFIG" or is_secret_name(name)
        kept[name] = REDACTED if hidden and value else redacted(value)
    return kept


def _without_value(match: Any) -> str:
    return str(match.group("name") + match.group("between") + REDACTED)


def _without_long_value(match: Any) -> str:
    value = match.group("value")
    name = match.group("name")
    harmless = len(value) < _SHORTEST or _NUMBER.match(value) or value.lower() in _WORDS or REDACTED in value
    if harmless or _HARMLESS_NAME.search(name):
        return str(match.group(0))
    return _without_value(match)
