"""Takes secrets out of a text before it is sent: values of the environment, and what looks like a token."""

from __future__ import annotations

import re
from collections.abc import Mapping

HIDDEN = "(hidden)"
_SECRET_NAME = re.compile(
    r"token|secret|passw|passphrase|credential|api_?key|access_?key|private_?key|auth", re.I
)
_SHORTEST = 6  # a shorter value would be taken out of words that it has nothing to do with
_PATTERNS: tuple[tuple[re.Pattern[str], str], ...] = (
    # scheme://user:password@host
    (re.compile(r"([a-z][a-z0-9+.-]*://)[^\s/@:]+(?::[^\s/@]*)?@", re.I), rf"\1{HIDDEN}@"),
    # ?token=…, password: …, "api_key": "…", also inside a longer name such as AWS_SECRET_ACCESS_KEY
    (
        re.compile(
            r"([\w-]*(?:token|secret|passw(?:or)?d|passphrase|api[_-]?key|access[_-]?key|private[_-]?key|signature)[\w-]*"
            r"[\"']?\s*[=:]\s*[\"']?)(?!\(hidden\))[^\s\"'&,;)]{4,}",
            re.I,
        ),
        rf"\1{HIDDEN}",
    ),
    (re.compile(r"\b(bearer|basic)\s+[A-Za-z0-9+/=._~-]{8,}", re.I), rf"\1 {HIDDEN}"),
    # tokens with the mark of their service: Hugging Face, GitHub, GitLab, Slack, OpenAI and others, AWS, Google, npm
    (
        re.compile(
            r"\b(?:hf_|gh[pousr]_|github_pat_|glpat-|xox[abprs]-|sk-|AKIA|ASIA|AIza|ya29\.|npm_|pypi-)[A-Za-z0-9_-]{12,}"
        ),
        HIDDEN,
    ),
    (
        re.compile(r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?"),
        HIDDEN,
    ),  # a JSON web token
    (re.compile(r"https://hooks\.[^\s/]+/\S+"), f"https://hooks…/{HIDDEN}"),  # a webhook is its own password
)


def hide(text: str, environment: Mapping[str, str]) -> str:
    for value in sorted(_secret_values(environment), key=len, reverse=True):
        text = text.replace(value, HIDDEN)
    for pattern, replacement in _PATTERNS:
        text = pattern.sub(replacement, text)
    return text


def _secret_values(environment: Mapping[str, str]) -> set[str]:
    return {
        value
        for name, value in environment.items()
        # paths are kept: SSH_AUTH_SOCK and GOOGLE_APPLICATION_CREDENTIALS name files
        if _SECRET_NAME.search(name) and len(value) >= _SHORTEST and not value.startswith("/")
    }
