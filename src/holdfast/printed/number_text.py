"""Numbers as programs print them, and a line without what only looks like one: dates, times, versions, paths."""

from __future__ import annotations

import re

#: A number: 1, 1,000, .5, 1e-4, nan, -inf, and C's 1.#QNAN.
NUMBER = (
    r"[-+]?(?:1\.\#(?:QNAN|IND|INF|SNAN)\w*|(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d*)?(?:[eE][-+]?\d+)?"
    r"|\.\d+(?:[eE][-+]?\d+)?|(?:nan|infinity|inf)(?![A-Za-z_]))"
)
COUNT = r"(?:\d{1,3}(?:,\d{3})+|\d+)"

_URL_OR_PATH = re.compile(
    r"\b[a-z][a-z0-9+]*://\S+|\b[A-Za-z]:\\\S+|(?<![\w)\]])(?:~|\.{1,2})?/(?:[\w.@%+=-]+/?)+|"
    r"\b[\w.-]+/[\w.-]+/[\w./-]*[A-Za-z][\w./-]*|(?<![\w-])(?=[\w-]*[A-Za-z])[\w-]+\.(?:py|h5|keras|"
    r"pt|pth|ckpt|csv|json|yaml|yml|txt|log|jpg|png|cc|cpp)\b(?::\d+)?"
)
_DATE = re.compile(
    r"\b\d{4}[-/.]\d\d?[-/.]\d\d?(?:T(?=\d))?|\b\d\d?/\d\d?/\d{2,4}\b|\b\d\d?[/.-]\d\d?\.?(?=[ ,T]+\d\d?:\d\d)"
)
_TIME = re.compile(r"(?<![\d<\[])\d{1,3}:\d\d(?::\d\d)?(?:[.,]\d+)?(?=[\s,\])|Z;]|$)")
_DOTTED = re.compile(r"\bv?\d+(?:\.\d+){2,}[\w+-]*(?::\d+)?")
_GLOG = re.compile(r"^[IWEF]\d{4}\s+(?:\d\d:\d\d:\d\d\.\d+\s*)?(?:\d+\s+)?[\w./<>-]+:\d+\]\s?")


def number(text: str) -> float | None:
    """The number in a text that `NUMBER` matches."""
    if "#" in text:
        return float("nan") if "INF" not in text else float("-inf" if text.startswith("-") else "inf")
    try:
        return float(text.replace(",", ""))
    except ValueError:
        return None


def count(text: str | None) -> int | None:
    return int(text.replace(",", "")) if text and text.replace(",", "").isdigit() else None


def without_lookalikes(text: str) -> str:
    """The line with dates, times of day, versions, addresses and paths blanked out."""
    text = _GLOG.sub("", text, count=1)
    for pattern, by in ((_URL_OR_PATH, " … "), (_DATE, " "), (_TIME, " "), (_DOTTED, " ")):
        text = pattern.sub(by, text)
    return text
